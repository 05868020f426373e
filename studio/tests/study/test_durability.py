"""Killing a writer at any instant loses no acknowledged answer, doubles none, and leaves a sound study."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from fairask_studio import Study
from fairask_studio.estimates import model_digest
from fairask_studio.store.schema import tasks
from studio.tests.forked import forked
from studio.tests.study import killing
from studio.tests.study.conftest import people_table

Make = Callable[..., Study]
pytestmark = pytest.mark.usefixtures("few_trees")


def killed(target: str, kills: int, seed: int, folder: Path) -> list[tuple[int, str, int, str, str]]:
    """What the writers had been told was done before they died."""
    report = folder / "acts"
    with forked(killing.main, target, kills, seed, str(report)) as process:
        process.wait()
    acts = [tuple(json.loads(line)) for line in report.read_text().splitlines()]
    planned = {act[0]: act[2] for act in acts if act[1] == "planned"}
    found = [act for act in acts if act[1] not in ("ready", "planned")]
    # Each kill hit a writer that had been at work, as planned; otherwise nothing was tested.
    reached = Counter(act[0] for act in found)
    assert len(planned) == kills
    assert {kill: min(reached[kill], n) for kill, n in planned.items()} == planned
    assert sum(planned.values()) > kills
    return found


def check(target: str, acts: list[tuple[int, str, int, str, str]]) -> int:
    """Compare a reopened study with the acts; return how many labels it has."""
    failed = [act for act in acts if act[1] == "failed"]
    assert failed == []
    with Study.open(target) as study:
        state = study.state()
        # A writer died after its last act was acknowledged: only later acts may differ from it.
        last = {(row, who): (act, label) for _, act, row, who, label in acts}
        silent = {(r.who, r.row) for r in _unreported(study, acts)}
        for (row, who), (act, label) in last.items():
            answer = state.answers.get(row, {}).get(who)
            if (who, row) in silent:
                continue
            if act == "withdrawn":
                assert answer is None, (row, who)
            else:
                assert answer is not None, (row, who)
                assert study.config.classes[answer.code] == label, (row, who)
        _check_log(study)
        return int(study.status()["labels"])


class _Act:
    def __init__(self, who: str, row: int) -> None:
        self.who, self.row = who, row


def _unreported(study: Study, acts: list[tuple[int, str, int, str, str]]) -> list[_Act]:
    """Acts in the log beyond those acknowledged: at most one for each kill of each writer."""
    said: dict[tuple[str, int], int] = {}
    for _, _, row, who, _ in acts:
        said[who, row] = said.get((who, row), 0) + 1
    found: dict[tuple[str, int], int] = {}
    for event in study.store.events():
        if event.kind in ("labelled", "corrected", "withdrawn"):
            key = (event.who, event.data["row"])
            found[key] = found.get(key, 0) + 1
    for key, count in said.items():
        assert found.get(key, 0) >= count, f"an acknowledged act on {key} is missing"
    return [_Act(*key) for key, count in found.items() if count > said.get(key, 0)]


def _check_log(study: Study) -> None:
    """No row drawn or answered twice; the queue is what the events say; every model can be made again."""
    drawn: list[int] = []
    open_answers: set[tuple[str, int]] = set()
    for event in study.store.events():
        if event.kind == "proposed":
            drawn += event.data["rows"]
        elif event.kind == "labelled":
            key = (event.who, event.data["row"])
            assert key not in open_answers, f"{key} answered twice"
            open_answers.add(key)
        elif event.kind == "withdrawn":
            open_answers.remove((event.who, event.data["row"]))
    assert len(drawn) == len(set(drawn))
    state = study.state()
    with study.store.database.read() as connection:
        queue = {(t.row, t.who): t.answer for t in connection.execute(select(tasks)) if t.answer is not None}
    assert queue == {(row, who): a.code for row, given in state.answers.items() for who, a in given.items()}
    assert sorted({row for row, _ in queue}) == sorted(row for row, given in state.answers.items() if given)
    for entry in state.history[-3:]:
        assert model_digest(study.learner(at=entry["seen"])) == entry["digest"]


@pytest.mark.slow
def test_twelve_kills_lose_nothing(make: Make, target: str, tmp_path: Path) -> None:
    make(target, table=people_table(600), budget=600, batch_size=20).close()
    acts = killed(target, 12, 1, tmp_path)
    assert check(target, acts) > 6


@pytest.mark.long
@pytest.mark.slow
def test_forty_kills_on_each_database_lose_nothing(make: Make, target: str, tmp_path: Path) -> None:
    # Passive sampling draws without a fit, and the paper's model is soon fitted: kills hit the writing.
    settings = {"budget": 4000, "batch_size": 500, "strategy": "passive", "profile": "paper"}
    make(target, table=people_table(4000), **settings).close()
    acts = killed(target, 40, 2, tmp_path)
    assert check(target, acts) > 20


def test_a_connection_that_is_in_use_when_the_study_is_closed_is_closed_afterwards(
    make: Make, target: str
) -> None:
    study = make(target)
    with study.store.database.read() as connection:
        driver = connection.connection.dbapi_connection
        study.close()
        assert connection.execute(select(tasks.c.row)).all() == []  # it works until it is given back
    with pytest.raises(Exception, match=r"closed"):
        driver.execute("SELECT 1")
