"""Files that people fill in: rows to label, labels, known answers. They are written as tables are read.

Sheets go out as CSV, Excel workbooks, JSON lines, Parquet or Label Studio's tasks, and come back in any
format that a pool can have.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from fairask.documents import read_json, reading
from fairask.errors import suggest
from fairask.report.words import visible
from fairask.tables import TableFormat
from fairask.tables.cells import text_of
from fairask.tables.formats import read_raw, sheet_content
from fairask.tables.labels import match_labels
from fairask.tables.sheets import (
    CHECK,
    ReturnedRow,
    check_code,
    check_returned,
    csv_text,
    header_of,
    plain_cell,
    read_sheet,
    workbook,
    write_whole,
)
from fairask_studio.config import Config
from fairask_studio.errors import StudyError
from fairask_studio.events import Cell, Document
from fairask_studio.gold import GOLD, KnownRow

if TYPE_CHECKING:
    from fairask_studio.study import Study

#: Columns of a file to label that are not the pool's.
_OWN = ("row", "label", "note", CHECK)
#: Columns of a file of known answers that are not the pool's.
_OWN_KNOWN = ("row", "gold", "use", "explanation", "label", "note", CHECK)
#: Names of a row's number and its check code in Label Studio's tasks.
TASK_ROW, TASK_CHECK = "fairask_row", "fairask_check"
#: How the name of a file to label may end.
SUFFIXES = (".csv", ".tsv", ".xlsx", ".jsonl", ".parquet", ".json")


@dataclass(frozen=True)
class Told:
    """Labels read from a file, blank ones left out."""

    rows: list[int]
    labels: list[str]
    notes: list[str]
    returned: list[ReturnedRow] = field(default_factory=list)  #: what the file says of these rows


def write_rows(
    path: Path,
    rows: list[tuple[int, dict[str, Cell]]],
    config: Config,
    form: TableFormat | None = None,
) -> None:
    """Write rows to label in the format of the file's name, with columns to fill in and check codes.

    ``form`` says which sign is between the fields of a text, and its encoding; a character that the encoding
    does not have is shown as Python writes it.
    """
    form = form or TableFormat()
    shown, suffix = config.shown, _suffix(path)
    if suffix == ".json":
        tasks = [{"data": task_data(row, cells, shown)} for row, cells in rows]
        write_whole(path, visible(json.dumps(tasks, ensure_ascii=False, indent=1)))
        return
    # A column of the pool with the name of one of the file's own columns is renamed. The check code stands
    # at the other end from the row number: columns that are moved together leave one of the two behind.
    names = ["row", "label", "note", *(f"{name} (pool)" if name in _OWN else name for name in shown), CHECK]
    table = [[row, "", "", *(cells[name] for name in shown), check_code(row, cells)] for row, cells in rows]
    if suffix == ".parquet":
        write_whole(path, parquet_file(names, table))
    elif suffix == ".xlsx":
        write_whole(path, workbook(names, table))
    elif suffix == ".jsonl":
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in table)
        write_whole(path, "".join(f"{visible(line)}\n" for line in lines))
    else:
        delimiter = form.delimiter or ("\t" if suffix == ".tsv" else ",")
        text = csv_text(names, table, delimiter=delimiter, decimal=form.decimal or ".")
        encoding = form.encoding or "utf-8"
        with reading(path.name, "--encoding takes names like utf-8-sig or cp1252", StudyError):
            write_whole(path, text.encode(encoding, "backslashreplace"))


def task_data(row: int, cells: Mapping[str, Cell], shown: Iterable[str]) -> Document:
    """Return the data of a task of Label Studio: cells, the row's number and its check code."""
    named = {name: cells[name] for name in shown}
    return {**named, TASK_ROW: row, TASK_CHECK: check_code(row, cells)}


def parquet_file(names: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    """Return rows as a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)}), buffer)
    return buffer.getvalue()


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise StudyError(f"{path.name}: cannot write {path.suffix!r}; known: {', '.join(SUFFIXES)}")
    return suffix


class _NoLabels(StudyError):
    """A sheet of rows to label has no label yet."""


def check_sheet_place(path: Path, told: Callable[[int, str], bool]) -> None:
    """Raise StudyError unless rows to label can be written to ``path`` without losing anything.

    A file that is there may be written over if all its labels were told: ``told(row, label)`` says so.
    """
    _suffix(path)
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise StudyError(f"cannot write {path}: no folder {str(folder)!r} that can be written to")
    if not path.exists():
        return
    try:
        found = read_labels(path)
    except _NoLabels as error:
        raise StudyError(
            f"{path} holds rows to label, of which none has a label yet",
            "Label them and tell them, or choose another name with -o",
        ) from error
    except StudyError as error:
        raise StudyError(
            f"{path} exists and is no file of rows to label ({error.what})", "Choose another name with -o"
        ) from error
    untold = sum(not told(row, label) for row, label in zip(found.rows, found.labels, strict=True))
    if untold:
        raise StudyError(
            f"{path} holds {untold} filled-in labels that were not told yet",
            "Tell them first, or choose another name with -o",
        )


def check_told(file: str, told: Told, study: Study) -> None:
    """Raise UserError unless check codes and cells of a file are those of the study's drawn rows."""
    with study.lock:
        state = study.state()
        drawn = [row for row in told.rows if row in state.log.position]
        cells = dict(zip(drawn, study.rows(drawn), strict=True))
    check_returned(file, told.returned, cells)


def read_labels(path: Path, form: TableFormat | None = None) -> Told:
    """Read labels back: columns ``row`` and ``label`` (and ``note``), or Label Studio's annotations."""
    if path.suffix.lower() == ".json":
        if not path.is_file():
            raise StudyError(f"no file {str(path)!r}")
        tasks = read_json(path, kind=StudyError)
        plain = isinstance(tasks, list) and all(isinstance(t, dict) and "label" in t for t in tasks)
        if not plain or not tasks:
            return _from_label_studio(tasks)
    records = read_records(path, ("row", "label"), _OWN, form)
    told = Told([], [], [])
    for line, record in enumerate(records, 2):
        label = plain_cell(_text(record["label"]))
        if label:
            _add(told, record["row"], label, str(record.get("note") or ""), f"{path.name}, line {line}")
            told.returned.append(_returned(told.rows[-1], record, _OWN))
    if records and not told.rows:
        raise _NoLabels(
            f"{path.name} has {len(records):,} rows and no label",
            "Fill in the column label, save the file, and tell it again",
        )
    return told


def read_records(
    path: Path, needed: Sequence[str], own: Sequence[str], form: TableFormat | None = None
) -> Sequence[dict[str, Any]]:
    """Read the rows of a file that has the needed columns, and none of its own twice.

    A file of text is read cell by cell as text: "NA" can be a label.
    """
    if not path.is_file():
        raise StudyError(f"no file {str(path)!r}")
    records: Sequence[dict[str, Any]]
    with reading(path.name, "Save it again, or ask for the rows once more", StudyError):
        if (text := sheet_content(path, form)) is None:
            records = read_raw(path, form).to_pylist()
        else:
            delimiter = None if form is None else form.delimiter
            records, header = read_sheet(text, delimiter), header_of(text, delimiter)[0]
            for name in own:
                if header.count(name) > 1:
                    raise StudyError(
                        f"{path.name} has {header.count(name)} columns {name!r}; rename all but ours"
                    )
    for name in needed:
        if records and name not in records[0]:
            known = [str(column) for column in records[0] if column is not None]
            raise StudyError(f"{path.name} has no column {name!r}; {suggest(name, known)}")
    return records


def row_number(value: object, where: str) -> int:
    """Return the number of a row as a file says it."""
    try:
        # A workbook, and JSON of some tools, have 7.0 for 7.
        return int(value) if isinstance(value, float) and value.is_integer() else int(str(value))
    except ValueError as error:
        raise StudyError(f"{where}: {str(value)[:60]!r} is not a row number") from error


def _returned(row: int, record: Document, own: Sequence[str]) -> ReturnedRow:
    """Return what a line of a file says of a row of the pool: its check code, and the pool's own columns."""
    cells = {str(name).removesuffix(" (pool)"): value for name, value in record.items() if name not in own}
    return ReturnedRow(row, str(row), text_of(record.get(CHECK)), cells)


def _add(told: Told, row: object, label: str, note: str, where: str) -> None:
    told.rows.append(row_number(row, where))
    told.labels.append(label)
    told.notes.append(plain_cell(note)[:2000])


def chosen(results: Sequence[Document]) -> tuple[list[str], str]:
    """Return the choices and the note in the results of Label Studio's annotations.

    Examples
    --------
    >>> chosen([{"type": "choices", "value": {"choices": ["good"]}}])
    (['good'], '')
    """
    choices = [str(c) for r in results if r.get("type") == "choices" for c in r["value"]["choices"]]
    notes = [str(t) for r in results if r.get("type") == "textarea" for t in r["value"]["text"]]
    return choices, " ".join(notes)


def _from_label_studio(tasks: object) -> Told:
    if not isinstance(tasks, list):
        raise StudyError("Label Studio's export must be a JSON list of tasks")
    told = Told([], [], [])
    for number, task in enumerate(tasks, 1):
        where = f"task {number}"
        try:
            row = task["data"][TASK_ROW]
            results = [
                r for a in task.get("annotations", []) if not a.get("was_cancelled") for r in a["result"]
            ]
            choices, note = chosen(results)
        except (KeyError, TypeError, AttributeError) as error:
            raise StudyError(f"{where} is not a task of this study: {error!r} is missing or odd") from error
        if len(set(choices)) > 1:
            raise StudyError(
                f"{where} has answers that disagree ({', '.join(sorted(set(choices)))}); "
                "keep one person's answers in the file, or one answer per task"
            )
        if choices:
            _add(told, row, choices[0], note, where)
            cells = {n: v for n, v in task["data"].items() if n not in (TASK_ROW, TASK_CHECK)}
            code = text_of(task["data"].get(TASK_CHECK))
            told.returned.append(ReturnedRow(told.rows[-1], str(told.rows[-1]), code, cells))
    return told


def read_known(study: Study, path: Path, *, unchecked: bool = False) -> list[KnownRow]:
    """Read known answers from a file of any format that a pool can have; lines without one are left out.

    Unless ``unchecked``, other columns and check codes are compared with the pool.
    """
    found: list[tuple[int, str, str, str]] = []
    returned = []
    for line, record in enumerate(read_records(path, ("row", "gold"), _OWN_KNOWN), 2):
        answer = plain_cell(_text(record["gold"]))
        if not answer:
            continue
        row = study.config.check_row(row_number(record["row"], f"{path.name}, line {line}"))
        use = _text(record.get("use")).lower() or GOLD
        found.append((row, answer, use, plain_cell(_text(record.get("explanation")))))
        returned.append(_returned(row, record, _OWN_KNOWN))
    if not found:
        raise StudyError(f"{path.name} holds no known answer", "Fill in the column 'gold'")
    if not unchecked:
        check_returned(path.name, returned, {row: study.row(row) for row, *_ in found})
    classes = study.config.classes
    labels, _ = match_labels([said[1] for said in found], classes, [said[0] for said in found], path.name)
    return [
        KnownRow(row, classes.index(label), use, why)
        for (row, _, use, why), label in zip(found, labels, strict=True)
    ]


def _text(value: object) -> str:
    return text_of(value) or ""
