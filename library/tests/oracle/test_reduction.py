import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairask import EmpiricalFairOracle
from fairask.oracle.calibrated import PlugInLearner
from fairask.oracle.reduction import (
    FairnessMoments,
    _by_highs,
    best_mixture,
    best_of_many_groups,
    best_single,
    search,
)

numbers = st.integers(-10, 10).map(lambda i: i / 20)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20).map(lambda i: i / 20), numbers, numbers), min_size=1, max_size=9),
    st.sampled_from([1, 2]),
    st.sampled_from([0.0, 0.05, 0.2]),
)
def test_enumeration_agrees_with_highs(candidates, n_gaps, tolerance):
    errors = np.array([c[0] for c in candidates])
    signed = np.array([c[1 : 1 + n_gaps] for c in candidates])
    gaps = np.stack([signed, -signed], axis=2).reshape(len(errors), -1)
    ours, theirs = best_mixture(errors, gaps, tolerance), _by_highs(errors, gaps, tolerance)
    assert ours.bound == pytest.approx(theirs.bound, abs=1e-7)
    assert ours.weights.sum() == pytest.approx(1.0)
    assert (ours.weights >= 0).all()
    # The multipliers prove it: no candidate is cheaper at their prices.
    if ours.feasible:
        assert (errors + (gaps - tolerance) @ ours.multipliers).min() >= ours.bound - 1e-6


def test_a_single_candidate_is_the_most_accurate_within_the_tolerance():
    errors = np.array([0.1, 0.2, 0.3])
    gaps = np.array([[0.5, -0.5], [0.08, -0.08], [0.0, 0.0]])
    assert best_single(errors, gaps, 0.1).weights.argmax() == 1
    nothing = best_single(errors, gaps + 0.2, 0.1)
    assert not nothing.feasible


@pytest.mark.parametrize(("n_groups", "metric"), [(9, "tprp"), (12, "eo")])
@pytest.mark.parametrize("limit", [0.0, 0.05, 0.2])
def test_bounds_on_rates_give_the_optimum_of_all_pairs(n_groups: int, metric: str, limit: float) -> None:
    rng = np.random.default_rng(n_groups)
    groups, p = rng.integers(n_groups, size=400), rng.random(400)
    moments = FairnessMoments.soft(p, groups, n_groups, metric)
    moments.occupied[0, 3] = False  # a rate that is not known is not compared
    said = [p + 0.03 * (groups - 4) * (k % 3) > cut for k, cut in enumerate(np.linspace(-0.5, 1.5, 15))]
    rows = np.array(said, dtype=float)
    errors = np.array([moments.errors(one[None])[0] for one in rows])
    rates = np.array([moments.rates(one[None])[0] for one in rows])
    gaps = moments.gaps(rates, 0)
    pairs = best_mixture(errors, gaps, limit)
    many = best_of_many_groups(moments, 0, errors, rates, limit)
    assert many.error == pytest.approx(pairs.error, abs=1e-7)
    assert many.gap <= limit + 1e-7
    np.testing.assert_allclose(moments.largest_gaps(rates, 0), np.maximum(gaps.max(axis=1), 0), atol=1e-12)
    # The prices of pairs are a dual solution: no candidate is cheaper at them than the mixture.
    assert (many.multipliers >= 0).all()
    assert (errors + (gaps - limit) @ many.multipliers).min() == pytest.approx(many.bound, abs=1e-7)


@pytest.mark.parametrize("n_groups", [2, 4])
def test_a_search_that_begins_with_known_rules_is_as_good_and_fits_fewer(n_groups: int) -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(n_groups, size=600)
    p = 1 / (1 + np.exp(-rng.normal(size=600) - 0.6 * groups))
    seen = (np.tile(p[:, None], n_groups), np.eye(n_groups)[groups] * 0.8 + 0.2 / n_groups)
    learner = PlugInLearner(p, groups, seen, n_groups, "tprp")
    moments = FairnessMoments.soft(p, groups, n_groups, "tprp")
    first = search(moments, learner, 0.1)
    anew, after = search(moments, learner, 0.05), search(moments, learner, 0.05, known=first)
    assert after[0].mixture.gap <= 0.05 + 1e-7
    assert after[0].mixture.error <= anew[0].mixture.error + 1e-3
    assert after[0].fitted - first[0].fitted <= anew[0].fitted


def test_many_groups_are_solved_by_few_small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    groups = np.arange(500) % 50
    X = rng.normal(size=(500, 3)) + 0.02 * groups[:, None]
    y = (X[:, 0] + rng.normal(size=500) > 0.5).astype(int)
    sizes = []

    def counted(*given: object, **options: np.ndarray) -> object:
        sizes.append(options["A_ub"].shape[0])
        return linprog(*given, **options)

    monkeypatch.setattr("fairask.oracle.reduction.linprog", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        EmpiricalFairOracle(tolerance=0.3, random_state=0).fit(X, y, sensitive_features=groups)
    assert sizes
    assert max(sizes) <= 101  # two rows for each group, where 2,450 pairs were
    assert len(sizes) <= 60
