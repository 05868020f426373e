"""Rebuild the queue from the events, after a person or a broken disk damaged it.

The queue follows from the events except for the leases: who holds which row now. Leases that are still
possible are kept, since somebody may be labelling a file with those rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, cast

from sqlalchemy import delete, insert, inspect, select, text

from fairask_studio.state import State
from fairask_studio.store._database import Database, clock
from fairask_studio.store._schema import snapshots, tasks
from fairask_studio.store.transaction import Transaction


class Slot(TypedDict):
    """One place of the queue: a row for one person."""

    row: int
    slot: int
    position: int
    batch: int
    who: str | None
    until: float | None
    answer: int | None
    since: float | None


Queue = dict[tuple[int, int], Slot]


@dataclass(frozen=True)
class Repair:
    """What was wrong with the queue."""

    missing: int  #: slots of drawn rows that were not in it
    foreign: int  #: slots of rows that were never drawn
    wrong: int  #: rows with other answers, or slots in another place, than the events say
    leases: int  #: leases kept

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.missing or self.foreign or self.wrong)


def queue_of(state: State) -> Queue:
    """Return the queue that follows from the events, by row and slot, without leases."""
    slots: Queue = {}
    for position, entry in enumerate(state.log.entries):
        answers = list(state.answers.get(entry.index, {}).items())
        for number in range(state.config.overlap):
            slot = Slot(
                row=entry.index, slot=number, position=position, batch=entry.batch, who=None, until=None,
                answer=None, since=None,
            )  # fmt: skip
            if number < len(answers):
                slot["who"], slot["answer"] = answers[number][0], answers[number][1].code
            slots[entry.index, number] = slot
    return slots


def repair(database: Database, *, change: bool = True) -> Repair:
    """Compare the queue with the events and, with ``change``, rebuild it."""
    with database.write() as connection:
        found: list[Slot] = []
        if inspect(connection).has_table(tasks.name):
            if not database.sqlite:
                connection.execute(text("LOCK TABLE tasks"))  # leases take turns of their own
            found = [cast(Slot, dict(row)) for row in connection.execute(select(tasks)).mappings()]
        elif change:
            tasks.create(connection)
        right = queue_of(State.replay(Transaction(connection).events()))
        result = _compare(found, right)
        leases = _keep_leases(found, right, clock(connection))
        if change and inspect(connection).has_table(snapshots.name):
            connection.execute(delete(snapshots))
        if change and not result.sound:
            connection.execute(delete(tasks))
            if right:
                connection.execute(insert(tasks), [dict(slot) for slot in right.values()])
        return Repair(result.missing, result.foreign, result.wrong, leases)


def _compare(found: list[Slot], right: Queue) -> Repair:
    """Compare answers by row: which of two people answered in which slot does not matter."""
    there = {(slot["row"], slot["slot"]): slot for slot in found}
    missing = set(right) - set(there)
    gaps = {row for row, _ in missing}
    misplaced = sum(
        (slot["position"], slot["batch"]) != (right[place]["position"], right[place]["batch"])
        for place, slot in there.items()
        if place in right
    )

    def answers(slots: Queue) -> set[tuple[int, str | None, int | None]]:
        return {
            (slot["row"], slot["who"], slot["answer"])
            for place, slot in slots.items()
            if slot["answer"] is not None and place in right and slot["row"] not in gaps
        }

    wrong = {row for row, _, _ in answers(there) ^ answers(right)}
    return Repair(len(missing), len(set(there) - set(right)), misplaced + len(wrong), 0)


def _keep_leases(found: list[Slot], right: Queue, now: float) -> int:
    """Lease rows again to who held them, where a slot is free and they have not answered."""
    rows: dict[int, list[Slot]] = {}
    for slot in right.values():
        rows.setdefault(slot["row"], []).append(slot)
    kept = 0
    for lease in found:
        if lease["answer"] is not None or lease["who"] is None or (lease["until"] or 0) <= now:
            continue
        slots = rows.get(lease["row"], [])
        free = [slot for slot in slots if slot["who"] is None]
        if free and lease["who"] not in {slot["who"] for slot in slots}:
            free[0].update({"who": lease["who"], "until": lease["until"], "since": lease["since"]})
            kept += 1
    return kept
