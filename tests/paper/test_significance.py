from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper import get_setup
from paper.significance import our_verdicts, paper_verdicts, significance_section
from paper.stats import holm, judge_means
from tests.paper.conftest import make_curves

PAPER_PROFILE = get_setup("paper")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_the_raw_and_the_bonferroni_value(p):
    raw = np.array(p)
    adjusted = holm(raw)
    assert (adjusted >= np.minimum(raw, 1.0)).all()
    assert (adjusted <= np.minimum(raw * len(raw), 1.0) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()


def test_few_verdicts_are_wrong_where_every_mean_is_at_the_limit():
    # Forty true means on the limit: the chance of any verdict at all is at most 5 %.
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(400):
        values = rng.normal(0.1, 0.05, size=(40, 20))
        errors = values.std(axis=1, ddof=1) / np.sqrt(20)
        found = judge_means(values.mean(axis=1), errors, np.full(40, 20), 0.1)
        wrong += any(v.verdict != "undecided" for v in found)
    assert wrong / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_a_family_makes_a_verdict_harder():
    one = judge_means(np.array([0.13]), np.array([0.012]), np.array([20]), 0.1)
    many = judge_means(np.full(40, 0.13), np.full(40, 0.012), np.full(40, 20), 0.1)
    assert one[0].verdict == "above"
    assert {v.verdict for v in many} == {"undecided"}


def test_one_trial_is_refused():
    with pytest.raises(ValueError, match=r"trials=\[1\] must all be 2 or more"):
        judge_means(np.array([0.2]), np.array([np.nan]), np.array([1]), 0.1)


def test_the_papers_rivals_exceed_the_tolerance_on_drug_and_compas_by_its_own_errors():
    found = {key for key, verdict in paper_verdicts(PAPER_PROFILE).items() if verdict.verdict == "above"}
    assert {("drug", "FAL"), ("drug", "FAL-CUR"), ("compas", "FAL"), ("compas", "FAL-CUR")} <= found
    assert not any(column == "FARE" for _, column in found)


def results(gap_of_fal):
    rng = np.random.default_rng(0)

    def curves(name, problem, mean):
        return make_curves(name, problem, (250,), np.full((20, 1), 0.8), rng.normal(mean, 0.01, (20, 1)))

    return {
        ("drug", "fare"): curves("fare", "drug", 0.05),
        ("drug", "fal-10"): curves("fal-10", "drug", gap_of_fal),
        ("drug", "fal-50"): curves("fal-50", "drug", gap_of_fal + 0.2),
    }


@pytest.mark.parametrize(("mean", "verdict"), [(0.3, "above"), (0.02, "within"), (0.1, "undecided")])
def test_the_best_share_is_judged(mean, verdict):
    found = our_verdicts(results(mean), PAPER_PROFILE)
    assert {key: name for key, (name, _) in found.items()} == {
        ("drug", "FARE"): "fare",
        ("drug", "FAL"): "fal-10",
    }
    assert found["drug", "FAL"][1].verdict == verdict


def test_a_verdict_opposite_to_the_papers_is_named():
    text = "\n".join(significance_section(results(0.02), PAPER_PROFILE))
    assert "FAL, 10% pretraining on Drug (within here, above in the paper)" in text
    assert "The rivals. Within it: FAL on Drug." in text
    assert "| Drug | FAL, 10% pretraining | 20 | 0.0" in text
    assert significance_section({}, PAPER_PROFILE) == []
