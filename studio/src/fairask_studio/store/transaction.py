"""One transaction of a study's database: the log of events, and the queue of drawn rows beside it.

The events form a chain: each hash is of the event and of the hash before it. Whoever changes, removes or
adds an event in the middle must compute all later hashes anew, so one hash written down elsewhere proves
everything before it.

The queue says who answers which row. A row handed out is already drawn, with its propensity in the log.
Leases change who answers, never what was drawn, so no lease, expiry or crash can change a weight.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Connection,
    Float,
    Integer,
    String,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from fairask_studio.errors import NotYoursError
from fairask_studio.events import AnswersReopened, AnswersRestored, Event, Happening, RowsDrawn, at_second
from fairask_studio.store.database import clock
from fairask_studio.store.schema import events, people, pool, tasks

#: What stands before the first event.
START = "0" * 64
#: Number, time, person, kind, data as text and hash of an event.
StoredEvent = tuple[int, str, str, str, str, str]
#: Rows of tables, by the tables' names.
Tables = dict[str, list[dict[str, object]]]
#: Bytes per stored part of a pool file.
_PART = 1 << 24
#: Kinds of events that are about many rows.
_OF_MANY = (AnswersReopened.kind, AnswersRestored.kind)
#: Events per query.
_PAGE = 5000
_EVENT = (events.c.id, events.c.at, events.c.who, events.c.kind, events.c.data)
_AFTER = (
    select(*_EVENT, events.c.hash)
    .where(events.c.id > bindparam("after", type_=Integer))
    .order_by(events.c.id)
    .limit(_PAGE)
)
_FILED = select(*_EVENT, events.c.about)
_NEWEST = select(events.c.id, events.c.at, events.c.hash).order_by(events.c.id.desc()).limit(1)
#: A lease is renewed until so many times its length after it began: a forgotten page holds no row for ever.
RENEWALS = 6
_TAKEN = "row {} has been given to somebody else: the time to answer it ran out"


class Slot(NamedTuple):
    """One place of the queue: a row for one person."""

    row: int
    slot: int
    position: int
    batch: int
    who: str | None = None
    until: float | None = None
    answer: int | None = None
    since: float | None = None


@dataclass(frozen=True)
class Waiting:
    """Counts of the queue."""

    free: int  #: slots nobody holds
    held: int
    people: int  #: people who hold a row now


def _free(at: float | BindParameter[float]) -> ColumnElement[bool]:
    return or_(tasks.c.who.is_(None), tasks.c.until <= at)


# Built once: these run for every row that anybody is given.
_WHO, _NOW, _COUNT = (
    bindparam("me", type_=String),
    bindparam("now", type_=Float),
    bindparam("count", type_=Integer),
)
_HELD = (
    select(tasks.c.row, tasks.c.until, tasks.c.since)
    .where(tasks.c.answer.is_(None), tasks.c.who == _WHO, tasks.c.until > _NOW)
    .order_by(tasks.c.position)
)
_OTHER = tasks.alias("other")
_SEEN = exists().where(_OTHER.c.row == tasks.c.row, _OTHER.c.who == _WHO)
# A lease that was renewed to the last: the row goes to others first, for the length of one lease.
_LEFT = and_(
    tasks.c.until > _NOW - bindparam("seconds", type_=Float),
    tasks.c.until - tasks.c.since >= bindparam("longest", type_=Float),
)
_NEXT = (
    select(tasks.c.row, func.min(tasks.c.slot).label("slot"))
    # An expired lease of the same person counts as seen too: take that slot, not a second one.
    .where(
        tasks.c.answer.is_(None),
        _free(_NOW),
        or_(~_SEEN, and_(tasks.c.who == _WHO, func.coalesce(~_LEFT, True))),
    )
    .group_by(tasks.c.row, tasks.c.position)
    .order_by(tasks.c.position)
    .limit(_COUNT)
)
# A lease and an answer can both want a slot whose lease has expired: the second finds it taken.
_MINE_OR_FREE = and_(tasks.c.answer.is_(None), or_(_free(_NOW), tasks.c.who == _WHO))
_SLOT = and_(tasks.c.row == bindparam("the_row"), tasks.c.slot == bindparam("the_slot"))
_CLAIM = update(tasks).where(_SLOT, _MINE_OR_FREE).values(who=_WHO, until=bindparam("new_until"), since=_NOW)
_RENEW = (
    update(tasks)
    .where(tasks.c.row == bindparam("the_row"), tasks.c.who == _WHO, tasks.c.answer.is_(None))
    .values(until=bindparam("new_until"), since=bindparam("new_since"))
)
_HANDED = select(exists().where(tasks.c.row == bindparam("the_row"), tasks.c.who == _WHO))
_SLOTS = (
    select(tasks.c.slot, tasks.c.who, tasks.c.until, tasks.c.answer)
    .where(tasks.c.row == bindparam("the_row"))
    .order_by(tasks.c.slot)
)
_EMPTY = {"who": None, "until": None, "since": None, "answer": None}
_OPEN_AGAIN = (
    update(tasks)
    .where(tasks.c.row == bindparam("the_row"), tasks.c.who == _WHO, tasks.c.answer.is_not(None))
    .values(_EMPTY)
)
_BOOK = (
    update(tasks)
    .where(_SLOT, _MINE_OR_FREE)
    .values(who=_WHO, until=None, since=None, answer=bindparam("new_answer"))
)


def link(before: str, number: int, at: str, who: str, kind: str, data: str) -> str:
    """Return the hash of an event, given the hash of the one before it.

    Examples
    --------
    >>> link(START, 1, "now", "ada", "created", "{}")[:12]
    '430934bedadb'
    """
    text = json.dumps([before, number, at, who, kind, data], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def first_break(events: Iterable[StoredEvent]) -> str | None:
    """Describe the first event that is missing or was changed; None if there is none."""
    before, expected = START, 1
    for number, at, who, kind, data, known in events:
        if number != expected:
            return f"event {expected} is missing"
        before, expected = link(before, number, at, who, kind, data), expected + 1
        if known != before:
            return f"event {number} ({kind} by {who}) is not what was written, or one before it is not"
    return None


def _event(number: int, at: str, who: str, kind: str, data: str) -> Event:
    return Event(number, at, who, kind, json.loads(data))


class Transaction:
    """The log and the queue inside one transaction of :class:`Store`; valid until that ends.

    Times are seconds since 1970 by the database's clock. Answers are codes: -1 for a skip, else the position
    of the class.
    """

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
        number, before = (0, START) if newest is None else (newest.id, newest.hash)
        # The times of the log do not go back when the clock does.
        at, rows = max(at_second(self.now), "" if newest is None else newest.at), []
        for what in happened:
            number += 1
            fields = what.to_data()
            data = json.dumps(fields, allow_nan=False, ensure_ascii=False)
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
        for stored in self.each_stored_event(after):
            event = _event(*stored[:5])
            if to is not None and event.id > to:
                return
            yield event

    def events_of(self, row: int, batch: int | None) -> list[Event]:
        """Return what happened to a row, in order: its drawing in ``batch``, answers, answers taken away."""
        query = select(*_EVENT).where(
            or_(
                and_(events.c.about == row, events.c.kind != RowsDrawn.kind),
                and_(events.c.about == batch, events.c.kind == RowsDrawn.kind),
                and_(events.c.about.is_(None), events.c.kind.in_(_OF_MANY)),
            )
        )
        found = self.connection.execute(query.order_by(events.c.id))
        return [
            event
            for event in (_event(*stored) for stored in found)
            if event.kind not in _OF_MANY or row in (answer[0] for answer in event.data["answers"])
        ]

    def each_stored_event(self, after: int = 0) -> Iterator[StoredEvent]:
        """Yield events as they are stored, with their hashes, page by page."""
        while True:
            page = self.connection.execute(_AFTER, {"after": after}).all()
            for row in page:
                yield tuple(row)
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def misfiled(self) -> list[str]:
        """Name the events that are filed under another row than the one they are about."""
        found = []
        for *stored, about in self.connection.execute(_FILED):
            event = _event(*stored)
            if event.happening.about(event.data) != about:
                found.append(f"event {event.id} ({event.kind} by {event.who}) is filed under row {about}")
        return found

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

    def put_pool(self, data: bytes) -> None:
        """Store the file of the pool."""
        parts = [data[i : i + _PART] for i in range(0, len(data), _PART)]
        self.connection.execute(insert(pool), [{"part": i, "bytes": part} for i, part in enumerate(parts)])

    def get_pool(self) -> bytes:
        """Return the stored file of the pool."""
        return b"".join(self.connection.execute(select(pool.c.bytes).order_by(pool.c.part)).scalars())

    # -- the queue ------------------------------------------------------------------------------

    def book_batch(self, drawn: RowsDrawn, start: int, overlap: int) -> bool:
        """Write a batch to the log and queue its rows, each for ``overlap`` people.

        ``start`` is the number of rows drawn before. Returns False, and writes nothing, if another process
        has drawn a batch meanwhile: it took rows that this one counted on.
        """
        newest = self.connection.scalar(select(func.max(tasks.c.batch)))
        if newest is not None and newest >= drawn.batch:
            return False
        slots = [
            {"row": row, "slot": slot, "position": start + i, "batch": drawn.batch}
            for i, row in enumerate(drawn.rows)
            for slot in range(overlap)
        ]
        self.connection.execute(insert(tasks), slots)
        self.append("fairask", drawn)
        return True

    def add_slots(self, slots: Sequence[Slot]) -> None:
        """Queue rows for one person more each."""
        if slots:
            keys = ("row", "slot", "position", "batch")
            self.connection.execute(insert(tasks), [{k: getattr(slot, k) for k in keys} for slot in slots])

    def held(self, who: str) -> list[int]:
        """Return the rows this person holds and has not answered, in draw order."""
        return [row.row for row in self.connection.execute(_HELD, {"me": who, "now": self.now})]

    def lease(self, who: str, count: int, seconds: float) -> list[int]:
        """Hold up to ``count`` rows for a person: those already held (renewed), then the next free ones."""
        rows, renewals, claims = self._lease_plan(who, count, seconds)
        for renewal in renewals:
            self.connection.execute(_RENEW, renewal)
        claimed = [claim["the_row"] for claim in claims if self.connection.execute(_CLAIM, claim).rowcount]
        return rows + claimed

    def leased(self, who: str, count: int, seconds: float) -> list[int] | None:
        """Return what :meth:`lease` would if it has nothing to write, else None."""
        rows, renewals, claims = self._lease_plan(who, count, seconds)
        return None if renewals or claims else rows

    def _lease_plan(
        self, who: str, count: int, seconds: float
    ) -> tuple[list[int], list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the rows that a person holds, which of them to renew, and free ones to claim."""
        at, longest, renewals = self.now, RENEWALS * seconds, []
        mine = self.connection.execute(_HELD, {"me": who, "now": at}).all()[:count]
        for row in mine:
            since = at if row.since is None else row.since
            until = min(at + seconds, since + longest)
            if row.until < min(at + 0.9 * seconds, until):
                renewals.append({"the_row": row.row, "me": who, "new_until": until, "new_since": since})
        claims = []
        if len(mine) < count:
            wanted = {"me": who, "now": at, "count": count - len(mine)}
            wanted |= {"seconds": seconds, "longest": 0.999 * longest}
            claims = [
                {"the_row": row, "the_slot": slot, "me": who, "now": at, "new_until": at + seconds}
                for row, slot in self.connection.execute(_NEXT, wanted)
            ]
        return [row.row for row in mine], renewals, claims

    def clamp_leases(self) -> None:
        """Let leases that began in the future begin now: the clock was put back."""
        length = tasks.c.until - tasks.c.since
        self.connection.execute(
            update(tasks)
            .where(tasks.c.answer.is_(None), tasks.c.since > self.now + 1.0)
            .values(until=self.now + length, since=self.now)
        )

    def release(self, who: str, rows: Iterable[int] | None = None) -> None:
        """Give back the rows this person holds: these, or all of them."""
        mine = and_(tasks.c.answer.is_(None), tasks.c.who == who)
        if rows is not None:
            mine = and_(mine, tasks.c.row.in_(list(rows)))
        self.connection.execute(update(tasks).where(mine).values(_EMPTY))

    def waiting(self) -> Waiting:
        """Count free and held slots, and the people who hold any."""
        unanswered, at = tasks.c.answer.is_(None), self.now
        free = self.connection.scalar(select(func.count()).where(unanswered, _free(at))) or 0
        row = self.connection.execute(
            select(func.count(), func.count(func.distinct(tasks.c.who))).where(unanswered, tasks.c.until > at)
        ).one()
        return Waiting(free, row[0], row[1])

    def answers_of(self, who: str, rows: Sequence[int]) -> dict[int, int]:
        """Return this person's answers to these rows, where there are any."""
        query = select(tasks.c.row, tasks.c.answer).where(tasks.c.who == who, tasks.c.answer.is_not(None))
        if len(rows) <= 500:  # databases limit the values of one statement
            query = query.where(tasks.c.row.in_(rows))
        found = {int(r.row): int(r.answer) for r in self.connection.execute(query)}
        return {row: found[row] for row in rows if row in found}

    def was_handed(self, row: int, who: str) -> bool:
        """Whether the row was handed to this person, who holds it, let the lease end or has answered it."""
        return bool(self.connection.scalar(_HANDED, {"the_row": row, "me": who}))

    def is_labelled(self, row: int) -> bool:
        """Whether anybody has labelled the row."""
        return bool(self.connection.scalar(select(exists().where(tasks.c.row == row, tasks.c.answer >= 0))))

    def answer(self, row: int, who: str, code: int) -> None:
        """Book an answer on the slot this person holds, or on a free one of the row; else NotYoursError."""
        slots = self.connection.execute(_SLOTS, {"the_row": row}).all()
        if not slots:
            raise NotYoursError(f"row {row} was never asked for")
        unanswered = [s for s in slots if s.answer is None]
        mine = [s for s in unanswered if s.who == who]
        free = [s for s in unanswered if s.who is None or s.until <= self.now]
        if not mine and not free:
            raise NotYoursError(_TAKEN.format(row) if unanswered else f"row {row} is answered already")
        slot = (mine or free)[0].slot
        booking = {"the_row": row, "the_slot": slot, "me": who, "now": self.now, "new_answer": code}
        if not self.connection.execute(_BOOK, booking).rowcount:
            raise NotYoursError(_TAKEN.format(row))

    def change_answer(self, row: int, who: str, code: int) -> None:
        """Replace this person's answer to a row."""
        self.connection.execute(
            update(tasks).where(tasks.c.row == row, tasks.c.who == who).values(answer=code)
        )

    def hold_again(self, row: int, who: str, seconds: float) -> None:
        """Take this person's answer back; they hold the row again for ``seconds``."""
        lease = {"answer": None, "until": self.now + seconds, "since": self.now}
        self.connection.execute(update(tasks).where(tasks.c.row == row, tasks.c.who == who).values(lease))

    def open_again(self, answers: Sequence[tuple[int, str]]) -> None:
        """Take answers, given by row and person, out of the queue: their slots are free again."""
        if answers:
            self.connection.execute(_OPEN_AGAIN, [{"the_row": row, "me": who} for row, who in answers])

    def put_back(self, row: int, who: str, code: int) -> bool:
        """Book an answer that was taken out; False if others have answered the row in full meanwhile.

        It takes the place of somebody who only holds the row: that person has given no answer yet.
        """
        slots = self.connection.execute(
            select(tasks.c.slot, tasks.c.who, tasks.c.answer).where(tasks.c.row == row)
        ).all()
        # The person's own slot first, since nobody has two; then one that nobody holds.
        mine = [s for s in slots if s.who == who]
        for slot in sorted(mine or slots, key=lambda s: s.who is not None):
            if slot.answer is None:
                values = {**_EMPTY, "who": who, "answer": code}
                self.connection.execute(
                    update(tasks).where(tasks.c.row == row, tasks.c.slot == slot.slot).values(values)
                )
                return True
        return False

    def slots(self) -> Iterator[Slot]:
        """Yield the whole queue; nothing if its table is gone."""
        if inspect(self.connection).has_table(tasks.name):
            for row in self.connection.execute(select(*(tasks.c[name] for name in Slot._fields))):
                yield Slot(*row)

    def rebuild_queue(self, right: Sequence[Slot]) -> None:
        """Put another queue in the place of the one that is there; leases that are still possible are kept.

        Somebody may be labelling a file with rows that are leased.
        """
        if not inspect(self.connection).has_table(tasks.name):
            tasks.create(self.connection)
        elif self.connection.dialect.name != "sqlite":
            self.connection.execute(text("LOCK TABLE tasks"))  # leases take turns of their own
        rows: dict[int, list[Slot]] = {}
        for slot in right:
            rows.setdefault(slot.row, []).append(slot)
        for lease in self.slots():
            if lease.answer is not None or lease.who is None or (lease.until or 0) <= self.now:
                continue
            slots = rows.get(lease.row, [])
            free = [i for i, slot in enumerate(slots) if slot.who is None]
            if free and lease.who not in {slot.who for slot in slots}:
                held = slots[free[0]]._replace(who=lease.who, until=lease.until, since=lease.since)
                slots[free[0]] = held
        self.connection.execute(delete(tasks))
        if rows:
            everything = [slot._asdict() for slots in rows.values() for slot in slots]
            self.connection.execute(insert(tasks), everything)
