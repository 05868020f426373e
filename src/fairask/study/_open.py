"""Making and opening the place where a study lives. A study appears whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from fairask.study import _events
from fairask.study._errors import StudyError
from fairask.study._pool import from_parquet, to_parquet
from fairask.study._reference import PoolReference
from fairask.study._schema import pool
from fairask.study.config import Config
from fairask.study.database import Database, is_url
from fairask.study.state import State

__all__ = ["create_store", "open_store"]

_PART = 1 << 24


def create_store(target: str, table: Any, config: Config, who: str) -> None:
    """Write the pool, or the reference to it, and the first event."""
    data: bytes | None
    if isinstance(table, PoolReference):
        data, sha256, more = None, table.sha256, {"pool": table.to_dict()}
    else:
        (data, sha256), more = to_parquet(table), {}
    created = {"config": {**config.to_dict(), "pool_sha256": sha256}, **more}
    if is_url(target):
        _create_in_database(target, data, created, who)
        return
    folder = Path(target)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "holds a study" if (folder / "study.db").exists() else "exists and is not an empty folder"
        raise StudyError(f"{target!r} {what}; choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place and moved there: a kill half-way leaves no half study.
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        if data is not None:
            (scratch / "pool.parquet").write_bytes(data)
        database = Database(str(scratch))
        database.migrate()
        with database.write() as connection:
            _events.append(connection, who, [("created", created)])
        database.close()
        if folder.exists():
            folder.rmdir()
        scratch.chmod(0o755)
        scratch.rename(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _create_in_database(target: str, data: bytes | None, created: dict[str, Any], who: str) -> None:
    database = Database(target)
    try:
        database.migrate()
        with database.write() as connection:
            if _events.last_id(connection):
                raise StudyError("this database holds a study already; choose another database")
            if data is not None:
                parts = [data[i : i + _PART] for i in range(0, len(data), _PART)]
                connection.execute(insert(pool), [{"part": i, "bytes": part} for i, part in enumerate(parts)])
            _events.append(connection, who, [("created", created)])
    finally:
        database.close()


def open_store(target: str) -> tuple[Database, State, Any]:
    """Return the database, the state and the pool (or the reference to it) of an existing study."""
    folder = Path(target)
    if not is_url(target) and not (folder / "study.db").is_file():
        raise StudyError(f"no study in {target!r}; make one with: fairask new POOL --protected COLUMN")
    database = Database(target)
    try:
        if is_url(target):
            with database.read() as connection:
                if database.revision(connection) is None:
                    raise StudyError("this database holds no study; make one with: fairask new POOL --to URL")
        database.migrate()
        with database.read() as connection:
            events = _events.read_after(connection, 0)
            if not events:
                raise StudyError("this database holds no study; make one with: fairask new POOL --to URL")
            stored = connection.execute(select(pool.c.bytes).order_by(pool.c.part)).scalars().all()
        state = State.begin(events[0])
        for event in events[1:]:
            state.apply(event)
        if state.pool is not None:
            return database, state, PoolReference.from_dict(state.pool)
        if is_url(target):
            data = b"".join(stored)
        elif not (folder / "pool.parquet").is_file():
            raise StudyError(f"{target!r} has lost its pool.parquet; restore it from a copy")
        else:
            data = (folder / "pool.parquet").read_bytes()
        table = from_parquet(data, state.config.pool_sha256)
    except BaseException:
        database.close()
        raise
    return database, state, table
