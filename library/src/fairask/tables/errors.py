"""The error of every table that cannot be used."""

from __future__ import annotations

from fairask.errors import UserError


class TableError(UserError):
    """A file, or one of its columns, cannot be used.

    Examples
    --------
    >>> TableError("x.csv is empty", "Give a file with rows").remedy
    'Give a file with rows'
    """
