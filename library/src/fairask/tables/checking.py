"""Sheets that come back: does each label still stand beside the row it was given for?

A sheet carries a check code per row, made of the row's number and all its cells. A code that does not match
shows that row numbers slipped against the rest of the sheet. Cells that come back are compared as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairask.errors import UserError
from fairask.tables.files import plain_cell
from fairask.tables.values import text_of

#: Name of the column of check codes.
CHECK = "check"
_NAMED = 5


def check_code(row: int, cells: Mapping[str, object]) -> str:
    """Return the check code of a row, nine letters and digits that follow from its number and its cells.

    Examples
    --------
    >>> check_code(7, {"age": 30}), check_code(8, {"age": 30}) == check_code(7, {"age": 30})
    ('kfa9eb6fd', False)
    """
    text = json.dumps([int(row), sorted(cells.items())], ensure_ascii=False, default=str)
    # A letter in front: a spreadsheet reads digits with an "e" among them as a number.
    return "k" + hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class ReturnedRow:
    """A labelled row of a sheet that came back."""

    row: int  #: number of the row as the study or the audit counts
    shown: str  #: the number as the sheet has it
    code: str | None  #: its check code; None where the sheet has none
    cells: Mapping[str, object] = field(default_factory=dict)  #: the other cells that came back


def check_returned(
    file: str, returned: Sequence[ReturnedRow], known: Mapping[int, Mapping[str, object]]
) -> None:
    """Raise UserError unless every returned row is what the table says.

    A row with a check code must have the right one. Cells are compared with the table's: with the right code,
    a cell that differs and is that of another row of the sheet was moved; one that is no row's was written
    otherwise by a spreadsheet, which changes nothing. Without a code every cell must agree, and there must
    be one.

    Parameters
    ----------
    file : str
        Name of the sheet, for messages.
    returned : sequence of ReturnedRow
        Rows with a label.
    known : mapping
        Cells of the table by row number. Rows that are not in it are not checked.

    Examples
    --------
    >>> table = {0: {"age": 30}, 1: {"age": 40}}
    >>> check_returned("a.csv", [ReturnedRow(1, "1", check_code(1, table[1]))], table)
    >>> check_returned("a.csv", [ReturnedRow(1, "1", check_code(0, table[0]))], table)
    Traceback (most recent call last):
    fairask.errors.UserError: a.csv: 1 of 1 labelled rows are not those of the table, the first: row 1...
    """
    found = [row for row in returned if row.row in known]
    values: dict[str, set[str | None]] = {}
    for row in found:
        for name, value in known[row.row].items():
            values.setdefault(name, set()).add(_comparable(value))
    bare, wrong = [], []
    for row in found:
        cells = known[row.row]
        differ = [
            (name, _comparable(value))
            for name, value in row.cells.items()
            if name in cells and _comparable(value) != _comparable(cells[name])
        ]
        if row.code is not None:
            moved = [name for name, value in differ if value in values[name]]
            if row.code != check_code(row.row, cells) or moved:
                wrong.append(row)
        elif differ:
            wrong.append(row)
        elif not any(name in cells for name in row.cells):
            bare.append(row)
    if wrong:
        first = ", ".join(row.shown for row in wrong[:_NAMED]) + (", ..." if len(wrong) > _NAMED else "")
        raise UserError(
            f"{file}: {len(wrong):,} of {len(returned):,} labelled rows are not those of the table, the "
            f"first: row {first}",
            "Row numbers or cells have slipped: nothing was told. Label the sheet again as it was written, "
            "or give --unchecked if only its cells were edited",
        )
    if bare:
        raise UserError(
            f"{file} has neither the column {CHECK!r} nor other columns of the table, so nobody can tell "
            "whether its row numbers are right",
            f"Keep the column {CHECK!r} of the sheet, or give --unchecked",
        )


def _comparable(value: object) -> str | None:
    """Return a cell as it can be compared after a spreadsheet has saved it."""
    if value is None or value != value:
        return None
    text = plain_cell(str(value)) if isinstance(value, str) else str(value)
    try:
        return f"{float(text):.10g}"
    except ValueError:
        found = text_of(text)
        return None if found is None else found.casefold()
