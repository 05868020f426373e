"""What can go wrong with a dataset: it is not here, it cannot be downloaded, or its file is another table."""

from __future__ import annotations

from fairask.errors import UserError
from fairask.tables import TableError

__all__ = ["DatasetNotFound", "DownloadError", "TableError", "wrong_table"]


class DatasetNotFound(UserError, FileNotFoundError):
    """The table's file is not on this machine; the remedy says how to get it.

    Examples
    --------
    >>> print(DatasetNotFound("the drug table is not on this machine", "run `fairask datasets pull drug`"))
    the drug table is not on this machine; run `fairask datasets pull drug`
    """

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"  # an OSError of two arguments would print an error number


class DownloadError(UserError, RuntimeError):
    """A download did not give the published table; the cache holds what it held before.

    Examples
    --------
    >>> DownloadError("https://host/t.csv: the request failed", "Run it again").remedy
    'Run it again'
    """


def wrong_table(message: str) -> TableError:
    """Return the error of a file that is not the published table; "; " divides what from remedy.

    Examples
    --------
    >>> wrong_table("t.csv: the file is empty").remedy
    'Get the published file again'
    """
    what, _, remedy = message.partition("; ")
    return TableError(what, remedy or "Get the published file again")
