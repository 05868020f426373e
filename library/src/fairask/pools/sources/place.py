"""Open a table that is too large to hold, by its place: Parquet files, or a table of a DuckDB file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fairask.pools.sources.base import TableSource
from fairask.pools.sources.duckdb import is_address, open_duckdb
from fairask.pools.sources.parquet import FileRecord, open_parquet

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class PlacedTable(TableSource[Any], Protocol):
    """A table that can be found again by its place, and told from another one by its records."""

    @property
    def sizes(self) -> Sequence[int]:
        """Rows of each block."""

    def records(self) -> list[FileRecord]:
        """What identifies each file, or the table of a database."""


def open_place(
    place: str | os.PathLike[str], filesystem: FileSystem | Mapping[str, object] | None = None
) -> PlacedTable:
    """Open Parquet files or folders by path or URL, or ``duckdb:///FILE?table=NAME``.

    Examples
    --------
    >>> open_place("duckdb:///no.db?table=people")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no file 'no.db'
    """
    text = os.fspath(place)
    return open_duckdb(text) if is_address(text) else open_parquet(text, filesystem)
