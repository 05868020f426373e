"""The number of events beside the database, in a file of its own.

SQLite keeps the newest events in ``study.db-wal``. A copy of ``study.db`` alone opens, and lacks them: the
number in this file shows it. It is written after each commit, so it is never ahead of the database.
"""

from __future__ import annotations

import os
from pathlib import Path

COUNT = "events.count"


def write_count(folder: Path, number: int) -> None:
    """Write the number of the last event."""
    handle = os.open(folder / COUNT, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(handle, f"{number:20d}\n".encode(), 0)
    finally:
        os.close(handle)


def read_count(folder: Path) -> int | None:
    """Return the number of the last event; None if there is no such file, or it says nothing."""
    try:
        return int((folder / COUNT).read_text("ascii"))
    except (OSError, ValueError):
        return None
