"""The API of the grid of rows: pages, one row with its history, decisions, labels from a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from fairask.errors import UserError
from fairask_studio.events import Document
from fairask_studio.pages._access import Me
from fairask_studio.pages._desk import desk_of
from fairask_studio.pages._grid import GridQuery, grid_page, import_labels, row_history
from fairask_studio.pages._labelling import RowNumber, card, study_of
from fairask_studio.pages._models import Card, NewLabel
from fairask_studio.pages._rights import least_role, may

router = APIRouter(tags=["owning"])
_Text = Annotated[str | None, Field(max_length=200)]
_MOST_COLUMNS = 30


class RowQuery(BaseModel):
    """Which drawn rows are wanted, in which order, with which columns, and which page of them."""

    model_config = ConfigDict(extra="forbid")
    state: _Text = None
    label: _Text = None
    group: _Text = None
    component: _Text = None
    who: _Text = None
    disagree: bool = False
    note: bool = False
    reason: _Text = None  #: why somebody skipped it; empty for rows skipped without a reason
    flag: Annotated[str | None, Field(pattern="^(open|resolved)$")] = None
    search: _Text = None
    sort: _Text = None  #: a column, with a minus in front for the other direction
    columns: Annotated[list[str], Field(max_length=_MOST_COLUMNS)] = []
    offset: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50

    def grid(self) -> GridQuery:
        """Return the question that the grid answers."""
        order = self.sort or ""
        return GridQuery(
            self.state,
            self.label,
            self.group,
            self.component,
            self.who,
            self.disagree,
            self.note,
            self.reason,
            self.flag,
            self.search or "",
            order.removeprefix("-"),
            order.startswith("-"),
            tuple(self.columns),
        )


@router.get("/rows")
def rows(request: Request, me: Me, wanted: Annotated[RowQuery, Query()]) -> Document:
    """Return one page of drawn rows, latest first: label, who gave it, when, why drawn and how likely."""
    return desk_of(request).ask(grid_page, wanted.grid(), wanted.offset, wanted.limit)


@router.get("/rows/{row}")
def row(request: Request, row: RowNumber, me: Me) -> Card:
    """One row of the pool, as annotators see it."""
    study = study_of(request)
    if row >= study.config.rows:
        raise HTTPException(404, f"no row {row}")
    return card(study, row)


@router.get("/rows/{row}/history")
def history(request: Request, row: RowNumber, me: Me) -> Document:
    """Everything that happened to a row, oldest first."""
    found = desk_of(request).do(row_history, row)
    return found if may(me.role, least_role("GET", "/known")) else {**found, "known": None}


@router.put("/rows/{row}")
def decide(request: Request, row: RowNumber, correction: NewLabel, me: Me) -> Document:
    """Decide a row's label, whatever its answers were."""
    study_of(request).correct(row, correction.label, me.name, decide=True)
    return {"row": row, "label": correction.label}


@router.post("/labels", status_code=201)
async def labels(
    request: Request,
    me: Me,
    name: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+\.(csv|parquet|json)$")],
    correct: bool = False,
    unchecked: bool = False,
) -> Document:
    """Take labels from a file in the body (CSV, Parquet, Label Studio's JSON): all of them or none."""
    data = await request.body()
    try:
        return await run_in_threadpool(
            import_labels, study_of(request), name, data, me.name, correct, unchecked
        )
    except UserError as error:
        raise HTTPException(422, str(error)) from error
