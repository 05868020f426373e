"""Store: everything a study keeps in its database."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, insert, select

from fairask.errors import FairaskWarning, UserError
from fairask_studio.errors import SENSELESS, StudyError, senseless
from fairask_studio.events import Event, Happening, StudyCreated
from fairask_studio.store.database import COUNT, Database, read_count, write_count
from fairask_studio.store.people import Attempts, People
from fairask_studio.store.postgres import is_url
from fairask_studio.store.schema import training
from fairask_studio.store.transaction import START, Tables, Transaction, Waiting, first_break

_NO_STUDY = "this database holds no study; make one with: fairask new POOL --to URL"
_TRAINER = "trainer"


@dataclass(frozen=True)
class Training:
    """What the trainer is doing now, and the error that stopped it, if one did."""

    busy: str | None = None
    error: str | None = None


class Store:
    """The database of a study: its events, queue, people and the state of its trainer.

    A folder with an SQLite file, or a PostgreSQL database. Nothing here interprets an event; the state
    that follows from events is :class:`fairask_studio.State`.

    **Atomic.** Each method is one transaction, and so is each ``with store.write()`` block: all of it is
    written or, when the block raises or the process dies, nothing. Events and the queue change together.

    **Durable.** What a durable transaction wrote survives a kill of any process and a loss of power once
    the call or block has returned: :meth:`append`, :meth:`write`, people and sessions. Leases, sign-in
    attempts and the trainer's state (``write(durable=False)``) survive a kill, but not a loss of power.

    **Order.** Durable writers take turns, over all threads and processes. Event numbers grow in the order
    in which events become visible: a reader that has seen event 7 never misses event 6.

    **Threads and processes.** Every method may be called from any thread, and any number of processes may
    open the same study. A :class:`Transaction` belongs to the thread that began it.

    Parameters
    ----------
    target : folder or PostgreSQL URL
        The database as it is; :meth:`open` also brings its schema up to date.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.folder = None if is_url(target) else Path(target)  #: None for a PostgreSQL database
        self.database = Database(target)
        self.people = People(self.database)
        self.attempts = Attempts(self.database)
        self._waiting = (float("-inf"), Waiting(0, 0, 0))
        self._latest = float("inf")  # of the database's clock; the first lease looks at all leases
        self.written = 0  # transactions of this process that wrote events
        self._short = False  # whether the last lease found too few rows

    @classmethod
    def create(cls, target: str, pool: bytes, created: StudyCreated, who: str) -> None:
        """Write the pool and the first event. A study appears whole or not at all."""
        cls._create(target, pool, lambda turn: turn.append(who, created))

    @classmethod
    def create_people(cls, target: str) -> Store:
        """Make a store without a study, for the people of a home page; one that is there is opened."""
        if not is_url(target):
            Path(target).mkdir(mode=0o700, parents=True, exist_ok=True)
        store = cls(target)
        store.database.migrate()
        return store

    @classmethod
    def create_copy(cls, target: str, pool: bytes, tables: Tables) -> None:
        """Make a study of the tables of another one."""
        cls._create(target, pool, lambda turn: turn.load(tables))

    @classmethod
    def _create(cls, target: str, pool: bytes, fill: Callable[[Transaction], None]) -> None:
        if is_url(target):
            store = cls(target)
            try:
                store._begin(fill, pool)
            finally:
                store.close()
            return
        folder = Path(target)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = "holds a study" if (folder / "study.db").exists() else "exists and is not an empty folder"
            raise StudyError(f"{target!r} {what}; choose another name")
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Built beside its place and moved there: a kill in between leaves no partial study.
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            (scratch / "pool.parquet").write_bytes(pool)
            store = cls(str(scratch))
            store._begin(fill, None)
            store.close()
            for file in scratch.iterdir():
                file.chmod(0o600)  # rows and labels are about people
            if folder.exists():
                folder.rmdir()
            scratch.chmod(0o700)
            scratch.rename(folder)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise

    def _begin(self, fill: Callable[[Transaction], None], pool: bytes | None) -> None:
        self.database.migrate()
        with self.write() as turn:
            if turn.events():
                raise StudyError("this database holds a study already; choose another database")
            if pool is not None:
                turn.put_pool(pool)
            fill(turn)

    @classmethod
    def open(cls, target: str) -> Store:
        """Open the store of an existing study and migrate its schema; refuse one of a newer version."""
        if not is_url(target) and not (Path(target) / "study.db").is_file():
            raise StudyError(f"no study in {target!r}; make one with: fairask new POOL --protected COLUMN")
        store = cls(target)
        try:
            with store.database.read() as connection:
                before = store.database.revision(connection)
            if before is None:
                raise StudyError(_NO_STUDY)
            store.database.migrate()
            if store.folder is not None:
                store._check_count(store.folder)
        except BaseException as error:
            store.close()
            if isinstance(error, SENSELESS) and not isinstance(error, UserError):
                raise senseless(error) from error
            raise
        return store

    def _check_count(self, folder: Path) -> None:
        """Raise if the database lacks events that the file beside it counts; warn if that file is gone."""
        known = read_count(folder)
        with self.read() as turn:
            last = turn.last_number()
        if known is not None and known > last:
            raise StudyError(
                f"study.db lacks {known - last} of {known} events: it was copied without study.db-wal, or "
                "an older copy was put in its place",
                "Copy it again with fairask study backup",
            )
        if known is None:
            warnings.warn(
                f"{COUNT} is missing beside study.db: if study.db was copied without study.db-wal, its "
                "newest labels are missing. Copy studies with fairask study backup",
                FairaskWarning,
                stacklevel=4,
            )
        if known != last and os.access(folder, os.W_OK):
            write_count(folder, last)

    def check_chain(self) -> tuple[int, str, str | None]:
        """Return the number of events, the last hash, and the first thing wrong with them."""
        with self.read() as turn:
            broken = first_break(turn.each_stored_event())
            last = list(turn.each_stored_event(turn.last_number() - 1))
        number, text = (last[0][0], last[0][5]) if last else (0, None)
        return number, text or START, broken

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    # -- events ---------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Read from a consistent snapshot."""
        with self.database.read() as connection:
            yield Transaction(connection)

    @contextmanager
    def write(self, durable: bool = True) -> Iterator[Transaction]:
        """Wait for a turn, then write: all that the block does, or nothing if it raises."""
        with self.database.write(durable) as connection:
            turn = Transaction(connection)
            yield turn
        self.written += turn.last is not None
        if turn.last is not None and self.folder is not None:
            write_count(self.folder, turn.last)

    def events(self, after: int = 0, to: int | None = None) -> list[Event]:
        """Return the events after number ``after``, up to number ``to``, in order."""
        with self.read() as turn:
            return turn.events(after, to)

    def append(self, who: str, *happened: Happening) -> None:
        """Add events of ``who``."""
        with self.write() as turn:
            turn.append(who, *happened)

    def read_pool(self) -> bytes:
        """Return the file of the pool."""
        if self.folder is None:
            with self.read() as turn:
                return turn.get_pool()
        file = self.folder / "pool.parquet"
        if not file.is_file():
            raise StudyError(f"{self.target!r} has lost its pool.parquet; restore it from a copy")
        return file.read_bytes()

    # -- the queue ------------------------------------------------------------------------------

    def lease(self, who: str, count: int, seconds: float) -> list[int]:
        """Hold up to ``count`` drawn rows for a person, in draw order; those already held come first."""
        if self._short:  # the queue was empty: many wait and ask again, and need no turn to write
            with self.read() as turn:
                held = turn.leased(who, count, seconds)
                if held is not None and turn.now >= self._latest - 1.0:
                    return held
        with self.write(durable=False) as turn:
            if turn.now < self._latest - 1.0:
                turn.clamp_leases()
            self._latest = turn.now
            rows = turn.lease(who, count, seconds)
        self._short = len(rows) < count
        return rows

    def release(self, who: str, rows: Iterable[int] | None = None) -> None:
        """Give back rows that a person holds and has not answered: these, or all of them."""
        with self.write(durable=False) as turn:
            turn.release(who, rows)

    def pending(self, who: str) -> list[int]:
        """Return the rows this person holds and has not answered."""
        with self.read() as turn:
            return turn.held(who)

    def waiting(self, max_age: float = 0.0) -> Waiting:
        """Count free and held slots, and people who hold any; the count may be ``max_age`` seconds old."""
        counted, waiting = self._waiting
        if time.monotonic() - counted > max_age:
            with self.read() as turn:
                waiting = turn.waiting()
            self._waiting = (time.monotonic(), waiting)
        return waiting

    # -- the trainer ----------------------------------------------------------------------------

    def training(self) -> Training:
        """Return what the trainer is doing, whatever process it runs in."""
        query = select(training.c.busy, training.c.error).where(training.c.name == _TRAINER)
        with self.database.read() as connection:
            row = connection.execute(query).first()
        return Training() if row is None else Training(*row)

    def set_training(self, now: Training) -> None:
        """Tell all processes what the trainer is doing."""
        error = None if now.error is None else now.error[:2000]
        with self.database.write(durable=False) as connection:
            connection.execute(delete(training).where(training.c.name == _TRAINER))
            connection.execute(insert(training), [{"name": _TRAINER, "busy": now.busy, "error": error}])
