"""The part of the API with which owners give programs tokens of their own, and revoke them."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request

from fairask_studio.events import Document, end_of_day, now
from fairask_studio.pages._access import Me, access_of
from fairask_studio.pages._labelling import study_of
from fairask_studio.pages._models import NewProgram

router = APIRouter(tags=["owning"])


@router.get("/programs")
def programs(request: Request, me: Me) -> list[Document]:
    """Return the programs that have a token, or had one until it ended."""
    return [
        {"name": p.name, "role": p.role, "since": p.since, "until": p.until, "ended": p.until <= now()}
        for p in study_of(request).people.programs()
    ]


@router.post("/programs", status_code=201)
def add_program(request: Request, new: NewProgram, me: Me) -> Document:
    """Give a program a token; the token is in this response only."""
    until = end_of_day(new.until)
    token = study_of(request).people.add_program(new.name, new.role, until)
    access_of(request).log.note(me.name, "gave a token to the program", new.name, request)
    return {"name": new.name, "role": new.role, "until": until, "token": token}


@router.delete("/programs/{name}")
def revoke(request: Request, name: str, me: Me) -> Document:
    """Revoke a program's token at once; what the program did stays."""
    people = study_of(request).people
    if name not in {program.name for program in people.programs()}:
        raise HTTPException(404, f"no program is named {name!r}")
    people.remove(name)
    access_of(request).log.note(me.name, "revoked the token of", name, request)
    return {"name": name}
