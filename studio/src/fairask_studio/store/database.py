"""Connections to a study's database: three kinds of transaction, and the version of the schema.

A read sees a snapshot. A write is durable when it returns. A write that need not be durable is for leases:
otherwise every lease needs an fsync. Writers take turns (a lock in the process, then SQLite's own lock or an
advisory lock), so events are numbered in the order in which they become visible. On PostgreSQL writes that
need not be durable take turns of their own, beside the durable ones.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from sqlite3 import Connection as SQLiteConnection

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from fairask_studio.errors import StudyError, UnreachableError, senseless
from fairask_studio.store.postgres import connect_postgres, is_url

_LOG = logging.getLogger("fairask_studio.pages")
#: The schemas that this version knows, newest first. Alembic has them too, but takes long to import, and most
#: processes find the newest schema.
REVISIONS = ("0001",)
#: The number of events, in a file beside study.db. SQLite keeps the newest events in study.db-wal: a copy of
#: study.db alone opens, and lacks them. The number shows it; written after each commit, it is never ahead.
COUNT = "events.count"
#: Keys of the advisory locks that writers of one PostgreSQL database take in turn; any fixed numbers.
_ANSWERS, _LEASES = 0x66616972, 0x66616973
#: What SQLite says of a file that is damaged, or is none of its own.
_DAMAGED = re.compile(
    "malformed|not a database|decode to UTF-8|disk I/O|corrupt|no such (table|column)|unsupported file format"
)
#: What a database raises that is locked, frozen, restarting, full or read-only: later the same may pass.
UNREACHABLE = (OperationalError, InterfaceError, DisconnectionError, PoolTimeout, UnreachableError)
_CLOCK = text("SELECT extract(epoch FROM clock_timestamp())::float")
_TURN = text("SELECT set_config('synchronous_commit', :sync, true), pg_advisory_xact_lock(:key)")


def clock(connection: Connection) -> float:
    """Return the database's time in seconds since 1970: one clock for servers on several machines."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.scalar(_CLOCK) or 0.0)


def why_unreachable(error: BaseException) -> str | None:
    """Say in one line why the database cannot be used now; None if the error is another one.

    Examples
    --------
    >>> why_unreachable(UnreachableError("cannot reach postgresql://host/loans: refused"))
    'cannot reach postgresql://host/loans: refused'
    >>> why_unreachable(ValueError("no number")) is None
    True
    """
    if not isinstance(error, UNREACHABLE) and not getattr(error, "connection_invalidated", False):
        return None
    said = error.what if isinstance(error, UnreachableError) else str(getattr(error, "orig", "") or error)
    return (said.strip() or type(error).__name__).partition("\n")[0]


#: First and longest pause before what the database refused is tried again.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 5.0


class Outage:
    """Waits while the database cannot be used, longer each time; says why in one line, and when it is over.

    Parameters
    ----------
    who : str
        Who waits, for the log.
    wait : callable
        Waits for so many seconds.
    """

    def __init__(self, who: str, wait: Callable[[float], object]) -> None:
        self.who, self._wait = who, wait
        self._pause, self._said = _FIRST_WAIT, ""

    def passes(self, error: Exception) -> bool:
        """Wait if the error is one that passes; return whether it is."""
        why = why_unreachable(error)
        if why is None:
            return False
        if why != self._said:
            _LOG.warning("%s waits for the database and tries again: %s", self.who, why)
        self._said = why
        self._wait(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_WAIT)
        return True

    def is_over(self) -> None:
        """Note that the database was used."""
        if self._said:
            _LOG.warning("%s goes on: the database answers", self.who)
        self._pause, self._said = _FIRST_WAIT, ""


class Database:
    """The database at a folder (SQLite) or a PostgreSQL URL."""

    def __init__(self, target: str) -> None:
        self._turn = self._lease_turn = threading.Lock()
        self._read: Engine
        if is_url(target):
            self.sqlite = False
            self._write = self._relax = connect_postgres(target)
            self._read = self._write.execution_options(
                isolation_level="AUTOCOMMIT"
            )  # one round trip per query
            self._lease_turn = threading.Lock()
        else:
            self.sqlite = True
            file = _File(Path(target) / "study.db")
            self._read = _sqlite(file, "BEGIN", "FULL")
            self._write = _sqlite(file, "BEGIN IMMEDIATE", "FULL")
            self._relax = _sqlite(file, "BEGIN IMMEDIATE", "NORMAL")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin to read from a consistent snapshot."""
        with _damage_in_words(), self._read.begin() as connection:
            yield connection

    @contextmanager
    def write(self, durable: bool = True) -> Iterator[Connection]:
        """Wait for a turn, then write; a durable write survives any kill once this returns."""
        engine, turn = (self._write, self._turn) if durable else (self._relax, self._lease_turn)
        with turn, _damage_in_words(), engine.begin() as connection:
            if not self.sqlite:
                key = _ANSWERS if durable else _LEASES
                connection.execute(_TURN, {"sync": "on" if durable else "off", "key": key})
            yield connection

    def migrate(self) -> None:
        """Bring the schema up to date; refuse one that a newer fairask made."""
        with self.write() as connection:
            present = self.revision(connection)
            if present is not None and present not in REVISIONS:
                raise StudyError(
                    f"this study has schema {present}; this fairask knows up to {REVISIONS[0]}. "
                    "It was made by a newer version: upgrade with pip install -U fairask"
                )
            if present != REVISIONS[0]:
                _upgrade(connection)

    def damage(self) -> list[str]:
        """Name what is wrong with the file of SQLite, and with the tables' definitions."""
        if not self.sqlite:
            return []
        with self.read() as connection:
            said = connection.execute(text("PRAGMA integrity_check")).scalars().all()
            schema = _schema(connection)
        found = [f"study.db: {words}" for words in said if words != "ok"]
        for name, words in _right_schema().items():
            if schema.get(name) != words:
                found.append(f"study.db: the definition of {name} is not what was written")
        return found

    def revision(self, connection: Connection) -> str | None:
        """Return the revision of the schema, None for an empty database."""
        if not inspect(connection).has_table("alembic_version"):
            return None
        row = connection.execute(text("SELECT version_num FROM alembic_version")).first()
        return None if row is None else str(row[0])

    def close(self) -> None:
        """Close all connections; one that is in use is closed when it is given back."""
        for engine in (self._read, self._write, self._relax):
            event.listen(engine.pool, "checkin", _close)
            engine.dispose()


def _close(_: object, entry: ConnectionPoolEntry) -> None:
    entry.close()


def _schema(connection: Connection) -> dict[str, str]:
    query = text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {f"{kind} {name}": f"{of}: {words}" for kind, name, of, words in connection.execute(query)}


@cache
def _right_schema() -> dict[str, str]:
    """The definitions of a database that was just made."""
    with tempfile.TemporaryDirectory() as folder:
        made = Database(folder)
        made.migrate()
        with made.read() as connection:
            found = _schema(connection)
        made.close()
    return found


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise senseless(error) from error


@contextmanager
def _damage_in_words() -> Iterator[None]:
    """Turn what SQLite says of a damaged file into a StudyError."""
    try:
        yield
    except DBAPIError as error:
        known = isinstance(error.orig, sqlite3.DatabaseError)
        if not known or not _DAMAGED.search(str(error.orig)):
            raise
        raise StudyError(
            f"study.db is damaged or no database: {error.orig}",
            "Restore it from a backup",
        ) from error


class _File:
    """The file that was opened first. Another one may take its name, as when a backup is restored beneath a
    server: connections that are open would go on with the old file, and new ones would use the new one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: os.stat_result | None = None

    def check(self) -> None:
        """Raise UnreachableError unless the name still leads to the file that was opened."""
        try:
            now = self.path.stat()
        except OSError:
            now = None
        if now is not None and self._opened is None:
            self._opened = now
        if now is None or self._opened is None or not os.path.samestat(now, self._opened):
            raise UnreachableError(
                f"{self.path} was moved, removed or replaced while it was open, so nothing is written",
                "Put it back, or start again what has it open",
            )


def _sqlite(file: _File, begin: str, synchronous: str) -> Engine:
    engine = create_engine(f"sqlite:///{file.path}", pool_size=8, max_overflow=40)

    @event.listens_for(engine, "connect")
    def _configure(connection: SQLiteConnection, _: object) -> None:
        connection.isolation_level = None  # BEGIN is sent below, so that DDL is transactional too
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}")
        file.check()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        file.check()
        connection.exec_driver_sql(begin)

    return engine


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
