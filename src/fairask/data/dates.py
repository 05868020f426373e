"""Dates as people write them: 31.12.2024, and 31/12/2024 where the column shows which number is the day."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairask.data.extras import Arrow, optional

__all__ = ["parse_dates", "with_dates"]

_WRITTEN = (
    r"^\s*(?P<a>[0-9]{1,2})(?P<sign>[./-])(?P<b>[0-9]{1,2})[./-](?P<year>[12][0-9]{3})"
    r"(?:[ T]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?)?\s*$"
)

Whole = npt.NDArray[np.int64]


def with_dates(table: Arrow, notes: list[str]) -> Arrow:
    """Return the table with columns of written dates as dates; ``notes`` say which were recognised.

    A column is converted if all of its values are dates. With dots the day comes first. With other signs some
    value must have a number above 12, which cannot be a month.

    Examples
    --------
    >>> import pyarrow as pa
    >>> notes = []
    >>> with_dates(pa.table({"since": ["31.12.2023", "1.2.2024"]}), notes).column("since").to_pylist()
    [datetime.date(2023, 12, 31), datetime.date(2024, 2, 1)]
    >>> notes
    ["dates were recognised, the day first: 'since'"]
    """
    found: dict[str, list[str]] = {}
    for at, name in enumerate(table.column_names):
        order, dates = parse_dates(table.column(at))
        if order:
            found.setdefault(order, []).append(name)
        if dates is not None:
            table = table.set_column(at, name, dates)
    for order, names in found.items():
        listed = ", ".join(map(repr, names))
        if order == "unknown":
            notes.append(
                f"dates whose day and month cannot be told apart are read as text: {listed}; write 2024-12-31"
            )
        else:
            notes.append(f"dates were recognised, the {order} first: {listed}")
    return table


def parse_dates(column: Arrow) -> tuple[str, Arrow | None]:
    """Return which number comes first in a column of dates ("day", "month" or "unknown"), and the dates.

    The order is "" where the column does not hold written dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> parse_dates(pa.array(["3/4/2024", "5/6/2024"])), parse_dates(pa.array(["12/31/2024"]))[0]
    (('unknown', None), 'month')
    >>> parse_dates(pa.array(["31.12.2024 18:30", None]))[1].to_pylist()
    [datetime.datetime(2024, 12, 31, 18, 30), None]
    """
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return "", None
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count == len(column) or not pc.all(pc.match_substring_regex(column, _WRITTEN)).as_py():
        return "", None
    parts = pc.extract_regex(column, _WRITTEN)
    known = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False))
    field = {name: _numbers(parts.field(name), known) for name in ("a", "b", "year")}
    dotted = pc.all(pc.equal(parts.field("sign"), ".")).as_py()
    for order, day, month in (("day", "a", "b"), ("month", "b", "a")):
        days = _days(field[day], field[month], field["year"])
        if days is not None and (order == "day" if dotted else (field[day] > 12).any()):
            return order, _as_array(days, known, parts)
    return ("" if dotted or (np.maximum(field["a"], field["b"]) > 12).any() else "unknown"), None


def _numbers(column: Arrow, known: npt.NDArray[np.bool_]) -> Whole:
    values: Sequence[str | None] = column.to_pylist()
    return np.array([int(v) if v else 0 for v, k in zip(values, known, strict=True) if k], dtype=np.int64)


def _days(day: Whole, month: Whole, year: Whole) -> npt.NDArray[np.datetime64] | None:
    """Return the days, or None if one of them is not in the calendar."""
    if not ((month >= 1) & (month <= 12) & (day >= 1)).all():
        return None
    first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = first.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    return days if (days.astype("datetime64[M]") == first).all() else None


def _as_array(days: npt.NDArray[np.datetime64], known: npt.NDArray[np.bool_], parts: Arrow) -> Arrow:
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    timed = pc.any(pc.not_equal(parts.field("hour"), "")).as_py()
    unit = "s" if timed else "D"
    whole = np.full(len(known), "NaT", dtype=f"datetime64[{unit}]")
    seconds = np.zeros(len(days), dtype=np.int64)
    if timed:
        for name, size in (("hour", 3600), ("minute", 60), ("second", 1)):
            seconds += size * _numbers(parts.field(name), known)
    whole[known] = days.astype(f"datetime64[{unit}]") + (seconds.astype("timedelta64[s]") if timed else 0)
    return pa.array(whole, type=pa.timestamp("s") if timed else pa.date32(), from_pandas=True)
