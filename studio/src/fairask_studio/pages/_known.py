"""The part of the API for rows whose answer is known: owners mark them, everybody sees worked examples."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from fairask.errors import UserError
from fairask_studio import Study
from fairask_studio.events import Document
from fairask_studio.files import read_known
from fairask_studio.gold import EXAMPLE, USES, KnownRow
from fairask_studio.pages._access import Me
from fairask_studio.pages._grid import known_dict
from fairask_studio.pages._labelling import RowNumber, card, study_of
from fairask_studio.pages._models import Card, Text

router = APIRouter(tags=["owning"])


class NewKnown(BaseModel):
    """The known answer of a row, what it is for, and why it is right."""

    model_config = ConfigDict(extra="forbid")
    label: Annotated[Text, Field(max_length=60)]
    use: Annotated[str, Field(pattern=f"^({'|'.join(USES)})$")] = "gold"
    why: Annotated[Text, Field(max_length=2000)] = ""


class Known(BaseModel):
    """A row whose answer is known."""

    row: int
    label: str
    use: str
    why: str


class WorkedExample(BaseModel):
    """A row with its answer and why it is right, as annotators see it."""

    card: Card
    label: str
    why: str


@router.get("/examples", tags=["labelling"])
def examples(request: Request, me: Me) -> list[WorkedExample]:
    """Return the worked examples of the guidelines."""
    study = study_of(request)
    with study.lock:
        found = study.state().known.of_use(EXAMPLE)
    classes = study.config.classes
    return [
        WorkedExample(card=card(study, one.row), label=classes[one.label], why=one.why) for one in found[:20]
    ]


@router.get("/known")
def all_known(request: Request, me: Me) -> list[Known]:
    """Return the rows whose answer is known."""
    study = study_of(request)
    with study.lock:
        found = list(study.state().known.rows.values())
    return [Known.model_validate(known_dict(study, one)) for one in found]


@router.put("/known/{row}")
def mark(request: Request, row: RowNumber, new: NewKnown, me: Me) -> Known:
    """Mark a row with its answer, or change the mark; it is no label."""
    study = study_of(request)
    study.config.check_row(row)
    known = KnownRow(row, study.config.class_code(new.label, row), new.use, new.why.strip())
    study.mark_known([known], me.name)
    return Known.model_validate(known_dict(study, known))


@router.delete("/known/{row}")
def unmark(request: Request, row: RowNumber, me: Me) -> Document:
    """Take the mark of a row away; answers to it stay in the log."""
    study_of(request).unmark_known([row], me.name)
    return {"row": row}


@router.post("/known", status_code=201)
async def bring_in(
    request: Request,
    me: Me,
    name: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+\.(csv|parquet)$")],
    unchecked: bool = False,
) -> Document:
    """Mark the rows of a file in the body (CSV, Parquet) with the answers in its column gold: all or none."""
    data = await request.body()
    try:
        return await run_in_threadpool(_import, study_of(request), name, data, me.name, unchecked)
    except UserError as error:
        raise HTTPException(422, str(error)) from error


def _import(study: Study, name: str, data: bytes, who: str, unchecked: bool) -> Document:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(data)
        rows = read_known(study, path, unchecked=unchecked)
    return {"marked": len(rows), "known": study.mark_known(rows, who)}
