"""How a file is to be read: what is not said is recognised."""

from __future__ import annotations

from dataclasses import dataclass

from fairask.tables.errors import TableError


@dataclass(frozen=True)
class TableFormat:
    """How the cells of a file are written; None where it is to be recognised.

    Attributes
    ----------
    encoding : str, optional
        Of text. By default UTF-8, or UTF-16 by its mark or zero bytes, or else Windows-1252.
    delimiter : str, optional
        Between fields; by default a comma, semicolon, tab or bar, whichever the header has most of.
    decimal : str, optional
        The decimal sign, ``"."`` or ``","``.
    thousands : str, optional
        What stands between thousands: ``","``, ``"."``, ``"'"`` or a blank.
    sheet : str, optional
        The sheet of a workbook, the table of a database, the file of an archive or the split of a dataset.
    vectors : str, optional
        An ``.npy`` file with one row of numbers (an embedding) for each row of the table.

    Examples
    --------
    >>> TableFormat(decimal=",", thousands=".").delimiter is None
    True
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    vectors: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise TableError(
                f"--delimiter {self.delimiter!r} is not one sign", "Give one, such as ';' or '|'"
            )
        if self.decimal not in (None, ".", ","):
            raise TableError(f"--decimal {self.decimal!r} is unknown", "Give '.' or ','")
        if self.thousands not in (None, ".", ",", "'", " "):
            raise TableError(f"--thousands {self.thousands!r} is unknown", "Give ',', '.', \"'\" or a blank")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(f"--decimal and --thousands are both {self.decimal!r}", "Give two signs")


def recognised(encoding: str | None) -> TableFormat:
    """Return the format of a file in this encoding; UTF-8, the default of audits, is recognised instead.

    Examples
    --------
    >>> recognised("utf-8").encoding, recognised("cp1252").encoding
    (None, 'cp1252')
    """
    return TableFormat(encoding=None if encoding == "utf-8" else encoding)
