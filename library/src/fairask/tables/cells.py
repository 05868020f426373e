"""Cells of one column, each with a type of its own, as workbooks, SQLite and JSON have them."""

from __future__ import annotations

from collections.abc import Sequence

from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow
from fairask.tables.values import is_number


def cell_column(file: str, name: str, values: Sequence[object]) -> Arrow:
    """Return the cells of a column as an array; numbers and other texts together become texts.

    Examples
    --------
    >>> cell_column("t.xlsx", "age", [30, "41", None]).to_pylist()
    [30.0, 41.0, None]
    >>> cell_column("t.xlsx", "age", [30, "old"]).to_pylist()
    ['30', 'old']
    """
    import pyarrow as pa

    values = [None if isinstance(v, str) and not v.strip() else v for v in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        pass
    for row, value in enumerate(values, 1):
        if isinstance(value, bytes | list):
            what = "bytes" if isinstance(value, bytes) else "a list, and other values elsewhere,"
            raise TableError(
                f"{file}: column {name!r} holds {what} in data row {row:,}",
                "Leave it out, or give it values of one kind",
            )
    kept = [v for v in values if v is not None and not isinstance(v, bool)]
    numbers = [v for v in kept if isinstance(v, int | float) or (isinstance(v, str) and is_number(v))]
    if len(numbers) == sum(v is not None for v in values):
        return pa.array([None if v is None else float(str(v)) for v in values], pa.float64())
    return pa.array([None if v is None else str(v) for v in values])
