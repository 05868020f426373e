"""The generated set follows its definition and its seed."""

from __future__ import annotations

import numpy as np
import pytest

from fairask.datasets import load, make_synthetic


def test_labels_follow_one_coordinate_in_each_group():
    data = make_synthetic(standardize=False)
    majority = data.groups == "majority"
    assert (majority.sum(), (~majority).sum()) == (10_000, 100)
    np.testing.assert_array_equal(data.y[majority], data.X[majority, 0] > 0)
    np.testing.assert_array_equal(data.y[~majority], data.X[~majority, 1] > 0)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_spread_is_the_standard_deviation_around_the_two_centres(spread):
    data = make_synthetic(spread=spread, n_minority=10_000, standardize=False)
    for group, centre in (("majority", 0), ("minority", 10)):
        X = data.X[data.groups == group]
        # Six standard errors.
        np.testing.assert_allclose(X.mean(axis=0), centre, atol=0.06 * spread)
        np.testing.assert_allclose(X.std(axis=0), spread, rtol=0.05)


def test_the_seed_decides():
    first, again, other = make_synthetic(), load("synthetic"), make_synthetic(random_state=1)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_standardising_moves_no_label():
    raw, scaled = make_synthetic(standardize=False), make_synthetic()
    np.testing.assert_array_equal(raw.y, scaled.y)
    np.testing.assert_allclose(scaled.X.std(axis=0), 1)
