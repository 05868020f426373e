"""What is wrong with a table, and what to do about it."""

from __future__ import annotations

__all__ = ["TableProblem"]


class TableProblem(ValueError):
    """A file or one of its columns cannot be used.

    Parameters
    ----------
    what : str
        What is wrong with what was given.
    todo : str
        What puts it right.

    Examples
    --------
    >>> TableProblem("x.csv is empty", "Give a file with rows").todo
    'Give a file with rows'
    """

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(f"{what}\n{todo}")
        self.what, self.todo = what, todo
