"""The queue follows from the events: however it was damaged, it is rebuilt from them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from typer.testing import CliRunner

from fairask.cli._app import app
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


def test_a_sound_queue_is_left_alone(make: Make, target: str) -> None:
    study = lived_in(make, target)
    before = queue(study)
    found = study.store.repair()
    assert found.sound
    assert found.leases == sum(s["until"] is not None and s["answer"] is None for s in before)
    assert queue(study) == before


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("DELETE FROM tasks WHERE position < 2", "missing"),
        ("UPDATE tasks SET answer = 0 WHERE answer = 1", "wrong"),
        ("UPDATE tasks SET who = 'eve' WHERE answer = 0 AND position = 1", "wrong"),
        ("UPDATE tasks SET position = 7", "wrong"),
        ("INSERT INTO tasks (row, slot, position, batch) VALUES (199, 5, 0, 0)", "foreign"),
    ],
)
def test_what_was_damaged_is_rebuilt(make: Make, target: str, statement: str, kind: str) -> None:
    study = lived_in(make, target)
    before = queue(study)
    damage(study, statement)
    assert queue(study) != before
    looked = study.store.repair(change=False)
    assert queue(study) != before
    assert getattr(study.store.repair(), kind) == getattr(looked, kind) > 0
    assert queue(study) == before
    assert study.store.repair().sound


def test_a_table_that_is_gone_comes_back_without_its_leases(make: Make, target: str) -> None:
    study = lived_in(make, target)
    answers = [s for s in queue(study) if s["answer"] is not None]
    open_slots = len(queue(study)) - len(answers)
    damage(study, "DROP TABLE tasks")
    assert not study.store.repair(change=False).sound
    with Study.open(target) as opened:
        found = opened.store.repair()
        assert (found.missing, found.leases) == (20, 0)
        assert [s for s in queue(opened) if s["answer"] is not None] == answers
        assert opened.store.waiting().free == open_slots
        rows = opened.lease("dan", 1)
        opened.tell(rows, ["good"], "dan")
        assert opened.store.repair().sound


def test_a_lease_does_not_come_back_to_who_has_answered_or_is_late(make: Make) -> None:
    study = make()
    late, kept = study.ask(2, "ada")
    damage(
        study,
        f"UPDATE tasks SET until = {time.time() - 1} WHERE row = {late}",
        "DELETE FROM tasks WHERE row > 150",
    )
    study.store.repair()
    assert study.store.pending("ada") == ([kept] if kept <= 150 else [])


def test_the_command_looks_and_repairs(make: Make, tmp_path: Path) -> None:
    study = lived_in(make, str(tmp_path / "s"))
    run = CliRunner().invoke
    sound = run(app, ["study", "repair", study.target])
    assert (sound.exit_code, sound.output) == (0, "The queue is what the events say\n")
    damage(study, "DELETE FROM tasks")
    looked = run(app, ["study", "repair", study.target, "--check"])
    assert looked.exit_code == 1
    assert "20 places missing" in looked.output
    assert "Nothing was changed" in looked.output
    done = json.loads(run(app, ["study", "repair", study.target, "--json"]).output)
    assert (done["missing"], done["changed"]) == (20, True)
    assert run(app, ["study", "repair", study.target, "--check"]).exit_code == 0
