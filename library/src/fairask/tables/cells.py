"""What a cell means: numbers with signs and units, dates, lists, gaps. One reader for all containers.

A file of text, a workbook, a database, Parquet and a data frame can all hold "$1,006.00" or "31.12.2024" as
text. :func:`recognise` looks at a whole column and says how it is written; the :class:`Reading` that it
returns reads any further cells of that column alike, one by one if need be.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError
from fairask.tables.arrow import Arrow, Column, is_text, optional

#: Texts that mean "unknown" in a file.
MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-NaN", "<NA>")
#: Words that stand for a missing number, in small letters.
_STAND_INS = frozenset(
    (
        *("-", "--", "---", "–", "—", ".", "..", "unknown", "missing", "none", "n.a.", "n/a", "na", "nil"),
        *("not available", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"),
    )
)
_SIGNS = r"%|‰|\$|€|£|¥|₹|₽|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN)"
#: Most categories of a column. More would give more features than a few hundred labels can tell apart.
MOST_LEVELS = 100
#: Different numbers from which on a few other words are taken for gaps in a column of numbers.
_MANY = 20
#: Largest share of words in a column of numbers that are taken for gaps in it.
_MOST_STRAY = 0.05
_DAY = 86_400.0
#: Where the field of a column says how its texts were read.
_READ_AS = b"fairask: read as"

_DAY_MONTH = re.compile(
    r"(?P<a>[0-9]{1,2})(?P<sign>[./-])(?P<b>[0-9]{1,2})[./-](?P<year>[12][0-9]{3})"
    r"(?:[ T]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?)?"
)
_YEAR_FIRST = re.compile(r"(?P<year>[12][0-9]{3})[./-](?P<b>[0-9]{1,2})[./-](?P<a>[0-9]{1,2})")
_DAY_WORD = re.compile(r"(?P<a>[0-9]{1,2})[. -]+(?P<word>[A-Za-z]{3,9})\.?[, -]+(?P<year>[12][0-9]{3})")
_WORD_DAY = re.compile(r"(?P<word>[A-Za-z]{3,9})\.? (?P<a>[0-9]{1,2}),? (?P<year>[12][0-9]{3})")
_DATES = (_DAY_MONTH, _YEAR_FIRST, _DAY_WORD, _WORD_DAY)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def text_of(value: object) -> str | None:
    """Return a value as a person would write it; None where it is missing.

    >>> [text_of(v) for v in (1.0, 2.5, True, " a  b ", " ", float("nan"), None)]
    ['1', '2.5', 'True', 'a b', None, None, None]
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).split()) or None


def is_number(text: str) -> bool:
    """Whether a text is a number as Python writes it.

    >>> is_number("1e3"), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def texts(column: Column) -> list[str | None]:
    """Return a column's values as text; each different value is converted once.

    >>> import pyarrow as pa
    >>> texts(pa.chunked_array([[1.0, 2.5, None]])), texts(pa.chunked_array([[True]]))
    (['1', '2.5', None], ['True'])
    """
    values, codes = coded(column)
    found = np.array([*map(text_of, values), None], dtype=object)
    out: list[str | None] = found[codes].tolist()
    return out


def coded(column: Column) -> tuple[list[object], npt.NDArray[np.int64]]:
    """Return the different values of a column and each row's position among them, -1 where missing.

    >>> coded(["b", "a", None, "b"])
    (['b', 'a'], array([ 0,  1, -1,  0]))
    """
    if isinstance(column, Sequence | np.ndarray):
        place: dict[object, int] = {}
        found = [-1 if v is None or v != v else place.setdefault(v, len(place)) for v in column]
        return list(place), np.array(found, dtype=np.int64)
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    values = encoded.dictionary.to_pylist()
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    gone = [i for i, v in enumerate(values) if v is None or v != v]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes)
    return values, codes


def without_gaps(column: Arrow) -> Arrow:
    """Return a column of texts whose words for "unknown" in a file, such as ? or NA, are missing values.

    >>> import pyarrow as pa
    >>> without_gaps(pa.array(["a", " ?", "NA"])).to_pylist(), without_gaps([1, "n/a"])
    (['a', None, None], [1, None])
    """
    if isinstance(column, Sequence | np.ndarray):
        gone = [isinstance(v, str) and v.strip() in MISSING for v in column]
        return [None if g else v for g, v in zip(gone, column, strict=True)] if any(gone) else column
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    packed = pa.types.is_dictionary(column.type)
    if not is_text(column.type.value_type if packed else column.type):
        return column
    if packed:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        words = {str(v).strip() for chunk in chunks for v in chunk.dictionary.to_pylist()}
        if words.isdisjoint(MISSING):
            return column
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_string_view(column.type):  # which pyarrow cannot trim
        column = pc.cast(column, pa.large_string())
    gone = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(MISSING, column.type))
    return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column


def crowded(different: int, known: int) -> bool:
    """Whether a column has too many different values to be categories."""
    return different > MOST_LEVELS or (different > 20 and different > 0.5 * known)


def listed(values: Sequence[str]) -> str:
    """Return the first eight values, quoted and shortened.

    >>> listed("abcdefghij")
    "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 2 more"
    """
    more = f" and {len(values) - 8} more" if len(values) > 8 else ""
    return ", ".join(repr(value[:40]) for value in values[:8]) + more


def mixed_column(file: str, name: str, values: Sequence[object]) -> Arrow:
    """Return cells that have a type each, as in a workbook, as an array; numbers and words become texts.

    >>> mixed_column("t.xlsx", "age", [30, "41", None]).to_pylist()
    [30.0, 41.0, None]
    >>> mixed_column("t.xlsx", "age", [30, "old"]).to_pylist()
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


@dataclass(frozen=True)
class Reading:
    """How the cells of a column are written that mean numbers, dates or vectors.

    Attributes
    ----------
    kind : {"number", "date", "vector"}
    decimal, thousands : str
        Signs of numbers; ``thousands`` may be empty.
    month_first : bool
        Whether 3/4/2024 is a day of March.

    Examples
    --------
    >>> Reading("number", thousands=",").read(["$1,006.00", "(20)", "-", None]).to_pylist()
    [1006, -20, None, None]
    >>> Reading("date", month_first=True).read(["3/4/2024"]).to_pylist()
    [datetime.date(2024, 3, 4)]
    """

    kind: str
    decimal: str = "."
    thousands: str = ""
    month_first: bool = False

    def read(self, column: Column, strict: str | None = None) -> Arrow:
        """Return the column's cells as an array; a cell that cannot be read is missing.

        ``strict`` names the column, and such a cell is an error then, unless it stands for a missing value.
        """
        values, codes = coded(column)
        read = {"number": self._number, "date": self._date, "vector": _vector}[self.kind]
        found = [read(str(value)) for value in values]
        for value, meant in zip(values, found, strict=True):
            if strict is not None and meant is None and not _is_stand_in(str(value)):
                raise TableError(
                    f"column {strict!r} holds {str(value)[:40]!r}, which is not a {self.kind}",
                    "Correct it, or leave the cell empty",
                )
        return _as_array(self.kind, found, codes)

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a number looks like."""
        whole = r"[0-9]+"
        if self.thousands:
            whole = rf"(?:[1-9][0-9]{{0,2}}(?:[{self.thousands}][0-9]{{3}})+|[0-9]+)"  # 0,123 is a fraction
        number = rf"(?P<number>{whole}(?:[{self.decimal}][0-9]+)?(?:[eE][+-]?[0-9]+)?)"
        before, after = rf"(?P<before>{_SIGNS})?", rf"(?P<after>{_SIGNS})?"
        # No blank is tried twice (*+): a cell of blanks alone would take for ever.
        return re.compile(
            rf"\s*+(?P<minus>[+(-]?)\s*+{before}\s*+(?P<inner>[+(-]?){number}\s*+{after}\s*+(?P<end>\)?)\s*+"
        )

    def _number(self, text: str) -> float | None:
        found = self.pattern.fullmatch(text)
        return None if found is None else self.number(found)

    def number(self, found: re.Match[str]) -> float | None:
        """Return the number that :attr:`pattern` has found, negative in brackets; None with two signs."""
        signs = found["minus"] + found["inner"]
        if len(signs) > 1 or ("(" in signs) != bool(found["end"]) or (found["before"] and found["after"]):
            return None
        plain = found["number"].replace(self.thousands, "") if self.thousands else found["number"]
        number = float(plain.replace(self.decimal, "."))
        return number if signs in ("", "+") else -number

    def _date(self, text: str) -> datetime.date | None:
        found = next((m for form in _DATES if (m := form.fullmatch(text.strip()))), None)
        return _iso_time(text) if found is None else self.date(found)

    def date(self, found: re.Match[str]) -> datetime.date | None:
        """Return the day, or the time, that one of the patterns has found; None if no calendar has it."""
        parts = found.groupdict()
        day, word = int(found["a"]), parts.get("word")
        if word is not None:
            month = _MONTHS.index(word[:3].lower()) + 1 if word[:3].lower() in _MONTHS else 0
        else:
            month = int(found["b"])
            if parts.get("sign", ".") != "." and self.month_first:
                day, month = month, day
        try:
            if parts.get("hour"):
                hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
                return datetime.datetime(int(found["year"]), month, day, hour, minute, second)
            return datetime.date(int(found["year"]), month, day)
        except ValueError:
            return None

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return [self.kind, self.decimal, self.thousands, self.month_first]

    def mark(self, name: str, kind: Arrow) -> Arrow:
        """Return the field of a column that was read so; :meth:`of` finds it there."""
        pa = optional("pyarrow", "parquet")
        return pa.field(name, kind, metadata={_READ_AS: json.dumps(self.to_list())})

    @classmethod
    def of(cls, field: Arrow) -> Reading | None:
        """Return how the texts of a column were written that is no text any more; None if it was none."""
        said = (field.metadata or {}).get(_READ_AS)
        return None if said is None else cls(*json.loads(said))


@dataclass
class Recognised:
    """What a column of texts turned out to hold."""

    reading: Reading | None  #: None for dates whose day and month cannot be told apart
    values: Arrow = None
    note: str = ""  #: under which heading the column is named, if its owner should know
    detail: str = ""  #: what is said of it there, beside its name
    stray: list[int] = field(default_factory=list)  #: rows with a word among numbers, the first of them named
    first: str = ""


_THOUSANDS, _COMMA = "numbers with a comma between thousands", "numbers with a decimal comma"
_UNCLEAR = "dates whose day and month cannot be told apart are read as text"


def recognise(
    column: Arrow,
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    comma: bool = True,
    typed: bool = True,
) -> Recognised | None:
    """Say how the texts of a column are written, if they are numbers, dates or lists; None for other texts.

    Parameters
    ----------
    decimal, thousands : str, optional
        The signs, if they are known.
    comma : bool
        Whether a comma that could be either stands between thousands rather than before decimals.
    typed : bool
        Whether the source has types: plain digits that are kept as texts are categories then, as long as
        they are not too many for that and nothing such as ? stands for a missing one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> recognise(pa.array(["USD 10,012", "USD 7"])).values.to_pylist()
    [10012, 7]
    >>> recognise(pa.array(["12/31/2024"])).reading.month_first, recognise(pa.array(["a", "b"]))
    (True, None)
    """
    pa = optional("pyarrow", "parquet")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_text(kind) or column.null_count == len(column):
        return None
    values, codes = coded(column)
    words = [str(value) for value in values]
    gaps = np.array([word.strip() in MISSING for word in words])
    if gaps.any():
        typed = False
        words = [word for word, gap in zip(words, gaps, strict=True) if not gap]
        codes = np.append(np.where(gaps, -1, np.cumsum(~gaps) - 1), -1)[codes]
    if not words:
        return None
    rows = np.bincount(codes[codes >= 0], minlength=len(words))
    said = decimal is not None or thousands is not None
    if not said:
        decimal, thousands = (".", ",") if comma else (",", ".")
    style = Reading("number", decimal or ("," if thousands == "." else "."), thousands or "")
    found = _numbers(words, codes, rows, style, said=said, typed=typed)
    if not said and (found is None or found.stray):
        style = Reading("number", style.thousands, style.decimal)
        other = _numbers(words, codes, rows, style, said=said, typed=typed)
        # Words are no gaps if the other signs read all of them, nor if they stand among lists such as 1,2.
        if other is not None and not (other.stray and (found is not None or style.decimal == ",")):
            found = other
    return found or _dates(words, codes) or _lists(words, codes)


def recognise_all(
    columns: Mapping[str, Arrow],
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    comma: bool = True,
    typed: bool = True,
) -> dict[str, Recognised]:
    """Say how the texts of a table's columns are written, as :func:`recognise` does for one.

    A comma that could be either is what it is in the columns that can be read in one way only: beside
    "4,5 %" the number 1.234 is a whole one, beside "$1,006.00" the number 10,012.

    >>> import pyarrow as pa
    >>> found = recognise_all({"rate": pa.array(["4,5 %", "12,0 %"]), "paid": pa.array(["1.234", "950"])})
    >>> found["paid"].values.to_pylist()
    [1234, 950]
    >>> columns = {"pay": pa.array(["$1,006.00", "$950.00"]), "loan": pa.array(["10,012", "950"])}
    >>> recognise_all(columns, comma=False)["loan"].values.to_pylist()
    [10012, 950]
    """

    def read(comma: bool) -> dict[str, Recognised]:
        found = {
            name: recognise(column, decimal=decimal, thousands=thousands, comma=comma, typed=typed)
            for name, column in columns.items()
        }
        return {name: one for name, one in found.items() if one is not None}

    found = read(comma)
    if decimal is not None or thousands is not None or not _others(found, comma):
        return found
    other = read(not comma)
    return found if _others(other, not comma) else other


def _others(found: Mapping[str, Recognised], comma: bool) -> bool:
    """Whether some columns are numbers only with another decimal sign than the one that was tried first."""
    usual = "." if comma else ","
    readings = [one.reading for one in found.values()]
    return any(one is not None and one.kind == "number" and one.decimal != usual for one in readings)


def has_decimal_comma(found: Mapping[str, Recognised]) -> bool:
    """Whether some columns have numbers with a decimal comma, and none with a comma between thousands."""
    notes = {one.note for one in found.values()}
    return _COMMA in notes and _THOUSANDS not in notes


def read_cells(
    table: Arrow,
    notes: list[str],
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    comma: bool = True,
    typed: bool = True,
) -> Arrow:
    """Return a table whose texts that mean numbers, dates or lists are such; ``notes`` say which.

    A column is converted if every value can be read or stands for a missing one. A few words among many
    numbers count as missing, and the first is named. A sign beside all numbers, such as % or $, is left out.
    Numbers with leading zeros are codes and stay texts. The parameters are those of :func:`recognise`.

    >>> import pyarrow as pa
    >>> table = pa.table({"paid": ["5 %", "7 %"], "on": ["1.2.2024", "3.2.2024"]})
    >>> read_cells(table, notes := []).schema.types
    [DataType(int64), DataType(date32[day])]
    >>> notes[1]
    "dates were recognised, the day first: 'on'"
    """
    if len(set(table.column_names)) < len(table.column_names):
        return table  # the names are refused later, with words
    headings: dict[str, list[str]] = {}
    signs: list[str] = []
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for at, name in enumerate(columns):
        if (known := without_gaps(columns[name])) is not columns[name]:
            table = table.set_column(at, table.schema.field(name).with_type(known.type), known)
    read = recognise_all(columns, decimal=decimal, thousands=thousands, comma=comma, typed=typed)
    for name, found in read.items():
        if found.note:
            headings.setdefault(found.note, []).append(repr(name))
        if found.detail:
            signs.append(f"{name!r} ({found.detail})")
        if found.stray:
            n = len(found.stray)
            what = (
                f"1 value of {name!r} is not a number and counts as missing: "
                if n == 1
                else f"{n:,} values of {name!r} are not numbers and count as missing: the first is "
            )
            notes.append(f"{what}{found.first!r} in data row {found.stray[0] + 1:,}")
        if found.reading is not None:
            at = table.column_names.index(name)
            table = table.set_column(at, found.reading.mark(name, found.values.type), found.values)
    if signs:
        headings = {"numbers were read without the sign beside them": signs} | headings
    for heading, names in headings.items():
        numbers = heading in (_THOUSANDS, _COMMA)
        notes.append(
            f"{heading}{' were recognised' if numbers else ''}: {', '.join(names)}"
            + ("; write 2024-12-31" if heading == _UNCLEAR else "")
        )
    return table


def _numbers(
    words: Sequence[str],
    codes: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    style: Reading,
    *,
    said: bool,
    typed: bool,
) -> Recognised | None:
    match = style.pattern.fullmatch
    first = [word for word in words[:200] if not _is_stand_in(word)]
    if not first or sum(match(word) is not None for word in first) < 0.5 * len(first):
        return None
    numbers, stray, signs, styled, bracketed = list[float | None](), list[int](), set[str](), False, False
    for at, word in enumerate(words):
        found = match(word)
        if found is None:
            numbers.append(None)
            if not _is_stand_in(word):
                stray.append(at)
            continue
        text, number = found["number"], style.number(found)
        if _is_code(text) or number is None:
            return None
        signs.add(found["before"] or found["after"] or "")
        styled |= "," in text or (bool(style.thousands) and style.thousands in text)
        bracketed |= bool(found["end"])
        numbers.append(number)
    n_numbers = len(words) - numbers.count(None)
    known = sum(int(n) for n, word in zip(rows, words, strict=True) if not _is_stand_in(word))
    if stray and (n_numbers <= _MANY or sum(int(rows[at]) for at in stray) > _MOST_STRAY * known):
        return None
    if len(signs - {""}) > 1:
        return None  # dollars and euros are no common scale
    sign = "".join(signs)
    plain = not (sign or styled or bracketed or n_numbers < len(words))
    if typed and plain and not crowded(len(words), int(rows.sum())):
        return None
    out = Recognised(style, _as_array("number", numbers, codes), detail=sign)
    if styled and not said:
        out.note = _THOUSANDS if style.decimal == "." else _COMMA
    if stray:
        out.stray = np.flatnonzero(np.isin(codes, stray)).tolist()
        out.first = words[codes[out.stray[0]]][:40]
    return out


def _dates(words: Sequence[str], codes: npt.NDArray[np.int64]) -> Recognised | None:
    """Read dates, written in one way or several.

    With dots the day is first. With other signs some value must have a number above 12, which is no month.
    """
    found: list[re.Match[str]] = []
    for word in words:
        match = next((m for form in _DATES if (m := form.fullmatch(word.strip()))), None)
        if match is None:
            return _times(words, codes)
        found.append(match)
    signed = [m for m in found if "sign" in m.groupdict() and m["sign"] != "."]
    days_first = any(int(m["a"]) > 12 for m in signed)
    months_first = any(int(m["b"]) > 12 for m in signed)
    if days_first and months_first:
        return None
    if signed and not days_first and not months_first:
        return Recognised(None, note=_UNCLEAR)
    reading = Reading("date", month_first=months_first)
    dates = [reading.date(match) for match in found]
    if None in dates:
        return None
    order = "month" if months_first else "day"
    plain = all(m.re is _YEAR_FIRST for m in found)  # nobody can doubt these
    note = "" if plain else f"dates were recognised, the {order} first"
    return Recognised(reading, _as_array("date", dates, codes), note)


def _times(words: Sequence[str], codes: npt.NDArray[np.int64]) -> Recognised | None:
    """Read times with the year first, as computers write them."""
    times = list[datetime.date | None]()
    for word in words:
        if (time := _iso_time(word)) is None:
            return None
        times.append(time)
    return Recognised(Reading("date"), _as_array("date", times, codes))


def _iso_time(text: str) -> datetime.datetime | None:
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        found = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)


def _lists(words: Sequence[str], codes: npt.NDArray[np.int64]) -> Recognised | None:
    vectors = list[list[float] | None]()
    for word in words:
        if (vector := _vector(word)) is None:
            return None
        vectors.append(vector)
    note = "lists of numbers were recognised"
    return Recognised(Reading("vector"), _as_array("vector", vectors, codes), note)


def _vector(text: str) -> list[float] | None:
    """Return the numbers of a list, separated by commas, or by blanks as numpy prints them."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        if "," in text:
            vector = [float(value) for value in json.loads(text)]
        else:
            vector = [float(value) for value in text[1:-1].split()]
    except (ValueError, TypeError):
        return None
    return vector if len(vector) > 1 else None


def _as_array(kind: str, values: Sequence[object], codes: npt.NDArray[np.int64]) -> Arrow:
    """Return a value for each code, None for -1, in the narrowest type."""
    pa = optional("pyarrow", "parquet")
    if kind == "number":
        numbers = np.array([*(np.nan if v is None else v for v in values), np.nan], dtype=np.float64)[codes]
        gone = np.isnan(numbers)
        known = numbers[~gone]
        if len(known) and (known == np.round(known)).all() and np.abs(known).max() < 2**53:
            return pa.array(np.where(gone, 0, numbers).astype(np.int64), mask=gone)
        return pa.array(numbers, mask=gone)
    found = np.empty(len(values) + 1, dtype=object)
    found[:-1] = values
    out = found[codes].tolist()
    if kind == "vector":
        return pa.array(out, pa.list_(pa.float64()))
    if not any(isinstance(value, datetime.datetime) for value in values):
        return pa.array(out, pa.date32())
    # A day among times is its midnight.
    return pa.array([v and datetime.datetime.fromisoformat(v.isoformat()) for v in out], pa.timestamp("us"))


def _is_stand_in(text: str) -> bool:
    return text.strip() in MISSING or " ".join(text.lower().split()) in _STAND_INS


def _is_code(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def unread_number(words: Sequence[str]) -> str | None:
    """Return one of the texts if nearly all of them are numbers, with signs or commas; None otherwise.

    >>> unread_number(["$1,200", "$950"]), unread_number(["C17", "C18"])
    ('$1,200', None)
    """
    pattern = Reading("number", ".,", ",").pattern
    found = [word for word in words[:200] if pattern.fullmatch(word) and not _is_code(word)]
    return found[0] if found and len(found) >= 0.9 * len(words[:200]) else None


def with_point(cell: str) -> str:
    """Return a number that has a decimal comma with a point; any other cell as it is.

    >>> [with_point(cell) for cell in ("2,5", "-1.234,5", "1.234", "a, b", "1,2,3", "5,5 %")]
    ['2.5', '-1234.5', '1.234', 'a, b', '1,2,3', '5.5 %']
    """
    if "," not in cell or not Reading("number", ",", ".").pattern.fullmatch(cell):
        return cell
    return cell.strip().replace(".", "").replace(",", ".")


def as_numbers(column: Column, name: str = "") -> npt.NDArray[np.generic]:
    """Return a column as numbers: booleans as 0 and 1, dates and times as days, NaN where missing.

    >>> import pyarrow as pa, datetime
    >>> as_numbers(pa.array([datetime.date(1970, 1, 3), None])), as_numbers([1, None])
    (array([ 2., nan]), array([ 1., nan]))
    >>> as_numbers(["1970-01-03"]), as_numbers(["03.01.1970"]), as_numbers(["$1,200"])
    (array([2.]), array([2.]), array([1200]))
    """
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return column
    if isinstance(column, Sequence | np.ndarray):
        try:
            return np.array([np.nan if v is None else v for v in column], dtype=np.float64)
        except (TypeError, ValueError):
            column = optional("pyarrow", "parquet").array(list(column), from_pandas=True)
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    found = recognise(column)
    if found is not None and found.reading is not None and found.reading.kind != "vector":
        column = found.values
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        micros = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
        return _floats(pc.cast(micros, pa.float64(), safe=False)) / (_DAY * 1e6)
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = pc.cast(column, pa.int32() if kind.bit_width == 32 else pa.int64())
        return _floats(pc.cast(whole, pa.float64(), safe=False)) / (_DAY * unit)
    # A float stays what it is: a feature must not depend on whether its block has missing values.
    if pa.types.is_boolean(kind) and column.null_count:
        column = pc.cast(column, pa.int8())
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not pa.types.is_floating(kind) and (column.null_count or not plain):
        try:
            column = pc.cast(column, pa.float64(), safe=False)
        except pa.ArrowException as error:
            raise TableError(
                f"column {name!r} holds something that is not a number",
                f"Correct it ({error}), or read the file with fairask.tables.read_table, which knows how "
                "dates and decimal commas are written",
            ) from error
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _floats(column: Arrow) -> npt.NDArray[np.float64]:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
