"""Sheets of an audit: CSV files of rows to label, and the labels that come back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairask.audit.draws import SKIPPED
from fairask.audit.predictions import Classes, key
from fairask.audit.table import AuditTable
from fairask.metrics import Int
from fairask.tables import TableError, read_table
from fairask.tables.arrow import Arrow
from fairask.tables.cells import texts
from fairask.tables.formats import TableFormat
from fairask.tables.labels import refuse_labels
from fairask.tables.sheets import CHECK, ReturnedRow, check_code, csv_text, read_sheet, write_whole

_ROW, _LABEL = "row", "label"
_OWN = (_ROW, _LABEL, CHECK)
#: The label of a row that nobody can label.
_SKIP = "skip"
#: Rows of each decision that a column must separate before it counts as the model's score.
_FEWEST = 8


@dataclass(frozen=True)
class SheetLabels:
    """Labels that came back: by row number, and with what is needed to check their rows."""

    labels: dict[int, int]
    rows: list[ReturnedRow]


def sheet_name(look: int, part: int = 1) -> str:
    """Return the name of the file with the rows of a look; later parts are in place of skipped rows.

    Examples
    --------
    >>> sheet_name(2), sheet_name(2, 3)
    ('rows-2.csv', 'rows-2-3.csv')
    """
    return f"rows-{look}.csv" if part == 1 else f"rows-{look}-{part}.csv"


def rows_in(path: Path, base: int) -> set[int]:
    """Return the rows that a sheet names, counted from 0."""
    text = path.read_bytes().decode("utf-8-sig", "replace")
    named = [cells.get(_ROW) or "" for cells in read_sheet(text)]
    return {int(row) - base for row in named if row.isdecimal()}


def _shown(name: str) -> str:
    """Return the name of a column in the sheet; one with a name of ours is renamed."""
    return f"{name} (table)" if name in _OWN else name


def telling_columns(table: Arrow, predictions: str) -> list[str]:
    """Return the columns that give the model's decision away, such as its score.

    These are columns whose value, or whose side of some threshold, decides the prediction in all rows given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [3, 3, 2, 2] * 8, "score": [.1, .9, .2, .8] * 8, "said": [0, 1, 0, 1] * 8})
    >>> telling_columns(table, "said")
    ['score']
    """
    said = np.array(texts(table.column(predictions)), dtype=object).astype(str)
    values, codes, counts = np.unique(said, return_inverse=True, return_counts=True)
    if len(values) > 2:
        try:  # probabilities: what they decide
            codes = (said.astype(float) >= 0.5).astype(np.int64)
        except ValueError:
            return []
        counts = np.bincount(codes, minlength=2)
    if len(counts) != 2 or counts.min() < _FEWEST:
        return []
    found = []
    for name in table.column_names:
        if name == predictions:
            continue
        cells = np.array(texts(table.column(name)), dtype=object).astype(str)
        try:
            order = np.argsort(cells.astype(float), kind="stable")
            separated = np.count_nonzero(np.diff(codes[order])) == 1
        except ValueError:
            separated = False
        levels, of = np.unique(cells, return_inverse=True)
        decided = len(levels) <= _FEWEST and all(len(set(codes[of == i])) == 1 for i in range(len(levels)))
        if separated or decided:
            found.append(name)
    return found


def write_sheet(path: Path, table: AuditTable, rows: Int, hidden: Collection[str], base: int) -> None:
    """Write rows to label: number, the columns but hidden ones, empty label, check code."""
    taken = table.take(rows)
    names = [n for n in taken.column_names if n not in hidden]
    columns = [taken.column(n).to_pylist() for n in names]
    codes = [check_code(row, cells) for row, cells in zip(rows.tolist(), taken.to_pylist(), strict=True)]
    lines = (
        [row, *cells[:-1], "", cells[-1]]
        for row, *cells in zip((rows + base).tolist(), *columns, codes, strict=True)
    )
    write_whole(path, csv_text([_ROW, *map(_shown, names), _LABEL, CHECK], lines, line_end="\n"))


def read_labels(path: Path, classes: Classes, encoding: str | None, base: int = 0) -> SheetLabels:
    """Return labels by row number, counted from 0; rows without a label are left out.

    Rows in the file are counted from ``base``. The word "skip", unless it is a class, says that nobody can
    label the row: its code is ``SKIPPED``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("row,label\\n7,no\\n3,Yes\\n4,\\n5,skip\\n")
    ...     read_labels(file, Classes(("no",), ("yes",)), None).labels
    {7: 0, 3: 1, 5: -1}
    """
    table = read_table(path, TableFormat(encoding=encoding))
    for name in (_ROW, _LABEL):
        if name not in table.column_names:
            raise TableError(
                f"{path.name} has no column {name!r}",
                f"Give the rows that were written, with their columns {_ROW!r} and {_LABEL!r}",
            )
    others = {
        name.removesuffix(" (table)"): texts(table.column(name))
        for name in table.column_names
        if name not in _OWN
    }
    codes = texts(table.column(CHECK)) if CHECK in table.column_names else [None] * table.num_rows
    found = SheetLabels({}, [])
    pairs = zip(texts(table.column(_ROW)), texts(table.column(_LABEL)), strict=True)
    wrong: list[tuple[int, str]] = []
    for line, (row, label) in enumerate(pairs):
        if label is None:
            continue
        if row is None or not row.isdecimal():
            raise TableError(
                f"{path.name}: data row {line + 1} has a label and the row number {row or ''!r}",
                f"Leave the column {_ROW!r} as it was written",
            )
        value = classes.code(label)
        if value is None and key(label) == _SKIP:
            value = SKIPPED
        if value is None:
            wrong.append((int(row), label))
            continue
        number = int(row) - base
        if found.labels.setdefault(number, value) != value:
            raise TableError(f"{path.name}: row {row} has two different labels", "Keep the right one")
        cells = {name: column[line] for name, column in others.items()}
        found.rows.append(ReturnedRow(number, row, codes[line], cells))
    refuse_labels(wrong, classes.names)
    return found
