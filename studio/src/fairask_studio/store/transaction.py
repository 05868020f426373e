"""The queue of drawn rows, in one transaction with the log.

A row handed out is already drawn, with its propensity in the log. Leases change who answers, never what was
drawn, so no lease, expiry or crash can change a weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
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

from fairask_studio._errors import NotYoursError
from fairask_studio.events import RowsDrawn
from fairask_studio.store._log import LogTransaction
from fairask_studio.store._schema import tasks

#: A lease is renewed until so many times its length after it began: a forgotten page holds no row for ever.
RENEWALS = 6
_TAKEN = "row {} has been given to somebody else: the time to answer it ran out"


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


class Transaction(LogTransaction):
    """The log and the queue inside one transaction of :class:`Store`; valid until that ends.

    Times are seconds since 1970 by the database's clock. Answers are codes: -1 for a skip, else the position
    of the class.
    """

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
