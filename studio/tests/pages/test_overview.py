"""The overview in words: what is said and what is to be done next, at every stage of a study."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.advice import advice_of, known_gap, next_step, story_of
from fairask_studio.config import Config
from fairask_studio.events import Document
from fairask_studio.pages.desk import Desk
from fairask_studio.pages.overview import steps, story
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")


LABELS = truth(people_table())


def _state(
    gap: tuple[float, float, float],
    plain: tuple[float, float] = (0.84, 0.4),
    *,
    feasible: bool = False,
    **changes: Any,
) -> SimpleNamespace:
    """What a verdict looks at: a model with this gap (value, low, high); accuracy and gap of a plain one."""
    value, low, high = gap
    rates = [
        {"condition": "y=1", "group": "men", "value": 0.80 + value},
        {"condition": "y=1", "group": "women", "value": 0.80},
    ]
    model = {
        "round": 1, "labels": 80, "digest": "ab", "feasible": feasible, "safety_cost": 0.0, "level": 0.95,
        "needed_low": 300, "needed_high": 600,
        "estimate": {
            "accuracy": {"value": 0.851, "low": 0.8, "high": 0.9},
            "rates": rates,
            "gap": {"value": value, "low": low, "high": high},
            "plain": {
                "accuracy": {"value": plain[0], "low": 0.7, "high": 0.95},
                "gap": {"value": plain[1], "low": 0.0, "high": 0.9},
            },
            "constant": {"answer": 1, "accuracy": 0.6},
        },
    }  # fmt: skip
    config = Config.make(protected="sex", classes=("no", "yes"), tolerance=0.1, budget=80, rows=1000)
    made = {"config": config, "history": [model], "model": model, "certificates": [], "budget": 80,
            "watch": None, "audit": None, **changes}  # fmt: skip
    return SimpleNamespace(**made)


def _certificate(verdict: str, digest: str = "ab", **changes: object) -> Document:
    limits = {"estimate": 0.021, "lower": 0.11 if verdict == "refuted" else 0.0, "upper": 0.094}
    rates = {"tpr": [0.821, 0.8]}
    return {
        "verdict": verdict, "model": {"digest": digest}, "delta": 0.05, "n_labels": 90, **limits,
        "groups": ["men", "women"], "rates": rates, **changes,
    }  # fmt: skip


def test_a_certified_model_that_was_refuted_since_is_not_to_be_used() -> None:
    aged = {
        "standing": {"verdict": "refuted", "headline": "Refuted: the gap is above 0.1 since about 2026-05."}
    }
    state = _state((0.05, 0.0, 0.09), certificates=[_certificate("certified")], watch=aged)
    found = advice_of(state, 80)
    assert (found.tone, found.verdict, found.proof) == (
        "bad", "Do not use this model", aged["standing"]["headline"],
    )  # fmt: skip
    assert found.reason.startswith("At the audit that was not so. Right for")
    assert (steps(_status(state))[3]["state"], steps(_status(state))[3]["words"]) == (
        "now", "no longer certified",
    )  # fmt: skip


def _status(state: Any, **changes: object) -> Document:
    advice = asdict(advice_of(state, 80))
    certificate = state.certificates[-1] if state.certificates else None
    return {
        "without_audits": {"labels": 80, "budget": 80}, "complete": True, "history": state.history,
        "audit": None, "budget": 80, "labels": 80, "certificate": certificate, "advice": advice, **changes,
    }  # fmt: skip


def test_the_reason_says_what_the_numbers_mean() -> None:
    def reason(*gap: float) -> str:
        return advice_of(_state(gap), 80).reason  # type: ignore[arg-type]

    assert reason(0.13, 0.07, 0.19) == (
        "Right for about 85 of 100. Of rows that are “yes”, it says “yes” for 93.0 of 100 in group men and "
        "80.0 of 100 in group women: 13 points apart; you allow 10 points. Too few labels to be sure."
    )
    assert "by labels and pool together that is not sure" in reason(0.02, 0.0, 0.08)
    within = advice_of(_state((0.02, 0.0, 0.08), feasible=True), 80).reason  # type: ignore[arg-type]
    assert "By these labels it is within" in within
    assert reason(0.30, 0.2, 0.4).endswith("That is more than you allow, and not by chance.")
    sure = advice_of(_state((0.08, 0.02, 0.19), feasible=True), 80).reason  # type: ignore[arg-type]
    assert "By labels and pool together it is within what you allow" in sure


def test_a_study_gives_one_verdict() -> None:
    def case(state: Any, labels: int = 80) -> str:
        return advice_of(state, labels).case

    assert case(_state((0.02, 0.0, 0.08))) == "short", "its own words are: infeasible with these labels"
    assert case(_state((0.3, 0.2, 0.4))) == "above"
    assert case(_state((0.3, 0.2, 0.4)), 40) == "above so far"
    assert case(_state((0.13, 0.07, 0.19), (0.87, 0.1))) == "plain", "as fair and more accurate"
    assert case(_state((0.15, 0.07, 0.19), (0.87, 0.13))) == "short", "nobody is sent to a model above"
    assert case(_state((0.13, 0.07, 0.19), (0.853, 0.1))) == "short", "not more accurate"
    assert case(_state((0.13, 0.07, 0.19), (0.87, 0.2))) == "short", "not as fair"
    assert case(_state((0.08, 0.02, 0.19), feasible=True)) == "within", "by labels and pool together"
    assert case(_state((0.15, 0.12, 0.19), feasible=True)) == "above", "labels deny it"
    useless = _state((0.0, 0.0, 0.1))
    useless.model["estimate"]["constant"]["accuracy"] = 0.85
    assert case(useless) == "useless"
    both = _state((0.097, 0.0, 0.3), (0.88, 0.039))
    both.model["estimate"]["constant"]["accuracy"] = 0.86
    assert case(both) == "plain", "as fair, more accurate, and better than a constant answer"
    assert case(both, 40) == "plain so far"
    said = advice_of(both, 80).reason  # type: ignore[arg-type]
    assert said.startswith("A model without a limit on the gap is as fair by these labels: 3.9 points apart")
    assert said.endswith("always answering “yes” is right for 86 of 100 without any label.")
    both.model["estimate"]["constant"]["accuracy"] = 0.88
    assert case(both) == "useless", "nothing is better than the constant answer"
    assert case(_state((0.0, 0.0, 0.1), history=[], model=None), 0) == "begin"


def test_whether_a_fair_model_is_worth_it_is_always_answered() -> None:
    def worth(gap: tuple[float, float, float], plain: tuple[float, float], **changes: Any) -> str:
        found = story_of(_state(gap, plain, **changes))  # type: ignore[arg-type]
        assert found is not None
        return str(found["worth"])

    chance = "The difference may be chance."
    assert worth((0.097, 0.0, 0.3), (0.88, 0.039)).startswith("Not by these labels")
    assert worth((0.097, 0.0, 0.3), (0.88, 0.039)).endswith(chance)
    assert worth((0.097, 0.0, 0.3), (0.853, 0.039)).startswith("It makes no difference by these labels")
    assert worth((0.05, 0.0, 0.3), (0.88, 0.13)).endswith("That may be chance.")
    above = worth((0.15, 0.0, 0.3), (0.88, 0.13))
    assert above.startswith("Not yet, by estimate"), "as fair is not said of two models above the limit"
    assert "as fair" not in above
    assert worth((0.05, 0.0, 0.3), (0.88, 0.07)).startswith("Cannot tell yet")
    certified = [_certificate("certified")]
    assert worth((0.05, 0.0, 0.3), (0.88, 0.04), certificates=certified).startswith("Yes: this model has a")


def test_while_an_audit_runs_it_is_the_verdict() -> None:
    class Audit:
        def __init__(self, labels: int, done: bool) -> None:
            self.labels, self.done = labels, done

        def to_dict(self) -> Document:
            return {"labels": self.labels, "size": 600, "done": self.done}

    state = _state((0.05, 0.0, 0.34), feasible=True, audit=Audit(100, done=False))
    found = advice_of(state, 80)  # type: ignore[arg-type]
    assert (found.tone, found.verdict) == ("open", "An audit is under way")
    assert found.reason == (
        "100 of at most 600 rows are answered; the audit decides. The estimate before it: 5 points apart; "
        "you allow 10 points."
    )
    state.audit = Audit(360, done=True)
    assert advice_of(state, 80).verdict == "The audit has ended"  # type: ignore[arg-type]
    state.certificates = [_certificate("certified")]
    assert advice_of(state, 80).case == "certified", "another audit does not take a certificate away"  # type: ignore[arg-type]


def test_rates_are_shown_so_that_they_differ_by_the_gap_that_is_shown() -> None:
    state = _state((0.0502, 0.0, 0.3))
    for rate, value in zip(state.model["estimate"]["rates"], (0.9376, 0.8874), strict=True):
        rate["value"] = value
    gap = known_gap(state)  # type: ignore[arg-type]
    assert gap is not None
    high, low = (round(100 * rate["value"], 1) for rate in gap["rates"])
    assert round(high - low, 1) == round(100 * gap["value"], 1) == 5.0


def test_after_an_audit_its_estimate_is_the_gap() -> None:
    state = _state((0.13, 0.07, 0.19))
    assert known_gap(state)["by"] == "estimate"  # type: ignore[arg-type, index]
    state.certificates = [_certificate("certified")]
    gap = known_gap(state)  # type: ignore[arg-type]
    assert gap is not None
    assert (gap["by"], gap["value"], gap["high"]) == ("audit", 0.021, 0.094)
    said = advice_of(state, 80)  # type: ignore[arg-type]
    assert (said.verdict, said.tone) == ("Use this model", "good")
    assert said.proof == "Certified. With 95 % confidence the gap is at most 9.4 points."
    assert "2.1 points apart" in said.reason
    assert "13 points" not in said.reason
    # A certificate of another model says nothing of this one.
    state.certificates = [_certificate("certified", "cd")]
    assert known_gap(state)["by"] == "estimate"  # type: ignore[arg-type, index]


def test_the_next_step_follows_the_study() -> None:
    state = _state((0.13, 0.07, 0.19))
    assert next_step(_status(state)).words == "Add labels to the budget", "too few labels for the allowed gap"
    state = _state((0.08, 0.02, 0.19), feasible=True)
    status = _status(state)
    assert next_step(status).page == "certificate"
    assert next_step(status, disagreements=3).page == "rows?view=inbox&disagree=true"
    assert next_step({**status, "complete": False, "labels": 40}).page == "label"
    assert next_step({**status, "audit": {"done": False, "size": 60, "labels": 20}}).page == "label"
    for verdict, words in {
        "certified": "Download the model",
        "undecided": "Audit with more labels",
        "refuted": "Add labels to the budget",
    }.items():
        state.certificates = [_certificate(verdict)]
        judged = _status(state)
        assert next_step(judged).words == words
        assert [s["state"] for s in steps(judged)][:3] == ["done"] * 3
        decided = "undecided" if verdict == "undecided" else "decided"
        assert steps(judged)[2]["words"] == f"{decided} with 90 labels"
        assert (steps(judged)[3]["state"] == "done") == (verdict == "certified")
        state.certificates = [_certificate(verdict, "cd")]
        assert next_step(_status(state)).words == "Start an audit"


def test_the_first_day_has_a_list(make: Callable[..., Study]) -> None:
    study = make()
    assert [item["done"] for item in story(study)["checklist"]] == [False] * 4
    study.change(guidelines="Repaid is good.")
    assert [item["done"] for item in story(study)["checklist"]] == [True, False, False, False]
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    assert story(study)["checklist"] == []


def test_the_story_of_a_study_moves_with_its_labels(study: Study, client: TestClient) -> None:
    assert client.get("/api/status").json()["advice"]["reason"].startswith("No labels yet")
    assert client.get("/api/story").json()["checklist"]
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    found = client.get("/api/story").json()
    assert study.status()["advice"]["case"] not in ("begin", "early")
    assert found["next"]["page"] != "label"
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
