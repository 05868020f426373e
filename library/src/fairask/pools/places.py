"""Where a table is: a path on this machine, or a URL of any filesystem that pyarrow or fsspec knows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from fairask.tables.arrow import optional

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

#: Endings of table files that are no part of a table's name.
_SUFFIXES = (".parquet", ".db", ".duckdb", ".pq", ".csv", ".tsv", ".json")


def local_path(source: str | os.PathLike[str]) -> Path | None:
    """Local path of a plain path or a ``file://`` URL; None for other URLs.

    Examples
    --------
    >>> local_path("file:///data/my%20people").as_posix(), local_path("s3://bucket/people")
    ('/data/my people', None)
    """
    text = os.fspath(source)
    if "://" not in text:
        return Path(text).expanduser()
    parts = urlsplit(text)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def name_of(source: str | os.PathLike[str]) -> str:
    """Short name of the file or folder that a path or URL points to.

    Examples
    --------
    >>> name_of("s3://bucket/people/"), name_of("loans.parquet")
    ('people', 'loans')
    """
    text = os.fspath(source)
    if text.startswith("duckdb://") and "table" in (query := parse_qs(urlsplit(text).query)):
        return query["table"][-1]
    path = urlsplit(text).netloc + urlsplit(text).path if "://" in text else text
    last = Path(path).name or Path(path).resolve().name
    return Path(last).stem if Path(last).suffix.lower() in _SUFFIXES else last


def find_filesystem(
    source: str, storage_options: Mapping[str, object] | None = None
) -> tuple[FileSystem, str]:
    """The pyarrow filesystem of a path or URL, and the path on it."""
    fs = optional("pyarrow.fs", "parquet")
    if "://" not in source:
        return fs.LocalFileSystem(), str(Path(source).expanduser())
    if not storage_options:
        try:
            filesystem, path = fs.FileSystem.from_uri(source)
            return filesystem, path
        except (ValueError, NotImplementedError):  # a scheme that only fsspec knows
            pass
    fsspec = optional("fsspec.core", "parquet")
    try:
        inner, path = fsspec.url_to_fs(source, **(storage_options or {}))
    except (ValueError, ImportError) as error:
        raise ValueError(f"{source!r} cannot be opened: {error}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(inner)), path
