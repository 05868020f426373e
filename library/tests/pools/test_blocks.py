"""Counting and finding rows block by block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from fairask.matrix import nth_left, tie_breakers
from fairask.pools import Pool
from fairask.pools.codes import decisions, pattern_codes
from fairask.rules import ConstantRule, FittedRule, LinearRule


def linear_rules(k: int, d: int, seed: int = 0) -> list[LinearRule]:
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal(d + 1)
    return [LinearRule(centre + 0.4 * rng.standard_normal(d + 1)) for _ in range(k)]


def brute_force(rules: Any, X: Any, groups: Any, available: Any) -> dict[Any, list[int]]:
    """Rows of each cell, by the definition."""
    predicted = np.array([[rule.decide(X[i : i + 1])[0] for i in range(len(X))] for rule in rules])
    cells: dict[Any, list[int]] = {}
    for i in np.flatnonzero(available):
        pattern = tuple((predicted[:, i] ^ predicted[0, i]).tolist())
        cells.setdefault((int(groups[i]), pattern), []).append(int(i))
    return cells


@pytest.mark.parametrize("k", [2, 9, 10, 18, 34, 64])
def test_cells_are_those_of_the_definition(k: int, small_blocks: None) -> None:
    rng = np.random.default_rng(k)
    X, groups = rng.standard_normal((1500, 4)), rng.integers(0, 2, 1500)
    available = rng.random(1500) < 0.9
    rules = linear_rules(k, 4)
    cells = Pool(X, groups, 2, available).by_prediction(rules)
    expected = brute_force(rules, X, groups, available)
    assert cells.counts.sum() == available.sum()
    assert len(cells.counts) == len(expected)
    for c in range(len(cells.counts)):
        members = expected[int(cells.groups[c]), tuple(cells.patterns[:, c].tolist())]
        assert cells.counts[c] == len(members)
        ranks = np.arange(len(members))
        assert cells.locate(np.full(len(members), c), ranks).tolist() == members


def test_rules_of_any_kind_are_compared(small_blocks: None) -> None:
    rng = np.random.default_rng(1)
    X, groups = rng.standard_normal((900, 2)), rng.integers(0, 2, 900)
    tree = FittedRule(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, (X[:, 0] > 0).astype(int)))
    rules = [tree, ConstantRule(True), LinearRule(np.array([0.0, 1.0, 0.1]))]
    cells = Pool(X, groups, 2).by_prediction(rules)
    expected = brute_force(rules, X, groups, np.ones(900, bool))
    assert sorted(cells.counts.tolist()) == sorted(len(m) for m in expected.values())


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.sampled_from(["float32", "float64"]))
def test_a_decision_does_not_depend_on_the_rows_around_it(seed: int, n: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    beta = rng.standard_normal((3, 8))
    X = rng.standard_normal((n, 7)).astype(dtype)
    # Rows on the boundary, as nearly as they can be stored, are where rounding decides.
    X[::2, 0] = (-(X[::2, 1:] @ beta[0, 1:7] + beta[0, 7]) / beta[0, 0]).astype(dtype)
    rules = [LinearRule(b) for b in beta]
    whole = decisions(rules, X)
    alone = np.concatenate([decisions(rules, X[i : i + 1]) for i in range(n)], axis=1)
    columns = decisions(rules, np.asfortranarray(X))
    assert (whole == alone).all()
    assert (whole == columns).all()


@pytest.mark.parametrize(
    ("k", "dtype"), [(2, "u1"), (9, "u1"), (10, "u2"), (17, "u2"), (18, "u4"), (64, "u8")]
)
def test_codes_take_as_few_bytes_as_they_can(k: int, dtype: str) -> None:
    assert pattern_codes([ConstantRule(False)] * k, np.zeros((3, 1))).dtype == np.dtype(dtype)


@pytest.mark.parametrize("k", [1, 65])
def test_too_few_or_too_many_classifiers_are_refused(k: int) -> None:
    pool = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2)
    with pytest.raises(ValueError, match="2 to 64 classifiers"):
        pool.by_prediction([ConstantRule(False)] * k)


def test_excluded_rows_are_never_counted_or_found(pools: Mapping[str, Any], rows: Any) -> None:
    X, _, _ = rows
    out = np.random.default_rng(0).choice(len(X), 500, replace=False)
    rules = linear_rules(4, X.shape[1])
    for name, pool in pools.items():
        left = pool.excluding(out)
        assert len(left) == len(X) - 500, name
        for cells in (left.everything(), left.by_group(), left.by_prediction(rules)):
            assert cells.counts.sum() == len(left)
            which = np.repeat(np.arange(len(cells.counts)), cells.counts)
            ranks = np.concatenate([np.arange(c) for c in cells.counts])
            assert sorted(cells.locate(which, ranks).tolist()) == left.rows.tolist()
        assert len(pool) == len(X)


def test_excluding_copies_no_row(rows: Any) -> None:
    X, groups, _ = rows
    pool = Pool(X, groups, 3)
    assert pool.excluding([1, 2]).X is X
    assert pool.excluding([1, 2]).excluded.nbytes == 16


@pytest.mark.parametrize(
    ("bad", "message"), [([-1], "no row -1"), ([9], "no row 9"), ([0.5], "whole numbers")]
)
def test_rows_that_are_not_there_cannot_be_excluded(bad: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).excluding(bad)


@given(st.sets(st.integers(0, 60)), st.integers(0, 20))
def test_the_nth_row_left_is_that_of_a_list(out: set[int], rank: int) -> None:
    left = [i for i in range(200) if i not in out]
    assert nth_left(np.array(sorted(out), dtype=np.int64), np.array([rank])).tolist() == [left[rank]]


def test_a_rank_beyond_its_cell_is_refused() -> None:
    cells = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group()
    with pytest.raises(ValueError, match="ranks must be"):
        cells.locate(np.array([1]), np.array([1]))


def test_the_lowest_rows_are_those_of_a_full_sort(pools: Mapping[str, Any], rows: Any) -> None:
    X, _, _ = rows
    score = np.abs(X[:, 0])
    order = np.lexsort((tie_breakers(np.arange(len(X)), 3), score.astype(np.float64)))
    for name, pool in pools.items():
        assert pool.lowest(_first_column, 700, 3).tolist() == order[:700].tolist(), name
        out = pool.excluding(order[:50])
        assert out.lowest(_first_column, 700, 3).tolist() == order[50:750].tolist(), name


def test_ties_do_not_favour_the_top_of_the_table() -> None:
    pool = Pool(np.zeros((10_000, 1)), np.zeros(10_000, int), 1)
    found = pool.lowest(_first_column, 400, seed=1)
    assert 4500 < found.mean() < 5500
    assert found.tolist() != pool.lowest(_first_column, 400, seed=2).tolist()


def _first_column(X: Any, groups: Any) -> Any:
    return np.abs(X[:, 0]).astype(np.float64)


def test_threads_change_nothing(rows: Any, small_blocks: None) -> None:
    X, groups, _ = rows
    rules = linear_rules(6, X.shape[1])
    one, four = (Pool(X, groups, 3, workers=w).by_prediction(rules) for w in (1, 4))
    assert one.counts.tolist() == four.counts.tolist()
    with pytest.raises(ValueError, match="workers=0"):
        Pool(X, groups, 3, workers=0)


def test_rows_are_found_alike_whether_keys_were_kept_or_not(
    pools: Mapping[str, Any], rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = linear_rules(5, rows[0].shape[1])
    for name, pool in pools.items():
        left = pool.excluding(np.arange(0, 3000, 9))
        found = []
        for bytes_ in (0, 1 << 28):
            monkeypatch.setattr("fairask.pools.base.MOST_KEPT", bytes_)
            cells = left.by_prediction(rules)
            which = np.repeat(np.arange(len(cells.counts)), np.minimum(cells.counts, 3))
            ranks = np.concatenate([np.arange(min(c, 3)) for c in cells.counts])
            found.append(cells.locate(which, ranks).tolist())
        assert found[0] == found[1], name


def test_blas_gets_its_threads_back_after_passes_that_overlap() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    from fairask.blas import single_blas

    def threads() -> set[int]:
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        with single_blas:
            with single_blas:
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == before
