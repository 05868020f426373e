"""The pool in memory: cells of exchangeable rows, decisions, the lowest rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeClassifier

from fairask.matrix import tie_breakers, uniforms
from fairask.pools import Pool
from fairask.rules import ConstantRule, FittedRule, GroupLinearRule, LinearRule, RuleMixture, decide


def rules(k: int, d: int = 3, seed: int = 0) -> list[LinearRule]:
    return [LinearRule(beta) for beta in np.random.default_rng(seed).normal(size=(k, d + 1))]


@pytest.mark.parametrize("k", [2, 5, 24, 64])
def test_cells_hold_rows_of_one_group_and_one_pattern(k: int) -> None:
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


def test_locate_counts_ranks_in_row_order() -> None:
    X, groups = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]]), np.zeros(5, int)
    pool = Pool(X, groups, 1, np.array([True, True, True, False, True]))
    cells = pool.by_prediction([ConstantRule(True), LinearRule(np.array([1.0, 0.0]))])
    positive = int(np.flatnonzero(cells.counts == 3)[0])
    assert cells.locate(np.array([positive, positive]), np.array([2, 0])).tolist() == [4, 0]


def test_too_few_classifiers_are_refused() -> None:
    with pytest.raises(ValueError, match="2 to 64 classifiers are compared, got 1"):
        Pool(np.zeros((2, 3)), np.zeros(2, int), 1).by_prediction(rules(1))


def test_rules_of_any_kind_are_compared() -> None:
    rng = np.random.default_rng(1)
    X, groups = rng.standard_normal((900, 2)), rng.integers(0, 2, 900)
    tree = FittedRule(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, (X[:, 0] > 0).astype(int)))
    line, cuts = LinearRule(np.array([0.0, 1.0, 0.1])), np.array([-0.2, np.inf])
    chosen = [tree, ConstantRule(True), line, GroupLinearRule(line.beta, cuts)]
    cells = Pool(X, groups, 2).by_prediction(chosen)
    predicted = np.array([rule.decide(X, groups) for rule in chosen])
    np.testing.assert_array_equal(cells.patterns[:, cells.cell], predicted ^ predicted[0])


def test_a_sparse_pool_has_the_cells_of_its_dense_copy() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3)) * (rng.random((300, 3)) < 0.4)
    groups, chosen = rng.integers(2, size=300), rules(5)
    dense, sparse = (Pool(one, groups, 2).by_prediction(chosen) for one in (X, csr_array(X)))
    np.testing.assert_array_equal(dense.cell, sparse.cell)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.sampled_from(["float32", "float64"]))
def test_a_decision_does_not_depend_on_the_rows_around_it(seed: int, n: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    beta = rng.standard_normal((3, 8))
    X = rng.standard_normal((n, 7)).astype(dtype)
    # Rows on the boundary, as nearly as they can be stored, are where rounding decides.
    X[::2, 0] = (-(X[::2, 1:] @ beta[0, 1:7] + beta[0, 7]) / beta[0, 0]).astype(dtype)
    chosen = [LinearRule(b) for b in beta]
    whole = decide(chosen, X)
    alone = np.concatenate([decide(chosen, X[i : i + 1]) for i in range(n)], axis=1)
    assert (whole == alone).all()
    assert (whole == decide(chosen, np.asfortranarray(X))).all()


def test_excluded_rows_are_never_counted_or_found() -> None:
    rng = np.random.default_rng(0)
    pool = Pool(rng.normal(size=(600, 3)), rng.integers(3, size=600), 3)
    left = pool.excluding(rng.choice(600, 200, replace=False))
    assert (len(left), len(pool), left.X is pool.X) == (400, 600, True)
    for cells in (left.everything(), left.by_group(), left.by_prediction(rules(4))):
        which = np.repeat(np.arange(len(cells.counts)), cells.counts)
        ranks = np.concatenate([np.arange(c) for c in cells.counts])
        assert sorted(cells.locate(which, ranks).tolist()) == left.rows.tolist()


@pytest.mark.parametrize(
    ("bad", "message"), [([-1], "no row -1"), ([9], "no row 9"), ([0.5], "whole numbers")]
)
def test_rows_that_are_not_there_cannot_be_excluded(bad: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).excluding(bad)


def test_a_rank_beyond_its_cell_is_refused() -> None:
    cells = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group()
    with pytest.raises(ValueError, match="ranks must be"):
        cells.locate(np.array([1]), np.array([1]))


def _first_column(X: Any, groups: Any) -> Any:
    return np.abs(X[:, 0])


def test_the_lowest_rows_are_those_of_a_full_sort() -> None:
    X = np.random.default_rng(0).normal(size=(40_000, 1)).round(2)
    order = np.lexsort((tie_breakers(np.arange(len(X)), 3), np.abs(X[:, 0])))
    pool = Pool(X, np.zeros(len(X), int), 1)
    assert pool.lowest(_first_column, 700, 3).tolist() == order[:700].tolist()
    assert pool.excluding(order[:50]).lowest(_first_column, 700, 3).tolist() == order[50:750].tolist()


def test_ties_do_not_favour_the_top_of_the_table() -> None:
    pool = Pool(np.zeros((10_000, 1)), np.zeros(10_000, int), 1)
    found = pool.lowest(_first_column, 400, seed=1)
    assert 4500 < found.mean() < 5500
    assert found.tolist() != pool.lowest(_first_column, 400, seed=2).tolist()


def test_a_randomised_model_s_decisions_are_drawn_with_its_probabilities() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 3))
    mixture = RuleMixture()
    mixture.members_, mixture.weights_ = [*rules(2), ConstantRule(False)], np.array([0.6, 0.4, 0.0])
    cells = Pool(X, np.zeros(3000, int), 1).by_decision(mixture, seed=9)
    first, second = (rule.decide(X) for rule in mixture.members_[:2])
    drawn = cells.patterns[0][cells.cell]
    assert drawn[first & second].all()
    assert not drawn[~first & ~second].any()
    split = first & ~second
    assert (drawn[split] == (uniforms(np.flatnonzero(split), 9) < 0.6)).all()
    other = Pool(X, np.zeros(3000, int), 1).by_decision(mixture, seed=10)
    assert other.counts.tolist() != cells.counts.tolist()
