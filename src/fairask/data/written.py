"""Numbers as people write them: 1.234,5 and 1,234.5 and 1'234.5."""

from __future__ import annotations

import re

from fairask.data.extras import Arrow
from fairask.data.formats import TableFormat

__all__ = ["with_numbers", "with_point"]


def _pattern(decimal: str, thousands: str | None) -> str:
    """Return the regular expression of a number that is written with these signs."""
    whole = r"[0-9]+" if not thousands else rf"(?:[0-9]{{1,3}}(?:[{thousands}][0-9]{{3}})+|[0-9]+)"
    return rf"^\s*[+-]?{whole}(?:[{decimal}][0-9]+)?\s*$"


_DECIMAL_COMMA = re.compile(_pattern(",", "."), re.ASCII)


def with_point(cell: str) -> str:
    """Return a number that has a decimal comma with a point; any other cell as it is.

    Examples
    --------
    >>> [with_point(cell) for cell in ("2,5", "-1.234,5", "1.234", "a, b", "1,2,3")]
    ['2.5', '-1234.5', '1.234', 'a, b', '1,2,3']
    """
    if "," not in cell or not _DECIMAL_COMMA.match(cell):
        return cell
    return cell.strip().replace(".", "").replace(",", ".")


def with_numbers(table: Arrow, form: TableFormat, delimiter: str, notes: list[str]) -> Arrow:
    """Return the table with columns of written numbers as numbers; ``notes`` say which were recognised.

    Decimal commas are recognised where fields are not separated by commas, commas between thousands where
    they are. A column is converted if every value of it can be.

    Examples
    --------
    >>> import pyarrow as pa
    >>> notes = []
    >>> with_numbers(pa.table({"x": ["1,5", "2"]}), TableFormat(), ";", notes).column("x").to_pylist()
    [1.5, 2.0]
    >>> notes
    ["numbers with a decimal comma were recognised: 'x'"]
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    said = form.decimal is not None or form.thousands is not None
    decimal, thousands = form.decimal, form.thousands
    if not said:
        decimal, thousands = (".", ",") if delimiter == "," else (",", ".")
    decimal = decimal or ("," if thousands == "." else ".")
    pattern = _pattern(decimal, thousands)
    found = []
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        if not pc.all(pc.match_substring_regex(column, pattern)).as_py():
            continue
        plain = pc.utf8_trim_whitespace(column)
        if thousands:
            plain = pc.replace_substring(plain, thousands, "")
        number = pc.cast(pc.replace_substring(plain, decimal, "."), pa.float64())
        if pc.all(pc.equal(number, pc.round(number))).as_py():
            number = pc.cast(number, pa.int64(), safe=False)
        table = table.set_column(at, name, number)
        found.append(name)
    if found and not said:
        kind = "a comma between thousands" if decimal == "." else "a decimal comma"
        notes.append(f"numbers with {kind} were recognised: {', '.join(map(repr, found))}")
    return table
