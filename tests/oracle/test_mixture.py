import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairask.oracle._program import _by_highs, best_mixture, best_single

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
