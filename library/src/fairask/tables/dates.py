"""Dates as people write them: 31.12.2024, 31 Dec 2024, and 31/12/2024 where the column shows the order."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairask.tables.extras import Arrow, optional

_WRITTEN = (
    r"^\s*(?P<a>[0-9]{1,2})(?P<sign>[./-])(?P<b>[0-9]{1,2})[./-](?P<year>[12][0-9]{3})"
    r"(?:[ T]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?)?\s*$"
)

_YEAR_FIRST = re.compile(r"(?P<year>[12][0-9]{3})[./-](?P<b>[0-9]{1,2})[./-](?P<a>[0-9]{1,2})")
_DAY_WORD = re.compile(r"(?P<a>[0-9]{1,2})[. -]+(?P<word>[A-Za-z]{3,9})\.?[, -]+(?P<year>[12][0-9]{3})")
_WORD_DAY = re.compile(r"(?P<word>[A-Za-z]{3,9})\.? (?P<a>[0-9]{1,2}),? (?P<year>[12][0-9]{3})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

Whole = npt.NDArray[np.int64]


def with_dates(table: Arrow, notes: list[str]) -> Arrow:
    """Return the table with columns of written dates as dates; ``notes`` say which were recognised.

    A column is converted if all of its values are dates, in one way or several. With dots the day is first.
    With other signs some value must have a number above 12, which cannot be a month.

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
    if column.null_count == len(column):
        return "", None
    if not pc.all(pc.match_substring_regex(column, _WRITTEN)).as_py():
        return _in_several_ways(column)
    parts = pc.extract_regex(column, _WRITTEN)
    known = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False))
    field = {name: _numbers(parts.field(name), known) for name in ("a", "b", "year")}
    dotted = pc.all(pc.equal(parts.field("sign"), ".")).as_py()
    for order, day, month in (("day", "a", "b"), ("month", "b", "a")):
        days = _days(field[day], field[month], field["year"])
        if days is not None and (order == "day" if dotted else (field[day] > 12).any()):
            return order, _as_array(days, known, parts)
    return ("" if dotted or (np.maximum(field["a"], field["b"]) > 12).any() else "unknown"), None


def _in_several_ways(column: Arrow) -> tuple[str, Arrow | None]:
    """Read dates with words for months, or written in several ways, as :func:`parse_dates` does."""
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    values = [str(value).strip() for value in pc.unique(column).to_pylist() if value is not None]
    forms = (re.compile(_WRITTEN), _YEAR_FIRST, _DAY_WORD, _WORD_DAY)
    found: dict[str, re.Match[str]] = {}
    for value in values:
        match = next((m for form in forms if (m := form.fullmatch(value)) and not _has_time(m)), None)
        if match is None:
            return "", None
        found[value] = match
    signed = [m for m in found.values() if "sign" in m.groupdict() and m["sign"] != "."]
    firsts = [int(m["a"]) > 12 for m in signed]
    seconds = [int(m["b"]) > 12 for m in signed]
    if any(firsts) and any(seconds):
        return "", None
    if signed and not any(firsts) and not any(seconds):
        return "unknown", None
    days = {value: _day(match, month_first=any(seconds)) for value, match in found.items()}
    if None in days.values():
        return "", None
    texts = column.to_pylist()
    dates = pa.array([None if v is None else days[str(v).strip()] for v in texts], pa.date32())
    plain = all(m.re is _YEAR_FIRST for m in found.values())  # nobody can doubt these
    return "" if plain else "month" if any(seconds) else "day", dates


def _has_time(match: re.Match[str]) -> bool:
    return bool(match.groupdict().get("hour"))


def _day(match: re.Match[str], *, month_first: bool) -> datetime.date | None:
    parts = match.groupdict()
    day, word = int(match["a"]), parts.get("word")
    if word is not None:
        month = _MONTHS.index(word[:3].lower()) + 1 if word[:3].lower() in _MONTHS else 0
    else:
        month = int(match["b"])
        if parts.get("sign", ".") != "." and month_first:
            day, month = month, day
    try:
        return datetime.date(int(match["year"]), month, day)
    except ValueError:
        return None


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
