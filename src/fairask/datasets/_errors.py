"""What can go wrong with a dataset: it is not here, it cannot be fetched, or it is not what it should be."""

from __future__ import annotations

__all__ = ["DatasetNotFound", "DownloadError", "TableError"]


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


class TableError(ValueError):
    """A file is not the table its name says: wrong shape, unreadable values or changed content.

    Examples
    --------
    >>> issubclass(TableError, ValueError)
    True
    """
