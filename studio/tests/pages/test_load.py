"""The load benchmark in short: nobody gets another's row, nothing fails, training goes on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.studio_load import Trial, highest, run
from studio.tests.forked import forked, serve_study
from studio.tests.pages.conftest import new_database
from studio.tests.pages.test_operations import free_port, until_reached


@contextmanager
def served(target: str, processes: int) -> Iterator[int]:
    port = free_port()
    with forked(serve_study, target, port, processes) as server:
        until_reached(port, server.is_running)
        yield port


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("database", "processes"), [("sqlite", 1), ("postgres", 2)])
def test_many_annotators_at_once(
    tmp_path: Path, request: pytest.FixtureRequest, database: str, processes: int
) -> None:
    target = str(tmp_path / "study")
    if database == "postgres":
        target = new_database(request.getfixturevalue("postgres_url"))
    # The paper's model is soon fitted: the subject is what people wait for.
    tally, study = run(
        target, people=20, seconds=4.0, think=0.2, processes=processes, rows=2000, patience=90.0,
        profile="paper", serve=served,
    )  # fmt: skip
    with study:
        status = study.status()
        events = study.store.events()
    assert max(tally.given.values()) == 1  # no row was handed out twice
    # On a busy machine some are told to try again; what they sent may have been taken all the same.
    assert set(tally.statuses) <= {200, 201, 503}
    assert tally.statuses[201] <= status["labels"] <= len(tally.answer_seconds)
    assert status["labels"]
    assert status["history"]
    drawn = [row for event in events if event.kind == "proposed" for row in event.data["rows"]]
    assert len(drawn) == len(set(drawn))


def test_the_highest_rate_is_the_one_with_most_people_that_holds() -> None:
    tried: list[int] = []

    def attempt(people: int) -> Trial:
        tried.append(people)
        return Trial(people, 2.0 * people, 0.01 if people <= 37 else 0.2, 0, 0)

    best = highest(attempt, first=10, steps=3)
    assert best is not None
    assert tried == [10, 20, 40, 30, 35, 37]
    assert best.people == 37
    assert highest(lambda people: Trial(people, 1.0, 0.01, people, 0), first=4, steps=5) is None
