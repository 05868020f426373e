"""The bounds that the library's are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from fairask.audit import certify
from fairask.audit.bounds.methods import pairs
from fairask.metrics import group_gap
from paper.bounds import METHODS, Sample, betting_upper


def rows(n: int = 600, groups: int = 2, seed: int = 0):
    rng = np.random.default_rng(seed)
    y, codes = rng.integers(0, 2, n), rng.integers(0, groups, n)
    return y.astype(float), np.where(rng.random(n) < 0.85, y, 1 - y).astype(float), codes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("conditions", [(1,), (0,), (1, 0), (None,)])
def test_bounds_lie_around_the_gap_measured(method, conditions):
    y, pred, codes = rows()
    metric = {(1,): "tprp", (0,): "fprp", (1, 0): "eo", (None,): "dp"}[conditions]
    low, high = METHODS[method](Sample(2, codes, y, pred), conditions, 0.05)
    assert 0 <= low <= group_gap(y, pred, codes, metric) <= high <= 1


def test_equal_weights_make_hajek_nearly_newcombe():
    y, pred, codes = rows(2000)
    _, high = METHODS["hajek"](Sample(2, codes, y, pred), (1,), 0.05)
    assert high == pytest.approx(certify(y, pred, codes, method="newcombe").upper, abs=2e-3)


def test_betting_on_draws_of_a_pool_uses_propensities():
    y, pred, codes = rows(3000)
    order = np.random.default_rng(2).permutation(3000)[:2000]
    q = 1 / (3000 - np.arange(2000))
    drawn = Sample(2, codes[order], y[order], pred[order], q, 3000, 1 / 3000)
    _, high = METHODS["betting"](drawn, (1,), 0.05)
    assert group_gap(y, pred, codes) <= high < 0.3
    with pytest.raises(ValueError, match="pool_size"):
        METHODS["betting"](Sample(2, codes[order], y[order], pred[order], q), (1,), 0.05)


def test_the_bound_by_betting_on_a_family_is_the_largest_of_its_members():
    rng = np.random.default_rng(4)
    codes, y = rng.integers(0, 3, 600), rng.integers(0, 2, 600).astype(float)
    pred = np.where(rng.random(600) < 0.9 - 0.35 * (codes == 2), y, 1 - y)
    sample = Sample(3, codes, y, pred)
    members = [(label, a, b) for label in (1, 0) for a, b in pairs(3)]
    low, high = METHODS["betting"](sample, (1, 0), 0.05)
    assert high == pytest.approx(max(betting_upper(sample, *m, 0.05) for m in members), abs=2e-3)
    least = max(0.0, *(-betting_upper(sample, *m, 0.05 / 12) for m in members))
    assert low == pytest.approx(least, abs=2e-3)
