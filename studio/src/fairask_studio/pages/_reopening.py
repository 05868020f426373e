"""The part of the API with which owners ask again for rows that were answered or skipped."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from fairask_studio.events import Document
from fairask_studio.pages._access import Me
from fairask_studio.pages._labelling import study_of

router = APIRouter(tags=["owning"])
_Time = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00]*$")]
_Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00]*$")]


class Reopening(BaseModel):
    """Which answers to take away: one person's, of some time (UTC), or only skips."""

    model_config = ConfigDict(extra="forbid")
    name: _Name | None = None
    since: _Time | None = None
    until: _Time | None = None
    skips: bool = False
    look: bool = False  #: count only


@router.get("/reopened")
def reopened(request: Request, me: Me) -> list[Document]:
    """Return what was reopened and can be given back, latest first."""
    study = study_of(request)
    with study.lock:
        found = {number: len(answers) for number, answers in study.state().reopened.items() if answers}
    events = {event.id: event for number in found for event in study.store.events(number - 1, number)}
    return [
        {
            "event": number,
            "at": events[number].at,
            "who": events[number].who,
            "answers": count,
            **{k: v for k, v in events[number].data.items() if k != "answers"},
        }
        for number, count in sorted(found.items(), reverse=True)
    ]


@router.post("/reopened", status_code=201)
def take_away(request: Request, wanted: Reopening, me: Me) -> Document:
    """Take answers away and ask for their rows again, or only count them."""
    return asdict(study_of(request).reopen(**wanted.model_dump(), who=me.name))


@router.delete("/reopened/{event}")
def undo(request: Request, event: Annotated[int, Path(ge=1, le=2**31 - 1)], me: Me) -> Document:
    """Give the answers back that an event took away."""
    return asdict(study_of(request).restore(event, me.name))
