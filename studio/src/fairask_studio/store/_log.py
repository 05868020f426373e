"""The log in one transaction: events, and what is stored beside them for copies and quick starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property

from sqlalchemy import Connection, Integer, and_, bindparam, delete, func, insert, or_, select

from fairask_studio.events import AnswersReopened, AnswersRestored, Event, Happening, RowsDrawn
from fairask_studio.store._chain import START, StoredEvent, link
from fairask_studio.store._database import clock
from fairask_studio.store._schema import events, people, pool, snapshots, tasks
from fairask_studio.times import at_second

#: Rows of tables, by the tables' names.
Tables = dict[str, list[dict[str, object]]]
#: Bytes per stored part of a pool file.
_PART = 1 << 24
#: Kinds of events that are about many rows.
_OF_MANY = (AnswersReopened.kind, AnswersRestored.kind)
#: Events per query.
_PAGE = 5000
_AFTER = (
    select(events.c.id, events.c.at, events.c.who, events.c.kind, events.c.data, events.c.hash)
    .where(events.c.id > bindparam("after", type_=Integer))
    .order_by(events.c.id)
    .limit(_PAGE)
)
_NEWEST = select(events.c.id, events.c.at, events.c.hash).order_by(events.c.id.desc()).limit(1)


class LogTransaction:
    """The log inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.last: int | None = None  #: number of the last event that this transaction added

    @cached_property
    def now(self) -> float:
        """The database's time when it was first asked for."""
        return clock(self.connection)

    def append(self, who: str, *happened: Happening) -> None:
        """Add events of ``who``, in order; writers take turns, so the next number is known."""
        if not happened:
            return
        newest = self.connection.execute(_NEWEST).first()
        number, before = (0, START) if newest is None else (newest.id, newest.hash or START)
        # The times of the log do not go back when the clock does.
        at, rows = max(at_second(self.now), "" if newest is None else newest.at), []
        for what in happened:
            number += 1
            fields = what.to_data()
            data = _json(fields)
            before = link(before, number, at, who, what.kind, data)
            row = {"id": number, "at": at, "who": who, "kind": what.kind, "data": data, "hash": before}
            rows.append({**row, "about": what.about(fields)})
        self.connection.execute(insert(events), rows)
        self.last = number

    def events(self, after: int = 0, to: int | None = None) -> list[Event]:
        """Return the events after number ``after``, up to number ``to``, in order."""
        return list(self.each_event(after, to))

    def each_event(self, after: int = 0, to: int | None = None) -> Iterator[Event]:
        """Yield the events after number ``after``, in order; not all of them are held at once."""
        for number, at, who, kind, data, _ in self.each_stored_event(after):
            if to is not None and number > to:
                return
            yield Event(number, at, who, kind, json.loads(data))

    def events_of(self, row: int, batch: int | None) -> list[Event]:
        """Return what happened to a row, in order: its drawing in ``batch``, answers, answers taken away."""
        query = select(events.c.id, events.c.at, events.c.who, events.c.kind, events.c.data).where(
            or_(
                and_(events.c.about == row, events.c.kind != RowsDrawn.kind),
                and_(events.c.about == batch, events.c.kind == RowsDrawn.kind),
                and_(events.c.about.is_(None), events.c.kind.in_(_OF_MANY)),
            )
        )
        found = self.connection.execute(query.order_by(events.c.id))
        every = [Event(number, at, who, kind, json.loads(data)) for number, at, who, kind, data in found]
        return [
            event
            for event in every
            if event.kind not in _OF_MANY or row in (answer[0] for answer in event.data["answers"])
        ]

    def each_stored_event(self, after: int = 0) -> Iterator[StoredEvent]:
        """Yield events as they are stored, with their hashes, page by page."""
        while True:
            page = self.connection.execute(_AFTER, {"after": after}).all()
            for row in page:
                yield row.id, row.at, row.who, row.kind, row.data, row.hash
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def last_number(self) -> int:
        """Return the number of the last event, 0 if there is none."""
        return int(self.connection.scalar(select(func.max(events.c.id))) or 0)

    def dump(self) -> Tables:
        """Return all rows of the tables that a copy needs: events, queue, people."""
        return {
            table.name: [dict(row) for row in self.connection.execute(select(table)).mappings()]
            for table in (events, tasks, people)
        }

    def load(self, tables: Tables) -> None:
        """Write the rows of :meth:`dump` into an empty study."""
        for table in (events, tasks, people):
            rows = tables.get(table.name, [])
            for start in range(0, len(rows), 1000):
                self.connection.execute(insert(table), rows[start : start + 1000])
        self.last = self.last_number()

    def put_snapshot(self, number: int, form: str, data: bytes) -> None:
        """Store the state after event ``number`` in place of the one that is there."""
        mark = self.connection.scalar(select(events.c.hash).where(events.c.id == number))
        self.connection.execute(delete(snapshots))
        row = {"event": number, "format": form, "hash": mark, "data": data}
        self.connection.execute(insert(snapshots), [row])

    def get_snapshot(self, form: str, to: int | None = None) -> bytes | None:
        """Return the stored state of this format, if its event is the one it was made at."""
        same = and_(events.c.id == snapshots.c.event, events.c.hash == snapshots.c.hash)
        query = select(snapshots.c.data).where(same, snapshots.c.format == form)
        if to is not None:
            query = query.where(snapshots.c.event <= to)
        found = self.connection.scalar(query)
        return None if found is None else bytes(found)

    def put_pool(self, data: bytes) -> None:
        """Store the file of the pool."""
        parts = [data[i : i + _PART] for i in range(0, len(data), _PART)]
        self.connection.execute(insert(pool), [{"part": i, "bytes": part} for i, part in enumerate(parts)])

    def get_pool(self) -> bytes:
        """Return the stored file of the pool."""
        return b"".join(self.connection.execute(select(pool.c.bytes).order_by(pool.c.part)).scalars())


def _json(data: dict[str, object]) -> str:
    return json.dumps(data, allow_nan=False, ensure_ascii=False)
