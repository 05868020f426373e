"""The rows as a data grid: search, filters, sorting, pages; a row's history; labels from a file."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from fairask.errors import UserError
from fairask.log import LABELLED, SKIPPED, DrawnRow
from fairask.tables.arrow import kind_of
from fairask.tables.labels import match_labels
from fairask_studio import Study, StudyError
from fairask_studio.columns import MEDIA
from fairask_studio.events import SKIP, Document, Event, RowsDrawn
from fairask_studio.exports import OF_ROW, RowValue
from fairask_studio.files import check_told, read_labels
from fairask_studio.pages.access import Me, least_role, may
from fairask_studio.pages.api import RowNumber, file_of, study_of
from fairask_studio.pages.desk import ask, desk_of
from fairask_studio.pages.label import Card, CardField, NewLabel, card, fields_of
from fairask_studio.pages.settings import known_dict
from fairask_studio.state import Answer, State

router = APIRouter(tags=["owning"])

_Text = Annotated[str | None, Field(max_length=200)]

_MOST_COLUMNS = 30


class RowQuery(BaseModel):
    """Which drawn rows are wanted, in which order, with which columns, and which page of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    #: What waits for a decision, what has a label, what was skipped, or all that was drawn.
    view: Annotated[str | None, Field(pattern="^(inbox|answered|skipped|drawn)$")] = None
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
        others = {"search", "sort", "columns", "offset", "limit"}
        filters = self.model_dump(exclude=others | ({"view"} if self.view == "drawn" else set()))
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
    return ask(request, grid_page, wanted)


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


#: Characters of a cell in the grid, fields of a row without a long text, and values that need their name.
_CELL, _FIELDS, _BARE = 160, 4, 4


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
        cells = study.rows([entry.index for entry in found]) if found else []
        counts = _counts(study, state.last)
    for row, values in zip(page, cells, strict=True):
        row["content"] = content(fields_of(study, values))
        row["cells"] = {name: _cut(values[name]) for name in wanted.columns}
    return {"total": len(entries), "rows": page, "counts": counts}


@lru_cache(maxsize=1)
def _counts(study: Study, last: int) -> dict[str, int]:
    """Count the rows of each view; they change with the last event."""
    state = study.state()
    return {
        "inbox": len(state.inbox()),
        "answered": state.answered - state.skipped,
        "skipped": state.skipped,
        "drawn": len(state.log.entries),
    }


def content(fields: list[CardField]) -> str:
    """Return what people read of a row: its long text, or the first fields that tell, with their units.

    Examples
    --------
    >>> def field(name, value, display="number", unit=""):
    ...     return CardField(name=name, title=name, unit=unit, value=value, length=0, display=display)
    >>> content([field("amount", "12345", unit="DM"), field("age", "52"), field("job", "clerk", "text")])
    '12,345 DM, age 52, clerk'
    >>> content([field("age", "52"), field("letter", "I waited.", "long")])
    'I waited.'
    """
    written = [field for field in fields if field.value and field.display not in MEDIA]
    if texts := [field.value for field in written if field.display in ("long", "markdown")]:
        return _cut(" ".join(texts[0].split()))
    return _cut(", ".join(_told(field) for field in written[:_FIELDS]))


def _told(field: CardField) -> str:
    value = " ".join(field.value.split())
    if field.display == "number" and value.lstrip("-").isdigit() and abs(int(value)) >= 10_000:
        value = f"{int(value):,}"  # as on a card
    if field.unit:
        return f"{value} {field.unit}"
    bare = field.display == "number" or len(value) < _BARE
    return f"{field.title} {value}" if bare else value


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
    if wanted.flag or wanted.view == "inbox":  # people also ask about known rows, which are not drawn
        known = [row for row in state.flags.rows if row not in state.log.position]
        latest += [DrawnRow(row, -1, float("nan"), "", 0, "not drawn") for row in known]
    if wanted.flag:
        opened = wanted.flag == "open"
        latest = [e for e in latest if any(f.open is opened for f in state.flags.of_row(e.index))]
    if wanted.view == "inbox":
        latest = [e for e in latest if state.is_waiting(e.index)]
        latest.sort(key=lambda e: [_urgency(reason) for reason in reasons(study, state, e.index)])
    if wanted.view in _STATES:
        latest = [e for e in latest if e.state == _STATES[wanted.view]]
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


_STATES = {"answered": LABELLED, "skipped": SKIPPED}
#: Those who wait for an answer come first.
_ORDER = {"question": 0, "disagreement": 1, "note": 2, "answered": 3}


def reasons(study: Study, state: State, row: int) -> list[Document]:
    """Return why a row waits for a decision, in words and since when, what is most urgent first."""
    found = []
    for flag in state.flags.of_row(row):
        if flag.open:
            said = flag.comments[-1] if flag.waits else flag.comments[0]
            kind, did = ("question", "asks") if flag.waits else ("answered", "was answered")
            words = _cut(f"{flag.who} {did}: {said.text}")
            found.append({"kind": kind, "words": words, "at": flag.comments[-1].at})
    given = {} if row in state.decided else state.answers.get(row, {})
    if given and state.is_disputed(row):
        words = ", ".join(f"{who}: {study.config.class_name(a.code)}" for who, a in given.items())
        found.append({"kind": "disagreement", "words": words, "at": max(a.at for a in given.values())})
    found += [
        {"kind": "note", "words": _cut(f"{who}'s note: {answer.note}"), "at": answer.at}
        for who, answer in given.items()
        if answer.note and answer.code != SKIP
    ]
    return sorted(found, key=_urgency)


def _urgency(reason: Document) -> tuple[int, str]:
    return _ORDER[reason["kind"]], reason["at"]


def _row(study: Study, state: State, entry: DrawnRow) -> Document:
    given = state.answers.get(entry.index, {})
    return {
        **{name: value(study, state, entry, given) for name, value in _OWN.items()},
        "answers": {name: study.config.class_name(answer.code) for name, answer in given.items()},
        "why": reasons(study, state, entry.index),
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
        why = reasons(study, state, row)
        mark = state.known.rows.get(row)
        known = None if mark is None else known_dict(study, mark)
    with study.store.read() as turn:
        events = turn.events_of(row, None if found is None else found["batch"])
    return {
        "row": row,
        "now": found,
        "why": why,
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
