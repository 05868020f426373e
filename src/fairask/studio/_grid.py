"""The rows of a study as a data grid: search, filters, sorting and pages on the server; a row's history."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairask.data.answers import match_labels
from fairask.data.kinds import kind_of
from fairask.learner.state import DrawnRow
from fairask.study import Study, StudyError
from fairask.study.events import SKIP, Document, Event, RowsDrawn
from fairask.study.files import check_told, read_labels
from fairask.study.state import Answer, State

__all__ = ["GridQuery", "grid_page", "import_labels", "row_history"]

#: Characters of a cell in the grid.
_CELL = 160


@dataclass(frozen=True)
class GridQuery:
    """Which drawn rows are wanted, in which order, with which columns; None and empty for all."""

    state: str | None = None
    label: str | None = None
    group: str | None = None
    component: str | None = None
    who: str | None = None
    disagree: bool = False
    note: bool = False
    reason: str | None = None  #: why somebody skipped it
    flag: str | None = None  #: "open" or "resolved"
    search: str = ""
    sort: str = ""
    descending: bool = False
    columns: tuple[str, ...] = ()

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
            and (not self.disagree or len({a.code for a in given.values() if a.code != SKIP}) > 1)
        )


def grid_page(study: Study, wanted: GridQuery, offset: int, limit: int) -> Document:
    """Return the rows of one page, latest first unless sorted, and how many fit; others are only counted."""
    names = {column.name for column in study.config.columns}
    for name in wanted.columns:
        if name not in names:
            raise StudyError(f"no column {name!r}")
    with study.lock:
        state = study.state()
        entries = [entry for entry in reversed(state.log.entries) if _fits(study, state, entry, wanted)]
        total = len(entries)
        if not wanted.search and not wanted.sort:  # only that page is described
            entries, offset = entries[offset : offset + limit], 0
        found = [_row(study, state, entry) for entry in entries]
        if wanted.search:
            hits = _search(study, state, wanted.search, [row["row"] for row in found])
            found = [row for row in found if row["row"] in hits or _mentions(row, wanted.search)]
            total = len(found)
        if wanted.sort:
            found = _sorted(study, state, found, wanted)
        page = found[offset : offset + limit]
        cells = study.rows.rows([row["row"] for row in page], state) if page and wanted.columns else []
    for row, values in zip(page, cells, strict=False):
        row["cells"] = {name: _cut(values[name]) for name in wanted.columns}
    return {"total": total, "rows": page}


def _fits(study: Study, state: State, entry: DrawnRow, wanted: GridQuery) -> bool:
    given = state.answers.get(entry.index, {})
    group = str(study.groups[study.rows.codes[entry.index]])
    if wanted.flag and not any(f.open is (wanted.flag == "open") for f in state.flags.of_row(entry.index)):
        return False
    return wanted.fits(
        entry, group, None if entry.label is None else study.config.classes[entry.label], given
    )


def _row(study: Study, state: State, entry: DrawnRow) -> Document:
    given, decided_by = state.answers.get(entry.index, {}), state.decided_by.get(entry.index)
    return {
        "row": entry.index,
        "group": str(study.groups[study.rows.codes[entry.index]]),
        "label": None if entry.label is None else study.config.classes[entry.label],
        "state": entry.state,
        "batch": entry.batch,
        "component": entry.component,
        "propensity": None if np.isnan(entry.propensity) else float(entry.propensity),
        "by": ", ".join([*given, *([f"{decided_by} (decided)"] if decided_by else [])]),
        "at": max((answer.at for answer in given.values()), default=None),
        "note": "; ".join(answer.note for answer in given.values() if answer.note),
        "reason": "; ".join(answer.reason for answer in given.values() if answer.reason),
        "answers": {name: study.config.class_name(answer.code) for name, answer in given.items()},
        "flags": sum(flag.open for flag in state.flags.of_row(entry.index)),
        "via": {name: answer.link for name, answer in given.items() if answer.link},
    }


def _cut(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _mentions(row: Document, text: str) -> bool:
    return text.casefold() in f"{row['row']} {row['note']} {row['reason']} {row['by']}".casefold()


def _search(study: Study, state: State, text: str, rows: list[int]) -> set[int]:
    """Return those of the rows in which a cell holds the text, whatever its case."""
    if not isinstance(study.table, pa.Table):
        wanted = text.casefold()
        return {r for r in rows if any(wanted in str(v).casefold() for v in state.cells.get(r, {}).values())}
    some = study.table.take(pa.array(rows, pa.int64()))
    hit = np.zeros(len(rows), dtype=bool)
    for column in some.columns:
        if kind_of(column.type) in ("category", "number", "date", "boolean"):
            texts = column.cast(pa.string())
            hit |= np.asarray(pc.match_substring(texts, text, ignore_case=True).fill_null(False))
    return {row for row, yes in zip(rows, hit.tolist(), strict=True) if yes}


def _sorted(study: Study, state: State, found: list[Document], wanted: GridQuery) -> list[Document]:
    """Sort by one of the grid's own columns or by a column of the pool; rows without a value come last."""
    own = {"row", "label", "group", "state", "batch", "component", "propensity", "by", "at", "note"}
    if wanted.sort in own:
        keys = [row[wanted.sort] for row in found]
    elif wanted.sort in {column.name for column in study.config.columns}:
        rows = [row["row"] for row in found]
        if isinstance(study.table, pa.Table):
            keys = study.table.column(wanted.sort).take(pa.array(rows, pa.int64())).to_pylist()
        else:
            keys = [state.cells[row][wanted.sort] for row in rows]
    else:
        raise StudyError(f"cannot sort by {wanted.sort!r}")
    pairs = list(zip(keys, found, strict=True))
    known = [pair for pair in pairs if pair[0] not in (None, "")]
    mixed = len({type(key) for key, _ in known} - {int, float}) > 1
    known.sort(key=lambda pair: str(pair[0]) if mixed else pair[0], reverse=wanted.descending)
    return [row for _, row in [*known, *(pair for pair in pairs if pair[0] in (None, ""))]]


def row_history(study: Study, row: int) -> Document:
    """Return everything that happened to a row, oldest first, and why it was drawn."""
    study.config.check_row(row)
    with study.lock:
        state = study.state()
        place = state.log.position.get(row)
        found = None if place is None else _row(study, state, state.log.entries[place])
    with study.store.read() as turn:
        events = turn.events_of(row, None if found is None else found["batch"])
    return {"row": row, "now": found, "history": [_happened(study, row, event) for event in events]}


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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(data)
        told = read_labels(path)
    if not told.rows:
        raise StudyError(f"{name} holds no label", "Fill in the column 'label'")
    if not unchecked:
        check_told(name, told, study)
    labels, forgiven = match_labels(told.labels, study.config.classes, told.rows)
    receipt = study.tell(told.rows, labels, who, notes=told.notes, correct=correct)
    return {
        "new": receipt.new,
        "known": receipt.known,
        "corrected": receipt.corrected,
        "notes": list(forgiven),
    }
