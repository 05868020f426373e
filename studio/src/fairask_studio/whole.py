"""Is a study whole? And copies of it: backups, and what can be saved of a damaged one."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fairask_studio._errors import SENSELESS, StudyError
from fairask_studio.events import Event, EventLost
from fairask_studio.snapshot import check_snapshot
from fairask_studio.state import State
from fairask_studio.store import START, Store, is_url, link
from fairask_studio.store._log import Tables


@dataclass(frozen=True)
class StudyCheck:
    """Whether a study is whole."""

    events: int
    hash: str  #: of the last event; written down elsewhere, it proves all events up to it
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        return f"Whole: {self.events:,} events; the last one has hash {self.hash}"


def verify(target: str) -> StudyCheck:
    """Check the chain of hashes, the number of events, the replay, the queue and the pool of a study.

    Examples
    --------
    >>> from fairask_studio import Study
    >>> place = f"{tempfile.mkdtemp()}/loans"
    >>> Study.create(place, {"age": [20, 30], "sex": ["f", "m"]}, protected="sex").close()
    >>> verify(place).sound
    True
    """
    from fairask_studio.study import Study

    problems: list[str] = []
    store = Store.open(target)
    try:
        events, last_hash, broken = store.check_chain()
        problems += [] if broken is None else [broken]
        try:
            if not store.repair(change=False).sound:
                problems.append("the queue is not what the events say: fairask study repair rebuilds it")
            with store.read() as turn:
                wrong = check_snapshot(turn)
            problems += [] if wrong is None else [wrong]
        except (*SENSELESS, StudyError) as error:
            problems.append(f"the events make no sense: {error}")
    finally:
        store.close()
    if not problems:
        try:
            Study.open(target).close()
        except StudyError as error:
            problems.append(str(error))
    return StudyCheck(events, last_hash, tuple(problems))


def backup(source: str, to: str) -> int:
    """Copy a study while it is in use: from a folder or database to a new folder or an empty database.

    Returns the number of events. The copy is a study: a folder can be the copy of a database, and the other
    way round, so restoring is the same command. Sessions are not copied: everybody signs in again.
    """
    origin = Store.open(source)
    try:
        with origin.read() as turn:
            tables = turn.dump()
            pool = None if is_url(source) else Path(source) / "pool.parquet"
            data = turn.get_pool() if pool is None else pool.read_bytes() if pool.is_file() else b""
        _write_study(to, tables, data or None)
    finally:
        origin.close()
    return len(tables["events"])


def _write_study(to: str, tables: Tables, pool: bytes | None) -> None:
    Store.create_copy(to, pool, tables)
    check = verify(to)
    if not check.sound:
        raise StudyError(f"the copy in {Path(to).name} is not whole: {check.problems[0]}")


@dataclass(frozen=True)
class Salvage:
    """What was saved of a damaged study."""

    events: int  #: events in the new study
    lost: int  #: of which so many could not be read, or made no sense without others


def salvage(source: str, to: str) -> Salvage:
    """Read what can be read of the events of a damaged study in a folder, and make a new study of it.

    An event that cannot be read keeps its number, as an event that says so. The chain of hashes is new.
    """
    folder = Path(source)
    file, pool = folder / "study.db", folder / "pool.parquet"
    if not file.is_file():
        raise StudyError(f"no study.db in {source!r}")
    found = dict(_readable(folder))
    if 1 not in found:
        raise StudyError("the first event, with the settings, cannot be read: restore the study from a copy")
    state: State | None = None
    kept: list[tuple[str, str, str, str]] = []
    lost = 0
    for number in range(1, max(found) + 1):
        stored = found.get(number)
        try:
            if stored is None:
                raise StudyError("unreadable")
            at, who, kind, data = stored
            event = Event(number, at, who, kind, json.loads(data))
            if state is None:
                state = State.replay([event])
            else:
                state.apply(event)
        except Exception as error:  # whatever is wrong with one event must not lose the others
            if state is None:
                raise StudyError(f"the first event makes no sense: {error}; restore a copy") from error
            lost += 1
            at, who, kind = kept[-1][0], "fairask", EventLost.kind
            data = json.dumps({"reason": str(error)[:200]})
            state.last = number
        kept.append((at, who, kind, data))
    rows, before = [], START
    for number, (at, who, kind, data) in enumerate(kept, 1):
        before = link(before, number, at, who, kind, data)
        about = Event(number, at, who, kind, json.loads(data)).about
        row = {"id": number, "at": at, "who": who, "kind": kind, "data": data, "hash": before}
        rows.append({**row, "about": about})
    Store.create_copy(to, pool.read_bytes() if pool.is_file() else None, {"events": rows})
    store = Store.open(to)
    try:
        store.repair()
    finally:
        store.close()
    return Salvage(len(kept), lost)


def _readable(folder: Path) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
    """Yield the events that SQLite can still read, one by one, from a copy of the files."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("study.db", "study.db-wal"):
            if (folder / name).is_file():
                shutil.copyfile(folder / name, Path(scratch, name))
        with closing(sqlite3.connect(Path(scratch, "study.db"))) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            number, misses = 1, 0
            while misses < 1000:
                try:
                    row = connection.execute(
                        "SELECT at, who, kind, data FROM events WHERE id = ?", (number,)
                    ).fetchone()
                except sqlite3.DatabaseError:
                    row = None
                if row is not None and all(isinstance(cell, str) for cell in row):
                    misses = 0
                    yield number, row
                else:
                    misses += 1
                number += 1
