"""The part of the API for flags: annotators ask about a row, owners and reviewers answer and resolve."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from fairask_studio import NotYoursError
from fairask_studio.flags import Flag
from fairask_studio.pages._access import Me
from fairask_studio.pages._labelling import study_of, was_given
from fairask_studio.pages._models import Row, Text
from fairask_studio.pages._rights import least_role, may
from fairask_studio.store import Person

router = APIRouter(tags=["flags"])
_Words = Annotated[Text, Field(max_length=2000)]
FlagNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


class NewFlag(BaseModel):
    """A question about a row."""

    model_config = ConfigDict(extra="forbid")
    row: Row
    text: _Words


class FlagReply(BaseModel):
    """What to write into a thread, and whether that resolves the flag."""

    model_config = ConfigDict(extra="forbid")
    text: _Words = ""
    resolve: bool = False


class FlagComment(BaseModel):
    """What somebody wrote."""

    at: str
    who: str
    text: str


class FlagThread(BaseModel):
    """A flag with its comments, oldest first."""

    id: int
    row: int
    who: str
    open: bool
    waits: bool  #: whether the person who flagged waits for an answer
    resolved_by: str
    comments: list[FlagComment]


def _reviews(me: Person) -> bool:
    return may(me.role, least_role("GET", "/flags"))


def _thread(flag: Flag) -> FlagThread:
    return FlagThread.model_validate(flag.to_dict())


@router.get("/flags")
def all_flags(request: Request, me: Me, row: Row | None = None) -> list[FlagThread]:
    """Return the flags of everybody, or those of one row: open ones first, newest first."""
    study = study_of(request)
    with study.lock:
        flags = study.state().flags
        found = list(flags.known.values()) if row is None else flags.of_row(row)
    return [_thread(flag) for flag in sorted(found, key=lambda flag: (not flag.open, -flag.id))[:500]]


@router.get("/flags/mine")
def my_flags(request: Request, me: Me) -> list[FlagThread]:
    """Return my own flags with their answers, newest first."""
    study = study_of(request)
    with study.lock:
        return [_thread(flag) for flag in study.state().flags.of_person(me.name)[:100]]


@router.post("/flags", status_code=201)
def flag(request: Request, new: NewFlag, me: Me) -> FlagThread:
    """Ask the owners about a row that I was given; a flag of mine that is open gets another comment."""
    study = study_of(request)
    study.config.check_row(new.row)
    if not _reviews(me) and not was_given(study, new.row, me.name):
        raise NotYoursError(f"row {new.row} was not given to you")
    return _thread(study.flag(new.row, new.text, me.name))


@router.post("/flags/{flag}", status_code=201)
def reply(request: Request, flag: FlagNumber, said: FlagReply, me: Me) -> FlagThread:
    """Write into a thread, mine or as a reviewer anybody's; or resolve it."""
    study = study_of(request)
    with study.lock:
        known = study.state().flags.known.get(flag)
    if known is None or (known.who != me.name and not _reviews(me)):
        raise HTTPException(404, f"no flag of yours has the number {flag}")
    return _thread(study.answer_flag(flag, said.text, me.name, resolve=said.resolve))
