"""Whether labels suffice for the tolerance, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairask.report.words import Beside, Guess, Outcome, allowed_sentence, safety_sentence

FITTED = {
    "labels": 75, "feasible": True, "level": 0.95, "gap_low": 0.01, "gap_high": 0.09,
    "gap_by_labels": 0.5, "safety_cost": 0.004, "needed_low": None, "needed_high": None,
    "contradicted": False, "constant": False, "by_lot": 0.0,
}  # fmt: skip
INFEASIBLE = FITTED | {"feasible": False, "gap_high": 0.45, "needed_low": 800, "needed_high": 1600}


def said(fitted: dict[str, object], rows: int | None = None) -> str:
    words = safety_sentence(fitted, 0.1, rows)
    assert words is not None
    return words


def test_there_is_nothing_to_say_of_a_safe_model_or_of_one_that_knows_no_error_of_its_own() -> None:
    assert safety_sentence(FITTED, 0.1) is None
    assert safety_sentence({"feasible": False, "gap": 0.4, "constant": False, "by_lot": 0.0}, 0.1) is None


def test_where_the_labels_needed_are_not_known_no_number_is_named() -> None:
    words = said(INFEASIBLE | {"needed_low": float("nan"), "needed_high": float("nan")})
    assert "How many labels are needed is not known yet." in words
    constant = said(FITTED | {"constant": True})  # nothing is of use, and nothing tells what would be
    assert constant.endswith("More labels or other features would help.")


def test_what_labels_alone_say_does_not_contradict_the_verdict_of_labels_and_pool() -> None:
    gap = Guess(0.1, 0.0, 0.25)
    known = Outcome(Guess(0.8, 0.7, 0.9), gap)
    beside = Beside(known, Outcome(Guess(0.81), Guess(0.2, 0.15, 0.25)), 0.6, "no", 0.1, 150, level=0.95)
    assert "(0.00 to 0.25) by labels alone, within 0.1 with probability 0.95" in beside.sentence()
    assert "may be above" not in beside.sentence()
    assert "may be above" in replace(beside, level=None).sentence()
    assert "with probability 0.95" in allowed_sentence(gap, 0.1, FITTED)
    assert allowed_sentence(gap, 0.1, INFEASIBLE) == "Too few labels to be sure."
    assert "by labels and pool together that is not sure" in allowed_sentence(Guess(0.04), 0.1, INFEASIBLE)
    assert "By these labels it is within" in allowed_sentence(Guess(0.04), 0.1, FITTED)


def test_lots_and_a_constant_answer_are_named_whatever_else_is_said() -> None:
    lots = "About 46 of 100 rows are decided by lot: such a row may get either answer."
    assert said(FITTED | {"by_lot": 0.46}) == lots
    assert said(INFEASIBLE | {"by_lot": 0.46}).startswith(f"{lots} Infeasible")
    assert said({"by_lot": 0.46, "constant": False}) == lots  # the paper's oracle
    same = "This model answers the same for everybody, which is fair and of no use."
    assert said(INFEASIBLE | {"constant": True}).startswith(f"{same} Infeasible")


def test_an_infeasible_tolerance_names_what_is_reached_and_the_labels_needed() -> None:
    words = said(INFEASIBLE)
    assert "Infeasible with these 75 labels" in words
    assert "within 0.1 with probability 0.95" in words
    assert "the gap of this one is within 0.45. About 800 to 1,600 labels are needed." in words
    assert "within 0.45; to be so sure costs 2.5 points" in said(INFEASIBLE | {"safety_cost": 0.025})
    assert said(INFEASIBLE | {"cost_of_safe": 0.042}).endswith("gap within 0.1 costs 4.2 points of accuracy.")
    assert said(INFEASIBLE | {"cost_of_safe": float("nan")}) == words
    # In the studio an estimate stands beside it, and names the gap.
    points = safety_sentence(INFEASIBLE, 0.1, in_points=True)
    assert points is not None
    assert "within 10 points with probability 0.95. About 800" in points
    assert "0.45" not in points


@pytest.mark.parametrize(("rows", "beyond"), [(600, True), (900, False), (None, False)])
def test_labels_that_the_pool_does_not_have_are_named(rows: int | None, beyond: bool) -> None:
    assert ("more than the pool's 600 rows" in said(INFEASIBLE, rows)) is beyond


def test_the_price_of_safety_is_said() -> None:
    costly = FITTED | {"safety_cost": 0.021}
    assert said(costly) == (
        "To be sure of a gap within 0.1 with probability 0.95, and not only in the mean, costs 2.1 points of "
        "accuracy. With more labels it would cost less."
    )


def test_labels_that_contradict_the_pool_ask_for_an_audit() -> None:
    words = said(FITTED | {"contradicted": True})
    assert words.startswith("The labels alone put the gap at 0.50, the pool puts it between 0.01 and 0.09:")
    assert "gap elsewhere" in said(FITTED | {"contradicted": True, "gap_by_labels": None})
    assert "Infeasible" in said(INFEASIBLE | {"contradicted": True})
    assert "audit" in said(INFEASIBLE | {"contradicted": True})


def test_a_group_that_labels_do_not_tell_of_is_the_reason_and_no_number_of_labels_is_named() -> None:
    words = said(INFEASIBLE | {"unseen": 1, "gap_high": 0.93})
    assert "fewer than three of them tell of the rate of some group, so the gap may be up to 0.93" in words
    assert "labels are needed" not in words
