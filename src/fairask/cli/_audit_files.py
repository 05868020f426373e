"""What an audit keeps in its folder: its state, the rows to label, and the certificate."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.cli._audit_pool import AuditPool, key
from fairask.cli._errors import WrongUse
from fairask.tables import TableProblem, read_file

__all__ = ["STATE", "batch_name", "read_labels", "read_state", "safe_cell", "write_batch", "write_whole"]

STATE = "audit.json"
_FORMAT = 1
_ROW, _LABEL = "row", "label"


def batch_name(look: int) -> str:
    """Name of the file with the rows of a look.

    Examples
    --------
    >>> batch_name(2)
    'rows-2.csv'
    """
    return f"rows-{look}.csv"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, whatever happens."""
    scratch = path.with_name(f"{path.name}.part")
    try:
        with scratch.open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def write_state(folder: Path, state: dict[str, Any]) -> None:
    """Write the audit's state."""
    write_whole(folder / STATE, json.dumps({"format": _FORMAT, **state}, indent=1) + "\n")


def read_state(folder: Path) -> dict[str, Any] | None:
    """Read the audit's state; None if there is no audit in the folder."""
    file = folder / STATE
    if not file.exists():
        return None
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        if state["format"] != _FORMAT:
            raise WrongUse(
                f"{file} has format {state['format']!r}, and this version reads format {_FORMAT}",
                "Use the version of fairask that began the audit, or begin another with --out",
            )
        if not all(isinstance(state[part], dict) for part in ("pool", "columns", "audit")):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, WrongUse):
            raise
        raise WrongUse(
            f"{file} is damaged", "Restore it from a copy, or begin another audit with --out"
        ) from error
    return dict(state)


def safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: text that looks like one gets an apostrophe.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("-0.5"), safe_cell(-3), safe_cell(None)
    ("'=1+1", '-0.5', -3, '')
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    if text.lstrip()[:1] in ("=", "+", "-", "@", "|", "%") or text[:1] in ("\t", "\r", "\n"):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text


def write_batch(path: Path, pool: AuditPool, rows: NDArray[np.int64], predictions: str) -> None:
    """Write rows to label: number, all columns but the prediction, and an empty column for the label."""
    table = pool.take(rows)
    names = [n for n in table.column_names if n != predictions]
    # The first and the last column are ours; a column of the table with such a name makes room.
    shown = [f"{n} (table)" if n in (_ROW, _LABEL) else n for n in names]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_ROW, *(safe_cell(n) for n in shown), _LABEL])
    columns = [table.column(n).to_pylist() for n in names]
    for number, *cells in zip((rows + 1).tolist(), *columns, strict=True):
        writer.writerow([number, *(safe_cell(c) for c in cells), ""])
    write_whole(path, text.getvalue())


def read_labels(path: Path, classes: Sequence[str], encoding: str) -> dict[int, int]:
    """Labels by row number; rows without a label are passed over.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("row,label\\n7,no\\n3,Yes\\n4,\\n")
    ...     read_labels(file, ["no", "yes"], "utf-8")
    {7: 0, 3: 1}
    """
    table = read_file(path, encoding=encoding)
    for name in (_ROW, _LABEL):
        if name not in table.column_names:
            raise TableProblem(
                f"{path.name} has no column {name!r}",
                f"Give the rows that were written, with their columns {_ROW!r} and {_LABEL!r}",
            )
    if classes:
        meaning = {key(c): int(c == classes[-1]) for c in classes}
    else:
        meaning = {key("0"): 0, key("1"): 1, "false": 0, "true": 1}
    out: dict[int, int] = {}
    for line, (row, label) in enumerate(_pairs(table), start=1):
        if label is None:
            continue
        if row is None or not row.isdecimal():
            raise TableProblem(
                f"{path.name}: data row {line} has a label and the row number {row or ''!r}",
                f"Leave the column {_ROW!r} as it was written",
            )
        value = meaning.get(key(label))
        if value is None:
            accepted = ", ".join(repr(c) for c in (classes or ("0", "1")))
            raise TableProblem(
                f"{path.name}: row {row} has the unknown label {label[:40]!r}",
                f"Labels are {accepted}; leave the cell empty if it is not known yet",
            )
        if out.setdefault(int(row), value) != value:
            raise TableProblem(f"{path.name}: row {row} has two different labels", "Keep the right one")
    return out


def _pairs(table: Any) -> zip[tuple[str | None, str | None]]:
    from fairask.tables.columns import texts

    return zip(texts(table.column(_ROW)), texts(table.column(_LABEL)), strict=True)
