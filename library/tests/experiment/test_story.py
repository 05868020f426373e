from __future__ import annotations

import numpy as np
import pytest

from fairask.experiment.comparison import label_saving, labels_that_suffice, over_trials
from fairask.report.words import Beside, Guess, Outcome, leaks_sentence, stop_sentence

FAIR = Outcome(Guess(0.84), Guess(0.05))


def beside(plain: Outcome | None, constant: float = 0.7, model: Outcome = FAIR) -> Beside:
    return Beside(model, plain, constant, "passed", 0.1, 300)


@pytest.mark.parametrize(
    ("plain", "constant", "case", "words"),
    [
        (Outcome(Guess(0.86), Guess(0.40)), 0.7, "unfair", "unfair here: gap 0.40. "),
        (Outcome(Guess(0.84), Guess(0.04)), 0.7, "fair already", "already within the tolerance"),
        (Outcome(Guess(0.84), Guess(0.11, 0.05, 0.17)), 0.7, "unsure", "gap 0.11 (0.05 to 0.17)"),
        (Outcome(Guess(0.86), Guess(0.40)), 0.838, "no better", "always answering 'passed'"),
        (Outcome(Guess(0.86), None), 0.7, "unknown", "too few labels"),
        (None, 0.7, "unknown", "too few labels"),
    ],
)
def test_each_case_has_its_sentence(plain: Outcome | None, constant: float, case: str, words: str) -> None:
    said = beside(plain, constant)
    assert said.case == case
    assert words in said.sentence()


def test_the_price_of_fairness_is_said_whichever_way_it_goes() -> None:
    unfair = Guess(0.4)
    assert "gives up 2.0 points" in beside(Outcome(Guess(0.86), unfair)).sentence()
    assert "2.0 points more accurate" in beside(Outcome(Guess(0.82), unfair)).sentence()
    assert "is as accurate" in beside(Outcome(Guess(0.842), unfair)).sentence()


def test_a_fair_model_that_is_above_the_tolerance_is_not_praised() -> None:
    bad = Outcome(Guess(0.84), Guess(0.2))
    assert (
        "gap 0.20, above the tolerance of 0.1,"
        in beside(Outcome(Guess(0.9), Guess(0.4)), 0.7, bad).sentence()
    )


def test_a_gap_that_may_be_above_the_tolerance_is_not_called_above() -> None:
    plain = Outcome(Guess(0.84), Guess(0.01, 0.0, 0.3))

    def said(low: float, high: float) -> str:
        return beside(plain, 0.7, Outcome(Guess(0.84), Guess(0.21, low, high))).sentence()

    assert "gap 0.21 (0.00 to 0.46), which may be above the tolerance of 0.1, and is" in said(0.0, 0.46)
    assert "gap 0.21 (0.15 to 0.27), above the tolerance of 0.1, and is" in said(0.15, 0.27)
    sure = beside(plain, 0.7, Outcome(Guess(0.84), Guess(0.05, 0.02, 0.08))).sentence()
    assert "The fair model has gap 0.05 (0.02 to 0.08) and is as accurate" in sure


def test_one_good_round_is_no_plateau() -> None:
    labels, fair = np.arange(100, 800, 100), np.zeros((1, 7))
    rising = np.array([[0.70, 0.72, 0.74, 0.76, 0.78, 0.80, 0.82]])
    assert labels_that_suffice(labels, rising, fair, 0.1).labels is None
    back = np.array([[0.70, 0.82, 0.74, 0.82, 0.82, 0.82, 0.82]])
    assert labels_that_suffice(labels, back, fair, 0.1).labels == 400
    unfair = np.array([[0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0]])
    assert labels_that_suffice(labels, back, unfair, 0.1).labels is None


@pytest.mark.parametrize("gap", [0.02, 0.4])
def test_one_run_decides_nothing(gap: float) -> None:
    said = beside(Outcome(over_trials([0.86]), over_trials([gap])))
    assert said.case == "unsure"
    assert f"gap {gap:.2f} (one run: no interval; use --trials 10)" in said.sentence()
    curve = np.array([[0.7, 0.8]])
    saved = label_saving(50, np.array([0.7]), np.array([50, 150]), curve, np.zeros((1, 2)), 0.1)
    said = saved.sentence("FARE", 0.7)
    assert said.startswith("Rows drawn at random need 50 labels (one run: no interval) for FARE's accuracy")
    assert said.endswith(": FARE saves none here.")


def test_few_runs_have_wider_limits_than_two_standard_errors() -> None:
    # Student's t with one degree of freedom is 12.7; a share is at most 1.
    assert over_trials([0.02, 0.04]).high == pytest.approx(0.03 + 12.706 * 0.01, abs=1e-4)
    assert over_trials([0.1, 0.5]).high == 1.0
    many = over_trials(np.tile([0.1, 0.3], 500))
    assert many.high - many.value == pytest.approx(2 * 0.1 / 1000**0.5, rel=0.05)


def test_an_interval_of_several_runs_is_said_though_they_agree() -> None:
    curve = np.array([[0.7, 0.8]] * 3)
    saved = label_saving(50, np.full(3, 0.7), np.array([50, 150]), curve, np.zeros((3, 2)), 0.1)
    assert "(90 % interval: 50 to 50)" in saved.sentence("FARE", 0.7)


@pytest.mark.parametrize(
    ("accuracy", "gaps", "why", "words"),
    [
        ([0.70, 0.75, 0.80, 0.85], [0, 0, 0, 0], "rises", "accuracy still rises"),
        ([0.80, 0.80, 0.78, 0.75], [0, 0, 0, 0], "falls", "accuracy falls"),
        ([0.80, 0.80, 0.75, 0.80], [0, 0, 0, 0], "changes", "accuracy still goes up and down"),
        ([0.80, 0.80, 0.80, 0.80], [0, 0, 0.3, 0], "late gap", "within the tolerance only at the end"),
        ([0.80, 0.80, 0.80, 0.80], [0, 0, 0, 0.3], "gap", "the mean gap is 0.30"),
        ([0.80, 0.80, 0.80, 0.80], [0.3, 0, 0, 0], "flat", "About 50 labels suffice"),
        ([0.80], [0], "one round", "One round only: how many labels suffice is not known."),
        ([0.80], [0.3], "gap", "the mean gap is 0.30"),
    ],
)
def test_the_reason_why_no_number_suffices_is_the_one_of_the_curve(
    accuracy: list[float], gaps: list[float], why: str, words: str
) -> None:
    labels = 25 * np.arange(1, len(accuracy) + 1)
    found = labels_that_suffice(labels, np.array([accuracy]), np.array([gaps]), 0.1)
    assert found.why == why
    assert words in found.sentence()


def test_two_late_rounds_tell_nothing() -> None:
    labels, curve = np.array([90, 100]), np.array([[0.8, 0.8]])
    assert labels_that_suffice(labels, curve, np.zeros((1, 2)), 0.1).why == "few rounds"
    assert labels_that_suffice(labels, curve, np.array([[0.3, 0.0]]), 0.1).why == "late gap"


def test_savings_have_limits_that_hold_the_estimate_and_narrow_with_trials() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(50, 450, 50)

    def width(trials: int) -> float:
        curve = 0.6 + 0.0005 * labels + rng.normal(0, 0.02, (trials, 1))
        goal = curve[:, 3] + rng.normal(0, 0.02, trials)
        saved = label_saving(100, goal, labels, curve, np.zeros(curve.shape), 0.1)
        assert saved.low <= saved.needed <= saved.high
        return saved.high - saved.low

    assert width(400) < width(10)


def test_a_rule_that_never_fires_says_so() -> None:
    assert "never fired within 700 labels (2 runs)" in stop_sentence("FARE", [None, None], 700)
    # A run that goes past the budget counts as one in which the rule did not fire.
    assert "never fired" in stop_sentence("passive", [900], 700)


def test_several_leaking_columns_are_all_named() -> None:
    said = leaks_sentence({"a": 0.99, "b": 1.0})
    assert "'a', 'b'" in said
    assert said.endswith("If not, --drop a,b leaves them out.")
    assert "--drop 'closed on' leaves it out" in leaks_sentence({"closed on": 1.0})


def test_a_fair_model_of_one_run_has_no_interval_either() -> None:
    once = Outcome(over_trials([0.84]), over_trials([0.05]))
    words = beside(Outcome(Guess(0.86), Guess(0.40)), model=once).sentence()
    assert "The fair model has gap 0.05 (one run: no interval; use --trials 10)" in words
    assert "inf" not in words
