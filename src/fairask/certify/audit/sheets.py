"""Sheets of an audit: CSV files of rows to label, and the labels that come back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairask.certify.audit.predictions import key
from fairask.certify.audit.table import AuditTable
from fairask.data import TableError, read_table
from fairask.data.files import csv_text, write_whole
from fairask.data.values import texts
from fairask.metrics import Int

__all__ = ["read_labels", "sheet_name", "write_sheet"]

_ROW, _LABEL = "row", "label"


def sheet_name(look: int) -> str:
    """Return the name of the file with the rows of a look.

    Examples
    --------
    >>> sheet_name(2)
    'rows-2.csv'
    """
    return f"rows-{look}.csv"


def write_sheet(path: Path, table: AuditTable, rows: Int, predictions: str) -> None:
    """Write rows to label: number, all columns but the prediction, and an empty column for the label."""
    taken = table.take(rows)
    names = [n for n in taken.column_names if n != predictions]
    # The first and the last column are ours: a column of the table with such a name is renamed.
    shown = [f"{n} (table)" if n in (_ROW, _LABEL) else n for n in names]
    columns = [taken.column(n).to_pylist() for n in names]
    lines = ([*cells, ""] for cells in zip((rows + 1).tolist(), *columns, strict=True))
    write_whole(path, csv_text([_ROW, *shown, _LABEL], lines, line_end="\n"))


def read_labels(path: Path, classes: Sequence[str], encoding: str) -> dict[int, int]:
    """Return labels by row number; rows without a label are left out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("row,label\\n7,no\\n3,Yes\\n4,\\n")
    ...     read_labels(file, ["no", "yes"], "utf-8")
    {7: 0, 3: 1}
    """
    table = read_table(path, encoding=encoding)
    for name in (_ROW, _LABEL):
        if name not in table.column_names:
            raise TableError(
                f"{path.name} has no column {name!r}",
                f"Give the rows that were written, with their columns {_ROW!r} and {_LABEL!r}",
            )
    if classes:
        meaning = {key(c): int(c == classes[-1]) for c in classes}
    else:
        meaning = {key("0"): 0, key("1"): 1, "false": 0, "true": 1}
    out: dict[int, int] = {}
    pairs = zip(texts(table.column(_ROW)), texts(table.column(_LABEL)), strict=True)
    for line, (row, label) in enumerate(pairs, start=1):
        if label is None:
            continue
        if row is None or not row.isdecimal():
            raise TableError(
                f"{path.name}: data row {line} has a label and the row number {row or ''!r}",
                f"Leave the column {_ROW!r} as it was written",
            )
        value = meaning.get(key(label))
        if value is None:
            accepted = ", ".join(repr(c) for c in (classes or ("0", "1")))
            raise TableError(
                f"{path.name}: row {row} has the unknown label {label[:40]!r}",
                f"Labels are {accepted}; leave the cell empty if it is not known yet",
            )
        if out.setdefault(int(row), value) != value:
            raise TableError(f"{path.name}: row {row} has two different labels", "Keep the right one")
    return out
