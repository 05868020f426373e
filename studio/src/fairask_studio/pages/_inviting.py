"""The part of the API with which owners invite people: links that sign in one browser, once, for a while."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request

from fairask_studio.events import Document, now
from fairask_studio.pages._access import Me, access_of
from fairask_studio.pages._labelling import study_of
from fairask_studio.pages._models import Invitation

router = APIRouter(tags=["owning"])


@router.post("/people/{name}/invitation", status_code=201)
def invite(request: Request, name: str, wanted: Invitation, me: Me) -> Document:
    """Make the path of a link that begins one session of a person; it is in this response only."""
    people = study_of(request).people
    if people.by_name(name) is None:
        raise HTTPException(404, f"nobody is named {name!r}, or their token has expired")
    seconds = 3600.0 * wanted.hours
    code = people.invite(name, seconds)
    access_of(request).log.note(me.name, "invited", name, request)
    return {"name": name, "path": f"/?code={code}", "until": now(seconds)}
