"""What columns of text hold: numbers, dates or lists of numbers, as people write them."""

from __future__ import annotations

from fairask.tables.dates import with_dates
from fairask.tables.extras import Arrow
from fairask.tables.formats import TableFormat
from fairask.tables.lists import with_lists
from fairask.tables.written import with_numbers


def understood(
    table: Arrow, form: TableFormat, notes: list[str], *, delimiter: str = ",", typed: bool = False
) -> Arrow:
    """Return the table with written numbers, dates and lists as such; ``notes`` say what was recognised.

    Parameters
    ----------
    delimiter : str
        The sign between fields: where it is no comma, numbers may have decimal commas.
    typed : bool
        Whether the source has a type per cell, so that digits kept as text are not numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"paid": ["5 %", "7 %"], "on": ["1.2.2024", "3.2.2024"]})
    >>> understood(table, TableFormat(), []).schema.types
    [DataType(int64), DataType(date32[day])]
    """
    if len(set(table.column_names)) < len(table.column_names):
        return table  # the names are refused later, with words
    table = with_numbers(table, form, delimiter, notes, typed=typed)
    return with_lists(with_dates(table, notes), notes)
