"""What is wrong with a table, and what to do about it."""

from __future__ import annotations

from fairask.errors import UserError

__all__ = ["TableProblem"]


class TableProblem(UserError):
    """A file or one of its columns cannot be used.

    Parameters
    ----------
    what : str
        What is wrong with what was given.
    remedy : str
        What puts it right.

    Examples
    --------
    >>> TableProblem("x.csv is empty", "Give a file with rows").remedy
    'Give a file with rows'
    """
