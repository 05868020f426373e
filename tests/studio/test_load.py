"""The load benchmark in short: nobody gets another's row, nothing fails, training goes on meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.studio_load import run

from tests.studio.conftest import new_database


@pytest.mark.slow
@pytest.mark.parametrize(("database", "processes"), [("sqlite", 1), ("postgres", 2)])
def test_many_annotators_at_once(
    tmp_path: Path, request: pytest.FixtureRequest, database: str, processes: int
) -> None:
    target = str(tmp_path / "study")
    if database == "postgres":
        target = new_database(request.getfixturevalue("postgres_url"))
    tally, study = run(target, people=20, seconds=8.0, think=0.2, processes=processes, rows=5000)
    with study:
        status = study.status()
        events = study.events()
    assert max(tally.given.values()) == 1  # no row was handed out twice
    assert set(tally.statuses) <= {200, 201}
    assert status["labels"] == len(tally.answer_seconds)
    assert status["history"]
    drawn = [row for event in events if event.kind == "proposed" for row in event.data["rows"]]
    assert len(drawn) == len(set(drawn))
