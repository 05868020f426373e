"""Opening a table that a command streams."""

from __future__ import annotations

from typing import Any

from fairask.data import TableError
from fairask.pools.sources.parquet import open_parquet

__all__ = ["opened_parquet"]


def opened_parquet(path: str) -> Any:
    """The Parquet table at a path or URL; what is wrong with the place is the user's problem, not a crash."""
    try:
        return open_parquet(path)
    except FileNotFoundError as error:
        raise TableError(f"there is no file or folder {path}", "Check the path") from error
    except (ValueError, ImportError) as error:
        raise TableError(str(error), "Give a Parquet file or a folder of them") from error
