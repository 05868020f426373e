"""The queue of drawn rows: who holds which, until when, and who may answer.

A row handed out is already drawn, with its propensity in the log: leases change who answers, never what
was drawn, so no lease, expiry or crash can touch a weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    Float,
    Integer,
    String,
    and_,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from fairask.study._errors import NotYoursError
from fairask.study._schema import tasks

__all__ = ["Waiting", "add", "answers_of", "held", "lease", "reopen", "settle", "waiting"]


@dataclass(frozen=True)
class Waiting:
    """How the queue stands."""

    free: int  #: slots nobody holds
    held: int
    people: int  #: who hold a row now


def add(connection: Connection, rows: Sequence[int], batch: int, start: int, overlap: int) -> None:
    """Queue drawn rows, each for ``overlap`` people."""
    connection.execute(
        insert(tasks),
        [
            {"row": row, "slot": slot, "position": start + i, "batch": batch}
            for i, row in enumerate(rows)
            for slot in range(overlap)
        ],
    )


def _free(now: Any) -> ColumnElement[bool]:
    return or_(tasks.c.who.is_(None), tasks.c.until <= now)


# Built once: these run for every row that anybody is given.
_WHO, _NOW, _COUNT = (
    bindparam("me", type_=String),
    bindparam("now", type_=Float),
    bindparam("count", type_=Integer),
)
_HELD = (
    select(tasks.c.row, tasks.c.until)
    .where(tasks.c.answer.is_(None), tasks.c.who == _WHO, tasks.c.until > _NOW)
    .order_by(tasks.c.position)
)
_OTHER = tasks.alias("other")
_SEEN = exists().where(_OTHER.c.row == tasks.c.row, _OTHER.c.who == _WHO)
_NEXT = (
    select(tasks.c.row, func.min(tasks.c.slot).label("slot"))
    # A lapsed lease of one's own is seen too: take that slot back rather than a second one.
    .where(tasks.c.answer.is_(None), _free(_NOW), or_(~_SEEN, tasks.c.who == _WHO))
    .group_by(tasks.c.row, tasks.c.position)
    .order_by(tasks.c.position)
    .limit(_COUNT)
)
# Leases and answers may meet at a slot whose lease has lapsed: whoever comes second finds it taken.
_MINE_OR_FREE = and_(tasks.c.answer.is_(None), or_(_free(_NOW), tasks.c.who == _WHO))
_SLOT = and_(tasks.c.row == bindparam("the_row"), tasks.c.slot == bindparam("the_slot"))
_CLAIM = update(tasks).where(_SLOT, _MINE_OR_FREE).values(who=_WHO, until=bindparam("new_until"))
_BOOK = update(tasks).where(_SLOT, _MINE_OR_FREE).values(who=_WHO, until=None, answer=bindparam("new_answer"))


def held(connection: Connection, who: str, now: float) -> list[int]:
    """Rows this person holds and has not answered, in draw order."""
    return [row.row for row in connection.execute(_HELD, {"me": who, "now": now})]


def lease(connection: Connection, who: str, count: int, now: float, seconds: float) -> list[int]:
    """Hold up to ``count`` rows for a person: those already held (renewed), then the next free ones."""
    mine = connection.execute(_HELD, {"me": who, "now": now}).all()[:count]
    rows = [row.row for row in mine]
    if any(row.until < now + 0.9 * seconds for row in mine):
        connection.execute(
            update(tasks)
            .where(tasks.c.who == who, tasks.c.answer.is_(None), tasks.c.row.in_(rows))
            .values(until=now + seconds)
        )
    if len(rows) < count:
        for row, slot in connection.execute(_NEXT, {"me": who, "now": now, "count": count - len(rows)}).all():
            claim = {"the_row": row, "the_slot": slot, "me": who, "now": now, "new_until": now + seconds}
            if connection.execute(_CLAIM, claim).rowcount:
                rows.append(row)
    return rows


def answers_of(connection: Connection, rows: Iterable[int], who: str) -> dict[int, int]:
    """This person's answers to these rows, where there are any."""
    wanted = list(rows)
    query = select(tasks.c.row, tasks.c.answer).where(tasks.c.who == who, tasks.c.answer.is_not(None))
    if len(wanted) <= 500:  # databases limit the values of one statement
        query = query.where(tasks.c.row.in_(wanted))
    found = {int(r.row): int(r.answer) for r in connection.execute(query)}
    return {row: found[row] for row in wanted if row in found}


def settle(connection: Connection, row: int, who: str, answer: int, now: float) -> None:
    """Book an answer on the slot this person holds, or on a free one of the row; else NotYoursError."""
    slots = connection.execute(
        select(tasks.c.slot, tasks.c.who, tasks.c.until, tasks.c.answer)
        .where(tasks.c.row == row)
        .order_by(tasks.c.slot)
    ).all()
    if not slots:
        raise NotYoursError(f"row {row} was never asked for")
    open_slots = [s for s in slots if s.answer is None]
    mine = [s for s in open_slots if s.who == who]
    free = [s for s in open_slots if s.who is None or s.until <= now]
    if not mine and not free:
        if open_slots:
            raise NotYoursError(f"row {row} has been given to somebody else: the time to answer it ran out")
        raise NotYoursError(f"row {row} is answered already")
    slot = (mine or free)[0].slot
    booking = {"the_row": row, "the_slot": slot, "me": who, "now": now, "new_answer": answer}
    if not connection.execute(_BOOK, booking).rowcount:
        raise NotYoursError(f"row {row} has been given to somebody else: the time to answer it ran out")


def change(connection: Connection, row: int, who: str, answer: int) -> None:
    """Replace this person's answer to a row."""
    connection.execute(update(tasks).where(tasks.c.row == row, tasks.c.who == who).values(answer=answer))


def reopen(connection: Connection, row: int, who: str, until: float) -> None:
    """Take this person's answer back; they hold the row again."""
    connection.execute(
        update(tasks).where(tasks.c.row == row, tasks.c.who == who).values(answer=None, until=until)
    )


def release(connection: Connection, who: str, rows: Iterable[int] | None = None) -> None:
    """Give back the rows this person holds: these, or all of them."""
    mine = and_(tasks.c.answer.is_(None), tasks.c.who == who)
    if rows is not None:
        mine = and_(mine, tasks.c.row.in_(list(rows)))
    connection.execute(update(tasks).where(mine).values(who=None, until=None))


def waiting(connection: Connection, now: float) -> Waiting:
    """Count free and held slots, and the people who hold any."""
    open_slot = tasks.c.answer.is_(None)
    free = connection.scalar(select(func.count()).where(open_slot, _free(now))) or 0
    row = connection.execute(
        select(func.count(), func.count(func.distinct(tasks.c.who))).where(open_slot, tasks.c.until > now)
    ).one()
    return Waiting(free, row[0], row[1])


def answered(connection: Connection, row: int) -> bool:
    """Whether anybody has labelled the row."""
    return bool(connection.scalar(select(exists().where(tasks.c.row == row, tasks.c.answer >= 0))))


def last_batch(connection: Connection) -> int:
    """Number of the newest batch in the queue, -1 when there is none."""
    newest = connection.scalar(select(func.max(tasks.c.batch)))
    return -1 if newest is None else newest
