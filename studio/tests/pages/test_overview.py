"""The overview in words: what is said and what is to be done next, at every stage of a study."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.events import Document
from fairask_studio.pages.desk import Desk
from fairask_studio.pages.overview import headline, next_step, steps, story
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")


LABELS = truth(people_table())


def _status(gap: tuple[float, float, float], tolerance: float = 0.1, **changes: object) -> Document:
    value, low, high = gap
    rates = [
        {"condition": "y=1", "group": "men", "value": 0.80 + value},
        {"condition": "y=1", "group": "women", "value": 0.80},
    ]
    estimate = {
        "accuracy": {"value": 0.851},
        "rates": rates,
        "gap": {"value": value, "low": low, "high": high},
    }
    model = {"round": 2, "digest": "ab"}
    return {
        "labels": 80, "budget": 80, "rows": 1000, "complete": True, "tolerance": tolerance, "batch_size": 25,
        "classes": ["no", "yes"], "history": [{"digest": "ab", "estimate": estimate}], "model": model,
        "audit": None, "certificate": None, **changes,
    }  # fmt: skip


def test_the_headline_says_what_the_numbers_mean() -> None:
    said = " ".join(headline(_status((0.13, 0.07, 0.19))))
    assert said == (
        "Right for about 85 of 100. Of rows that are “yes”, it says “yes” for 80 of 100 in group women and "
        "93 of 100 in group men: 13 points apart; you allow 10. Too few labels to be sure: about 580 more "
        "would tell."
    )
    assert headline(_status((0.02, 0.0, 0.08)))[-1].startswith("By these labels it is within")
    assert headline(_status((0.30, 0.2, 0.4)))[-1] == "That is more than you allow, and not by chance."
    assert headline(_status((0.0991, 0.0, 0.19)))[-1].startswith("Too close to what you allow")
    assert headline(_status((0.01, 0.0, 0.6)))[-1].endswith("an audit tells with fewer.")


def test_the_next_step_follows_the_study() -> None:
    status = _status((0.13, 0.07, 0.19))
    assert next_step(status).page == "certificate"
    assert next_step(status, disagreements=3).page == "rows?disagree=true"
    assert next_step({**status, "complete": False, "labels": 40}).page == "label"
    assert next_step({**status, "audit": {"done": False, "size": 60, "labels": 20}}).page == "label"
    for verdict, words in {
        "certified": "Download the certified model",
        "undecided": "Audit with more labels",
        "refuted": "See the certificate",
    }.items():
        certificate = {"verdict": verdict, "model": {"digest": "ab"}, "delta": 0.05, "upper": 0.09}
        judged = {**status, "certificate": certificate}
        assert next_step(judged).words == words
        assert [s["state"] for s in steps(judged)][:3] == ["done"] * 3
        assert (steps(judged)[3]["state"] == "done") == (verdict == "certified")
        # A certificate of another model says nothing of this one.
        other = {**judged, "certificate": {**certificate, "model": {"digest": "cd"}}}
        assert next_step(other).words == "Start an audit"


def test_the_story_of_a_study_moves_with_its_labels(study: Study, client: TestClient) -> None:
    assert client.get("/api/story").json()["headline"][0].startswith("No labels yet")
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    client.app.state.desk = Desk(study)  # type: ignore[attr-defined]  # slow answers are given again for a while
    found = client.get("/api/story").json()
    assert found["headline"][0].startswith("Right for about")
    assert found["next"]["words"] == "Start an audit"
    assert sum(group["labels"] for group in found["positives"]) == 60
    assert sum(group["positives"] for group in found["positives"]) == sum(LABELS[r] == "good" for r in rows)
    assert found["pace"] > 0


def test_disagreements_are_counted_until_they_are_settled(make: Callable[..., Study]) -> None:
    study = make(budget=10, batch_size=10, overlap=2)
    rows = study.ask(10, "ada")
    study.tell(rows, ["good"] * 10, "ada")
    assert set(study.ask(10, "bob")) == set(rows)
    study.tell(rows, ["bad"] * 4 + ["good"] * 6, "bob")
    assert story(study)["disagreements"] == 4
    assert story(study)["next"]["words"] == "Settle disagreements"
    study.correct(rows[0], "good", "ada")
    assert story(study)["disagreements"] == 3


def test_a_desk_that_is_killed_while_it_is_asked_again_is_busy_not_broken(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(Desk, "_do", broken)
    found = client.get("/api/story")
    assert found.status_code == 503
    assert found.headers["Retry-After"]
    assert "Try again" in found.json()["detail"]
