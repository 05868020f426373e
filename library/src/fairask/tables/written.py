"""Numbers as people write them: 1.234,5 and 1'234.5, $1,200 and 12 %, and a column with a word among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairask.tables.extras import Arrow
from fairask.tables.formats import TableFormat
from fairask.tables.limits import MOST_STRAY
from fairask.tables.values import coded

#: Words that stand for a missing number, in small letters.
_STAND_INS = frozenset(
    (
        *("-", "--", "---", "–", "—", ".", "..", "unknown", "missing", "none", "n.a.", "n/a", "na", "nil"),
        *("not available", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"),
    )
)
_SIGNS = r"%|‰|\$|€|£|¥|₹|₽|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN)"
#: Different numbers from which on a few other words are taken for gaps in a column of numbers.
_MANY = 20


def is_stand_in(text: str) -> bool:
    """Whether a word stands for a missing number.

    Examples
    --------
    >>> is_stand_in("-"), is_stand_in("Unknown"), is_stand_in("-1")
    (True, True, False)
    """
    return " ".join(text.lower().split()) in _STAND_INS


@dataclass(frozen=True)
class _Style:
    """How numbers are written: the decimal sign, and what stands between thousands."""

    decimal: str
    thousands: str | None

    @property
    def pattern(self) -> re.Pattern[str]:
        whole = r"[0-9]+"
        if self.thousands:
            whole = rf"(?:[0-9]{{1,3}}(?:[{self.thousands}][0-9]{{3}})+|[0-9]+)"
        number = rf"(?P<number>{whole}(?:[{self.decimal}][0-9]+)?(?:[eE][+-]?[0-9]+)?)"
        before, after = rf"(?P<before>{_SIGNS})?", rf"(?P<after>{_SIGNS})?"
        return re.compile(rf"\s*(?P<minus>[+-]?)\s*{before}\s*(?P<inner>[+-]?){number}\s*{after}\s*")

    def plain(self, number: str) -> float:
        if self.thousands:
            number = number.replace(self.thousands, "")
        return float(number.replace(self.decimal, "."))


_DECIMAL_COMMA = _Style(",", ".")


def with_point(cell: str) -> str:
    """Return a number that has a decimal comma with a point; any other cell as it is.

    Examples
    --------
    >>> [with_point(cell) for cell in ("2,5", "-1.234,5", "1.234", "a, b", "1,2,3", "5,5 %")]
    ['2.5', '-1234.5', '1.234', 'a, b', '1,2,3', '5.5 %']
    """
    if "," not in cell or not _DECIMAL_COMMA.pattern.fullmatch(cell):
        return cell
    return cell.strip().replace(".", "").replace(",", ".")


@dataclass
class _Found:
    """A column of written numbers."""

    numbers: list[float]  #: of each different value; NaN where it is none
    sign: str  #: what stands beside them, such as "%"
    styled: bool  #: whether thousands or a decimal comma occur
    stray: list[int] = field(default_factory=list)  #: different values that are not numbers


def with_numbers(
    table: Arrow, form: TableFormat, delimiter: str, notes: list[str], *, typed: bool = False
) -> Arrow:
    """Return the table with columns of written numbers as numbers; ``notes`` say which were recognised.

    Decimal commas are recognised where fields are not separated by commas, commas between thousands where
    they are. A sign beside all numbers, such as % or $, is left out. A column is converted if every value
    is a number or stands for a missing one, or if a few of many are not: these count as missing, and the
    first is named. Numbers with leading zeros are codes and stay texts; so do plain digits of a ``typed``
    source, such as a workbook, that has them as texts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> notes = []
    >>> with_numbers(pa.table({"x": ["1,5", "2"]}), TableFormat(), ";", notes).column("x").to_pylist()
    [1.5, 2.0]
    >>> notes
    ["numbers with a decimal comma were recognised: 'x'"]
    >>> with_numbers(pa.table({"x": ["$1,200", "-"]}), TableFormat(), ",", notes).column("x").to_pylist()
    [1200, None]
    """
    import pyarrow as pa

    said = form.decimal is not None or form.thousands is not None
    decimal, thousands = form.decimal, form.thousands
    if not said:
        decimal, thousands = (".", ",") if delimiter == "," else (",", ".")
    style = _Style(decimal or ("," if thousands == "." else "."), thousands)
    styled, signed = list[str](), list[str]()
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        values, codes = coded(column)
        texts, rows = [str(v) for v in values], np.bincount(codes[codes >= 0], minlength=len(values))
        found = _found(texts, rows, style)
        if found is None and not said and style.decimal == ",":
            found = _found(texts, rows, _Style(".", None))
        if found is None or (typed and not (found.sign or found.styled or np.isnan(found.numbers).any())):
            continue
        if found.styled:
            styled.append(name)
        if found.sign:
            signed.append(f"{name!r} ({found.sign})")
        if found.stray:
            _note_stray(name, texts, codes, found.stray, notes)
        table = table.set_column(at, name, _column(np.array([*found.numbers, np.nan])[codes]))
    if styled and not said:
        kind = "a comma between thousands" if style.decimal == "." else "a decimal comma"
        notes.append(f"numbers with {kind} were recognised: {', '.join(map(repr, styled))}")
    if signed:
        notes.append(f"numbers were read without the sign beside them: {', '.join(signed)}")
    return table


def _found(values: Sequence[str], rows: Arrow, style: _Style) -> _Found | None:
    """Read the different values of a column; None where it is no column of numbers."""
    match = style.pattern.fullmatch
    first = [value for value in values[:200] if not is_stand_in(value)]
    if not first or sum(match(value) is not None for value in first) < 0.5 * len(first):
        return None
    numbers, stray, signs, styled = list[float](), list[int](), set[str](), False
    for at, value in enumerate(values):
        found = match(value)
        if found is None:
            numbers.append(float("nan"))
            if not is_stand_in(value):
                stray.append(at)
            continue
        text = found["number"]
        if _is_code(text) or (found["minus"] and found["inner"]) or (found["before"] and found["after"]):
            return None
        signs.add(found["before"] or found["after"] or "")
        styled |= "," in text or (style.thousands is not None and style.thousands in text)
        minus = "-" in (found["minus"], found["inner"])
        numbers.append(-style.plain(text) if minus else style.plain(text))
    n_numbers = len(values) - sum(map(np.isnan, numbers))
    known = sum(int(n) for n, value in zip(rows, values, strict=True) if not is_stand_in(value))
    if stray and (n_numbers <= _MANY or sum(int(rows[at]) for at in stray) > MOST_STRAY * known):
        return None
    if len(signs - {""}) > 1:
        return None  # dollars and euros are no common scale
    return _Found(numbers, "".join(signs), styled, stray)


def written_number(texts: Sequence[str]) -> str | None:
    """Return one of the texts if nearly all of them are numbers, with signs or commas; None otherwise.

    Examples
    --------
    >>> written_number(["$1,200", "$950"]), written_number(["C17", "C18"])
    ('$1,200', None)
    """
    pattern = _Style(".,", ",").pattern
    found = [text for text in texts[:200] if pattern.fullmatch(text) and not _is_code(text)]
    return found[0] if found and len(found) >= 0.9 * len(texts[:200]) else None


def _is_code(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def _note_stray(name: str, values: list[str], codes: Arrow, stray: list[int], notes: list[str]) -> None:
    rows = np.flatnonzero(np.isin(codes, stray))
    first = values[codes[rows[0]]][:40]
    what = (
        f"1 value of {name!r} is not a number and counts as missing: "
        if len(rows) == 1
        else f"{len(rows):,} values of {name!r} are not numbers and count as missing: the first is "
    )
    notes.append(f"{what}{first!r} in data row {rows[0] + 1:,}")


def _column(numbers: Arrow) -> Arrow:
    """Return numbers as a column, whole ones as integers, NaN as missing."""
    import pyarrow as pa

    gone = np.isnan(numbers)
    known = numbers[~gone]
    if len(known) and (known == np.round(known)).all() and np.abs(known).max() < 2**53:
        return pa.array(np.where(gone, 0, numbers).astype(np.int64), mask=gone)
    return pa.array(numbers, mask=gone)
