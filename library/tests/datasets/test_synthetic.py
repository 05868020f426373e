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


@pytest.mark.parametrize("by_group", [False, True])
def test_standardising_moves_no_label(by_group):
    raw, scaled = make_synthetic(standardize=False), make_synthetic(by_group=by_group)
    np.testing.assert_array_equal(raw.y, scaled.y)
    parts = [scaled.groups == g for g in ("majority", "minority")] if by_group else [slice(None)]
    for part in parts:
        np.testing.assert_allclose(scaled.X[part].std(axis=0), 1)


def test_by_default_accuracy_is_one_half_plus_the_gap_for_any_classifier():
    data = make_synthetic(n_majority=20_000, n_minority=20_000)
    majority = data.groups == "majority"
    assert data.y[~majority].all()
    for cut, weights in ((0.0, (1.0, 0.0)), (0.7, (1.0, 1.0)), (-0.3, (-0.5, 1.0))):
        decided = data.X @ np.array(weights) > cut
        gap = decided[majority & (data.y == 1)].mean() - decided[~majority].mean()
        assert (decided == data.y)[majority].mean() == pytest.approx(0.5 + gap, abs=0.02)


def test_the_wide_variant_is_the_set_of_the_stored_results():
    wide = load("synthetic", variant="wide")
    np.testing.assert_array_equal(wide.X, make_synthetic(30.0, by_group=False).X)
    assert wide.variant == "wide"
