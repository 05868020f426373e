"""A threshold by group on calibrated probabilities, as cuts on a linear score."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairask.pools.codes import decisions
from fairask.rules import GroupLinearRule, LinearProbability, PlugInRule, Scaling

number = st.floats(-3.0, 3.0)


@given(st.lists(number, min_size=2, max_size=2), st.lists(number, min_size=2, max_size=2), st.integers(0, 99))
def test_cuts_decide_as_the_costs_do(intercept: list[float], slope: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = LinearProbability(
        np.append(rng.normal(size=4), 0.0), Scaling(rng.uniform(0.2, 2.0, 2), rng.normal(size=2))
    )
    rule = PlugInRule(np.array(intercept), np.array(slope), model)
    X, groups = rng.normal(size=(200, 4)), rng.integers(2, size=200)
    costs = rule.costs(model.proba(X, groups), groups)
    fast = rule.for_blocks()
    if ((rule.slope >= 0) & (rule.intercept < 0)).any():
        assert fast is rule  # below a cut, not above: no such form
    else:
        assert isinstance(fast, GroupLinearRule)
    clear = np.abs(costs) > 1e-9
    found = decisions([fast], X, groups)[0]
    np.testing.assert_array_equal(found[clear], (costs < 0)[clear])


def test_single_precision_and_any_block_decide_alike() -> None:
    rng = np.random.default_rng(0)
    rules = [GroupLinearRule(rng.normal(size=6), np.array([-0.3, np.inf, 0.4])) for _ in range(3)]
    X, groups = rng.normal(size=(5000, 5)).astype(np.float32), rng.integers(3, size=5000)
    whole = decisions(rules, X, groups)
    parts = [decisions(rules, X[i : i + 700], groups[i : i + 700]) for i in range(0, 5000, 700)]
    np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))
    assert not whole[:, groups == 1].any()
    exact = np.array([rule.decide(X.astype(np.float64), groups) for rule in rules])
    assert (whole != exact).mean() < 1e-3
