"""The queue rebuilt from the events, when somebody's hand or a broken disk has damaged it.

Events are the study; the queue follows from them, but for the leases: who holds which row now. Leases
that still make sense are kept, since somebody may have a file with those rows on the desk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, inspect, select, text

from fairask.study import _events
from fairask.study._events import Event
from fairask.study._schema import tasks
from fairask.study.state import SKIP

if TYPE_CHECKING:
    from fairask.study.database import Database

__all__ = ["Repair", "queue_of", "repair"]

Slot = dict[str, Any]


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


def queue_of(events: Iterable[Event]) -> dict[tuple[int, int], Slot]:
    """The queue that follows from the events, by row and slot, with nobody holding anything."""
    slots: dict[tuple[int, int], Slot] = {}
    answers: dict[int, dict[str, int]] = {}
    overlap = position = 0
    for event in events:
        row: int = event.data.get("row", -1)
        match event.kind:
            case "created":
                overlap = event.data["config"]["overlap"]
            case "proposed":
                for drawn in event.data["rows"]:
                    for slot in range(overlap):
                        slots[drawn, slot] = {
                            "row": drawn, "slot": slot, "position": position, "batch": event.data["batch"],
                            "who": None, "until": None, "answer": None,
                        }  # fmt: skip
                    position += 1
            case "labelled" | "skipped":
                answers.setdefault(row, {})[event.who] = event.data.get("label", SKIP)
            case "withdrawn":
                answers[row].pop(event.who)
            case "corrected" if not event.data["decides"]:
                answers[row][event.who] = event.data["label"]
    for row, given in answers.items():
        for slot, (who, code) in enumerate(given.items()):
            slots[row, slot] |= {"who": who, "answer": code}
    return slots


def repair(database: Database, now: float, *, change: bool = True) -> Repair:
    """Compare the queue with the events and, with ``change``, put it right."""
    with database.write() as connection:
        found: list[Slot] = []
        if inspect(connection).has_table(tasks.name):
            if not database.sqlite:
                connection.execute(text("LOCK TABLE tasks"))  # leases take turns of their own
            found = [dict(row._mapping) for row in connection.execute(select(tasks))]
        elif change:
            tasks.create(connection)
        right = queue_of(_events.read_after(connection, 0))
        result = _compare(found, right)
        leases = _keep_leases(found, right, now)
        if change and not result.sound:
            connection.execute(delete(tasks))
            if right:
                connection.execute(insert(tasks), list(right.values()))
        return Repair(result.missing, result.foreign, result.wrong, leases)


def _compare(found: list[Slot], right: dict[tuple[int, int], Slot]) -> Repair:
    """Which of two people answered in which slot says nothing, so answers are compared by row."""
    there = {(slot["row"], slot["slot"]): slot for slot in found}
    missing = set(right) - set(there)
    gaps = {row for row, _ in missing}
    misplaced = sum(
        (slot["position"], slot["batch"]) != (right[place]["position"], right[place]["batch"])
        for place, slot in there.items()
        if place in right
    )

    def answers(slots: dict[tuple[int, int], Slot]) -> set[tuple[Any, ...]]:
        return {
            (slot["row"], slot["who"], slot["answer"])
            for place, slot in slots.items()
            if slot["answer"] is not None and place in right and slot["row"] not in gaps
        }

    wrong = {row for row, _, _ in answers(there) ^ answers(right)}
    return Repair(len(missing), len(set(there) - set(right)), misplaced + len(wrong), 0)


def _keep_leases(found: list[Slot], right: dict[tuple[int, int], Slot], now: float) -> int:
    """Give rows back to who held them, where a slot is free and they have not answered."""
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
            free[0] |= {"who": lease["who"], "until": lease["until"]}
            kept += 1
    return kept
