"""The state follows from the events alone: no database, no model, no pool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairask_studio import Study, StudyError
from fairask_studio.config import Config
from fairask_studio.events import Event, Happening, RowLabelled, RowsDrawn, RowSkipped, StudyCreated
from fairask_studio.state import State

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]


def log(*happened: Happening) -> list[Event]:
    config = Config.make(protected="sex", classes=("bad", "good"), rows=9, budget=4, batch_size=2)
    events = [StudyCreated(config.to_dict()), *happened]
    return [
        Event(i, f"2026-01-0{i}T00:00:00.000Z", "ada", what.kind, what.to_data())
        for i, what in enumerate(events, 1)
    ]


DRAWN = RowsDrawn(0, [3, 5], [0.1, None], ["uniform", "uniform"], [9, 8], [])


def test_a_state_is_replayed_without_a_database() -> None:
    state = State.replay(log(DRAWN, RowLabelled(3, 1, "sure"), RowSkipped(5)))
    assert [(e.index, e.state, e.label) for e in state.log.entries] == [
        (3, "labelled", 1),
        (5, "skipped", None),
    ]
    assert (state.last, state.answered, state.skipped, state.undrawn) == (4, 2, 1, 3)
    assert state.answers[3]["ada"].note == "sure"
    assert state.fit_is_due()


def test_what_is_not_given_is_not_written() -> None:
    assert RowLabelled(3, 1).to_data() == {"row": 3, "label": 1}
    assert "cells" not in DRAWN.to_data()
    assert RowsDrawn.from_data({**DRAWN.to_data(), "of_a_later_version": 1}) == DRAWN


def test_an_event_of_a_newer_version_is_refused_with_words(make: Make, tmp_path: Path) -> None:
    later = Event(2, "", "ada", "teleported", {})
    with pytest.raises(StudyError, match=r"event 2 is of kind 'teleported'.*newer version.*pip install -U"):
        State.replay([*log(), later])

    class Teleported(Happening):
        kind = "teleported"

    study = make(str(tmp_path / "s"))
    study.store.append("ada", Teleported())
    with pytest.raises(StudyError, match="newer version"):
        Study.open(tmp_path / "s")


def test_a_setting_of_a_newer_version_is_refused_with_words() -> None:
    config = Config.make(protected="sex").to_dict()
    with pytest.raises(StudyError, match=r"setting 'teleport'.*newer version"):
        Config.from_dict({**config, "teleport": True})


def test_a_study_can_be_made_of_what_a_learner_can_be_made_of(make: Make) -> None:
    study = make(level=0.8, margin="evidence", fairness_weights="lure")
    learner = study.learner()
    assert (learner.config.level, learner.config.fairness_weights) == (0.8, "lure")
    assert Config.from_dict(study.config.to_dict()) == study.config
