"""The rows as a data grid: search, filters, sorting, pages; a row's history; labels from a file."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from fairask.errors import UserError
from fairask.log import DrawnRow
from fairask.tables.arrow import kind_of
from fairask.tables.labels import match_labels
from fairask_studio import Study, StudyError
from fairask_studio.events import SKIP, Document, Event, RowsDrawn
from fairask_studio.exports import OF_ROW, RowValue
from fairask_studio.files import check_told, read_labels
from fairask_studio.pages.access import Me, least_role, may
from fairask_studio.pages.api import RowNumber, file_of, study_of
from fairask_studio.pages.desk import desk_of
from fairask_studio.pages.label import Card, NewLabel, card
from fairask_studio.pages.settings import known_dict
from fairask_studio.state import Answer, State

router = APIRouter(tags=["owning"])

_Text = Annotated[str | None, Field(max_length=200)]

_MOST_COLUMNS = 30


class RowQuery(BaseModel):
    """Which drawn rows are wanted, in which order, with which columns, and which page of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    #: What waits for a decision; or what somebody answered.
    view: Annotated[str | None, Field(pattern="^(inbox|answered)$")] = None
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
    columns: Annotated[tuple[str, ...], Field(max_length=_MOST_COLUMNS)] = ()
    offset: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50

    @property
    def everything(self) -> bool:
        """Whether no filter is set, besides the text."""
        filters = self.model_dump(exclude={"search", "sort", "columns", "offset", "limit"})
        return not any(value or value == "" for value in filters.values())

    def fits(self, entry: DrawnRow, group: str, label: str | None, given: dict[str, Answer]) -> bool:
        """Whether a row is wanted, as far as its label and answers tell."""
        return (
            self.state in (None, entry.state)
            and self.component in (None, entry.component)
            and self.group in (None, group)
            and self.label in (None, label)
            and (self.who is None or self.who in given)
            and (not self.note or any(answer.note for answer in given.values()))
            and (
                self.reason is None or any(a.reason == self.reason for a in given.values() if a.code == SKIP)
            )
        )


@router.get("/rows")
def rows(request: Request, me: Me, wanted: Annotated[RowQuery, Query()]) -> Document:
    """Return one page of drawn rows, latest first: label, who gave it, when, why drawn and how likely."""
    return desk_of(request).ask(grid_page, wanted)


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


#: Characters of a cell in the grid.
_CELL = 160


def grid_page(study: Study, wanted: RowQuery) -> Document:
    """Return the rows of one page, latest first unless sorted, and how many fit; others are only counted."""
    names = {column.name for column in study.config.columns}
    for name in wanted.columns:
        if name not in names:
            raise StudyError(f"no column {name!r}")
    with study.lock:
        state = study.state()
        entries = _fitting(study, state, wanted)
        if wanted.search:
            entries = _searched(study, state, wanted.search, entries)
        if wanted.sort:
            entries = _sorted(study, state, entries, wanted)
        found = entries[wanted.offset : wanted.offset + wanted.limit]
        page = [_row(study, state, entry) for entry in found]  # only that page is described
        cells = study.rows([entry.index for entry in found]) if found and wanted.columns else []
    for row, values in zip(page, cells, strict=False):
        row["cells"] = {name: _cut(values[name]) for name in wanted.columns}
    return {"total": len(entries), "rows": page}


#: The grid's own columns: their values, given the row and its answers.
_OWN: dict[str, RowValue] = {
    **OF_ROW,
    "tied": lambda study, state, entry, given: state.is_tied(entry.index),
}


def _fitting(study: Study, state: State, wanted: RowQuery) -> list[DrawnRow]:
    """Return the drawn rows that pass the filters, latest first."""
    latest, none = state.log.entries[::-1], dict[str, Answer]()
    if wanted.everything:
        return latest
    groups, classes = [str(group) for group in study.groups], (*study.config.classes, None)
    if wanted.flag:
        opened = wanted.flag == "open"
        latest = [e for e in latest if any(f.open is opened for f in state.flags.of_row(e.index))]
    if wanted.view == "inbox":
        latest = [e for e in latest if _waits(state, e)]
    if wanted.view == "answered":
        latest = [e for e in latest if state.answers.get(e.index)]
    if wanted.disagree:
        latest = [e for e in latest if state.is_disputed(e.index)]
    return [
        entry
        for entry in latest
        if wanted.fits(
            entry,
            groups[study.codes[entry.index]],
            classes[-1 if entry.label is None else entry.label],
            state.answers.get(entry.index, none),
        )
    ]


def _waits(state: State, entry: DrawnRow) -> bool:
    """Whether somebody asks about a row, people disagree on it or left a note, and nobody has decided it."""
    if any(flag.open for flag in state.flags.of_row(entry.index)):
        return True
    noted = any(answer.note for answer in state.answers.get(entry.index, {}).values())
    return entry.index not in state.decided and (noted or state.is_disputed(entry.index))


def _row(study: Study, state: State, entry: DrawnRow) -> Document:
    given = state.answers.get(entry.index, {})
    return {
        **{name: value(study, state, entry, given) for name, value in _OWN.items()},
        "answers": {name: study.config.class_name(answer.code) for name, answer in given.items()},
        "flags": sum(flag.open for flag in state.flags.of_row(entry.index)),
        "via": {name: answer.link for name, answer in given.items() if answer.link},
    }


def _cut(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _searched(study: Study, state: State, text: str, entries: list[DrawnRow]) -> list[DrawnRow]:
    """Return those of the rows in which a cell, a note, a name or the number holds the text, in any case."""
    wanted, none = text.casefold(), dict[str, Answer]()
    hits = _in_cells(study, wanted, [entry.index for entry in entries])

    def mentioned(entry: DrawnRow) -> bool:
        given = state.answers.get(entry.index, none)
        return (
            wanted in str(entry.index)
            or any(wanted in who.casefold() for who in given)
            or wanted in state.decided_by.get(entry.index, "").casefold()
            or any(wanted in f"{a.note} {a.reason}".casefold() for a in given.values() if a.note or a.reason)
        )

    return [entry for entry, hit in zip(entries, hits, strict=True) if hit or mentioned(entry)]


def _in_cells(study: Study, wanted: str, rows: list[int]) -> list[bool]:
    """Say for each row whether a cell holds the text, whatever its case."""
    few = 2 * len(rows) < study.table.num_rows  # else the whole pool is searched, and nothing is copied
    table = study.table.take(pa.array(rows, pa.int64())) if few else study.table
    hit = np.zeros(table.num_rows, dtype=bool)
    for column in table.columns:
        if kind_of(column.type) in ("category", "number", "date", "boolean"):
            texts = column.cast(pa.string())
            hit |= np.asarray(pc.match_substring(texts, wanted, ignore_case=True).fill_null(False))
    return [bool(yes) for yes in (hit if few else hit[rows]).tolist()]


def _sorted(study: Study, state: State, entries: list[DrawnRow], wanted: RowQuery) -> list[DrawnRow]:
    """Sort by one of the grid's own columns or by a column of the pool; rows without a value come last."""
    rows = [entry.index for entry in entries]
    name = (wanted.sort or "").removeprefix("-")
    if (value := _OWN.get(name)) is not None:
        none = dict[str, Answer]()
        keys = [value(study, state, entry, state.answers.get(entry.index, none)) for entry in entries]
    elif name not in {column.name for column in study.config.columns}:
        raise StudyError(f"cannot sort by {name!r}")
    else:
        keys = study.table.column(name).take(pa.array(rows, pa.int64())).to_pylist()
    known = [i for i, key in enumerate(keys) if key is not None and key != ""]
    if len({type(keys[i]) for i in known} - {int, float}) > 1:
        keys = [str(key) for key in keys]
    empty = sorted(set(range(len(keys))) - set(known))
    known.sort(key=keys.__getitem__, reverse=(wanted.sort or "").startswith("-"))
    return [entries[i] for i in [*known, *empty]]


def row_history(study: Study, row: int) -> Document:
    """Return everything that happened to a row, oldest first, and why it was drawn."""
    study.config.check_row(row)
    with study.lock:
        state = study.state()
        place = state.log.position.get(row)
        found = None if place is None else _row(study, state, state.log.entries[place])
        mark = state.known.rows.get(row)
        known = None if mark is None else known_dict(study, mark)
    with study.store.read() as turn:
        events = turn.events_of(row, None if found is None else found["batch"])
    return {
        "row": row,
        "now": found,
        "known": known,
        "history": [_happened(study, row, event) for event in events],
    }


def _happened(study: Study, row: int, event: Event) -> Document:
    said, data = {"at": event.at, "who": event.who}, event.data
    if event.kind == RowsDrawn.kind:
        at = data["rows"].index(row)
        chance = {"component": data["components"][at], "propensity": data["propensities"][at]}
        return {**said, "kind": "drawn", "batch": data["batch"], **chance}
    label = data.get("label")
    return {
        **said,
        "kind": event.kind,
        "label": study.config.class_name(label) if isinstance(label, int) else label,
        "note": data.get("note") or data.get("text") or "",
        "reason": data.get("reason") or "",
        "decides": bool(data.get("decides")),
    }


def import_labels(study: Study, name: str, data: bytes, who: str, correct: bool, unchecked: bool) -> Document:
    """Read labels of a file, with the checks of ``fairask tell``; all of them or none."""
    with file_of(name, data) as path:
        told = read_labels(path)
    if not told.rows:
        raise StudyError(f"{name} holds no label", "Fill in the column 'label'")
    if not unchecked:
        check_told(name, told, study)
    labels, forgiven = match_labels(told.labels, study.config.classes, told.rows, name)
    receipt = study.tell(told.rows, labels, who, notes=told.notes, correct=correct)
    return {**vars(receipt), "notes": list(forgiven)}
