"""What can go wrong with a dataset: it is not here, it cannot be fetched, or it is not what it should be."""

from __future__ import annotations

from fairask.data import TableError

__all__ = ["DatasetNotFound", "DownloadError", "TableError", "wrong_table"]


class DatasetNotFound(FileNotFoundError):
    """The table's file is nowhere on this machine; the message says how to get it.

    Examples
    --------
    >>> issubclass(DatasetNotFound, FileNotFoundError)
    True
    """


class DownloadError(RuntimeError):
    """A download did not give the published table; what was in the cache before is untouched.

    Examples
    --------
    >>> issubclass(DownloadError, RuntimeError)
    True
    """


def wrong_table(message: str) -> TableError:
    """Return the error of a file that is not the table its name says; "; " divides what from why or remedy.

    Examples
    --------
    >>> wrong_table("t.csv: the file is empty").remedy
    'Get the published file again'
    """
    what, _, remedy = message.partition("; ")
    return TableError(what, remedy or "Get the published file again")
