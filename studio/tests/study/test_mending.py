"""The queue follows from the events: however it was damaged, it is rebuilt when the study opens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, text

from fairask_studio import Study
from fairask_studio.store.schema import tasks

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]


def lived_in(make: Make, target: str) -> Study:
    """A study in which everything happened that changes the queue."""
    study = make(target, overlap=2, batch_size=6)
    rows = study.ask(6, "ada")
    study.tell(rows[:4], ["good", "bad", "good", "bad"], "ada")
    study.lease("bob", 3)
    study.tell(rows[:1], ["good"], "bob")
    study.skip(rows[1:2], "bob")
    study.correct(rows[0], "bad", "bob", decide=False)
    study.correct(rows[2], "bad", "ada", decide=True)
    study.withdraw(rows[3], "ada")
    study.draw(4)
    study.lease("cyn", 2)
    return study


def queue(study: Study) -> list[dict[str, Any]]:
    """Every slot, in an order and with a numbering of slots that say nothing."""
    with study.store.database.read() as connection:
        found = [dict(row._mapping) for row in connection.execute(select(tasks))]
    for slot in found:
        del slot["slot"]
    return sorted(found, key=lambda s: (s["row"], s["who"] or "", s["answer"] or 0))


def damage(study: Study, *statements: str) -> None:
    with study.store.database.write() as connection:
        for statement in statements:
            connection.execute(text(statement))


def is_right(study: Study) -> bool:
    with study.store.read() as turn:
        return study.state().agrees(turn.slots())


def test_a_sound_queue_is_left_alone(make: Make, target: str) -> None:
    study = lived_in(make, target)
    before = queue(study)
    assert is_right(study)
    Study.open(target).close()
    assert queue(study) == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM tasks WHERE position < 2",
        "UPDATE tasks SET answer = 0 WHERE answer = 1",
        "UPDATE tasks SET who = 'eve' WHERE answer = 0 AND position = 1",
        "UPDATE tasks SET position = 7",
        "INSERT INTO tasks (row, slot, position, batch) VALUES (199, 5, 0, 0)",
    ],
)
def test_what_was_damaged_is_rebuilt(make: Make, target: str, statement: str) -> None:
    study = lived_in(make, target)
    before = queue(study)
    damage(study, statement)
    assert queue(study) != before
    assert not is_right(study)
    Study.open(target).close()
    assert queue(study) == before
    assert is_right(study)


def test_a_table_that_is_gone_comes_back_without_its_leases(make: Make, target: str) -> None:
    study = lived_in(make, target)
    answers = [s for s in queue(study) if s["answer"] is not None]
    open_slots = len(queue(study)) - len(answers)
    damage(study, "DROP TABLE tasks")
    assert not is_right(study)
    with Study.open(target) as opened:
        assert [s for s in queue(opened) if s["answer"] is not None] == answers
        assert opened.store.waiting().free == open_slots
        rows = opened.lease("dan", 1)
        opened.tell(rows, ["good"], "dan")
        assert is_right(opened)


def test_a_lease_does_not_come_back_to_who_has_answered_or_is_late(make: Make) -> None:
    study = make()
    late, kept = study.ask(2, "ada")
    damage(
        study,
        f"UPDATE tasks SET until = {time.time() - 1} WHERE row = {late}",
        "DELETE FROM tasks WHERE row > 150",
    )
    Study.open(study.target).close()
    assert study.store.pending("ada") == ([kept] if kept <= 150 else [])
