"""Whether labels suffice for the tolerance, in words."""

from __future__ import annotations

import pytest

from fairask.report.words import safety_sentence

FITTED = {
    "labels": 75, "feasible": True, "level": 0.95, "gap_low": 0.01, "gap_high": 0.09,
    "gap_limit": 0.08, "gap_by_labels": 0.5, "safety_cost": 0.004, "labels_needed": 75,
    "contradicted": False, "constant": False, "by_lot": 0.0,
}  # fmt: skip
INFEASIBLE = FITTED | {"feasible": False, "gap_limit": 0.45, "labels_needed": 1519}


def said(fitted: dict[str, object], rows: int | None = None) -> str:
    words = safety_sentence(fitted, 0.1, rows)
    assert words is not None
    return words


def test_there_is_nothing_to_say_of_a_safe_model_or_of_one_that_knows_no_error_of_its_own() -> None:
    assert safety_sentence(FITTED, 0.1) is None
    assert safety_sentence({"feasible": False, "gap": 0.4, "constant": False, "by_lot": 0.0}, 0.1) is None


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
    assert "the gap of this one is within 0.45. About 1,520 labels are needed." in words
    assert "within 0.45; that costs 2.5 points" in said(INFEASIBLE | {"safety_cost": 0.025})


@pytest.mark.parametrize(("rows", "beyond"), [(600, True), (1520, False), (None, False)])
def test_labels_that_the_pool_does_not_have_are_named(rows: int | None, beyond: bool) -> None:
    assert ("more than the pool's 600 rows" in said(INFEASIBLE, rows)) is beyond


def test_the_price_of_safety_is_said_with_the_labels_that_lower_it() -> None:
    costly = FITTED | {"safety_cost": 0.021, "labels_needed": 204}
    assert said(costly) == (
        "This model gives up 2.1 points of accuracy to have a gap within 0.1 with probability 0.95. With "
        "about 210 labels it would give up less."
    )
    assert said(costly | {"labels_needed": 75}).endswith("More labels would help.")


def test_labels_that_contradict_the_pool_ask_for_an_audit() -> None:
    words = said(FITTED | {"contradicted": True})
    assert words.startswith("The labels alone put the gap at 0.50, the pool puts it between 0.01 and 0.09:")
    assert "gap elsewhere" in said(FITTED | {"contradicted": True, "gap_by_labels": None})
    assert "Infeasible" in said(INFEASIBLE | {"contradicted": True})
    assert "audit" in said(INFEASIBLE | {"contradicted": True})


def test_a_group_that_labels_do_not_tell_of_is_the_reason_and_no_number_of_labels_is_named() -> None:
    words = said(INFEASIBLE | {"unseen": 1, "gap_limit": 0.93})
    assert "fewer than three of them tell of the rate of some group, so the gap may be up to 0.93" in words
    assert "labels are needed" not in words
