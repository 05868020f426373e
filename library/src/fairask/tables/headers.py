"""Where the names of the columns stand: below a title, or a line of merged cells, of a spreadsheet."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from fairask.tables.values import is_number, text_of

#: Signs between fields that are recognised.
DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 20


def find_header(text: str, delimiter: str | None, notes: list[str]) -> tuple[str, str]:
    """Return the text from the line of names on, and the sign between fields.

    A first line ``sep=;``, which Excel writes, names the sign. Lines above the names are left out.

    Examples
    --------
    >>> notes = []
    >>> find_header("sep=;\\na;b\\n1;2\\n", None, notes), notes
    (('a;b\\n1;2\\n', ';'), [])
    >>> find_header("Loans of 2024\\n\\na,b,c\\n1,2,3\\n", None, notes)[0]
    'a,b,c\\n1,2,3\\n'
    >>> notes
    ['names of columns were found in line 3; the lines above were left out']
    """
    before = len(text) - len(text.lstrip("\r\n"))
    blank, text = text[:before].count("\n"), text[before:]
    if found := re.match(r"sep=(.)\r?\n", text):
        delimiter, text, blank = delimiter or found[1], text[found.end() :], blank + 1
    lines = text.split("\n", _LOOKED_AT)[:_LOOKED_AT]
    if delimiter is None:
        # A title has none of the signs, so that other lines decide.
        telling = next((line for line in lines if any(map(line.count, DELIMITERS))), lines[0])
        delimiter = max(DELIMITERS, key=telling.count)
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    rows, ends = list[list[str]](), list[int]()
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error:
        return text, delimiter
    if skipped := below_title(rows):
        above = ends[skipped - 1]
        notes.append(
            f"names of columns were found in line {blank + above + 1}; the lines above were left out"
        )
        text = text.split("\n", above)[above]
    return text, delimiter


def below_title(rows: Sequence[Sequence[object]]) -> int:
    """Return how many rows stand above the names of the columns.

    The first row is a title if at most half of its cells are filled, and a row below it has a different
    text in every cell.

    Examples
    --------
    >>> below_title([["Applicant", None, None], ["age", "sex", "paid"], [30, "f", 1]])
    1
    >>> below_title([["age", "sex", "paid"], [30, "f", 1]])
    0
    """
    cells = [[text_of(value) for value in row] for row in rows[:_LOOKED_AT]]
    width = max(map(len, cells), default=0)
    if width < 3 or 2 * sum(value is not None for value in cells[0]) > width:
        return 0
    for at, row in enumerate(cells[1:-1], 1):
        names = [value for value in row if value is not None and not is_number(value)]
        if len(set(names)) == width and all(len(later) == width for later in cells[at + 1 :] if any(later)):
            return at
    return 0
