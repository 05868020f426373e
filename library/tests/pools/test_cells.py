import numpy as np
import pytest

from fairask.pools import Pool
from fairask.rules import ConstantRule, LinearRule


def rules(k, d=3, seed=0):
    return [LinearRule(beta) for beta in np.random.default_rng(seed).normal(size=(k, d + 1))]


@pytest.mark.parametrize("k", [2, 5, 24, 64])
def test_cells_hold_rows_of_one_group_and_one_pattern(k):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(400, 3)), rng.integers(3, size=400)
    available = rng.random(400) < 0.7
    chosen = rules(k)
    cells = Pool(X, groups, 3, available).by_prediction(chosen)
    predictions = np.array([rule.decide(X[available]) for rule in chosen])
    folded = predictions ^ predictions[0]
    assert cells.counts.sum() == available.sum()
    rows, of_row = cells.rows, cells.cell
    np.testing.assert_array_equal(rows, np.flatnonzero(available))
    np.testing.assert_array_equal(cells.patterns[:, of_row], folded)
    np.testing.assert_array_equal(cells.groups[of_row], groups[available])
    keys = {(int(g), *map(bool, p)) for g, p in zip(cells.groups, cells.patterns.T, strict=True)}
    assert len(keys) == len(cells.counts)


def test_locate_counts_ranks_in_row_order():
    X, groups = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]]), np.zeros(5, int)
    pool = Pool(X, groups, 1, np.array([True, True, True, False, True]))
    cells = pool.by_prediction([ConstantRule(True), LinearRule(np.array([1.0, 0.0]))])
    positive = int(np.flatnonzero(cells.counts == 3)[0])
    assert cells.locate(np.array([positive, positive]), np.array([2, 0])).tolist() == [4, 0]


def test_too_few_classifiers_are_refused():
    with pytest.raises(ValueError, match="2 to 64 classifiers are compared, got 1"):
        Pool(np.zeros((2, 3)), np.zeros(2, int), 1).by_prediction(rules(1))
