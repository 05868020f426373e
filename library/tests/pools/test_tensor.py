"""Tensors: decisions near a cut, half precision, and what is refused (draws: test_same_draws.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fairask.errors import UserError
from fairask.pools import MemoryPool, TensorPool, open_pool
from fairask.pools.scores import DistanceToHalf
from fairask.rules import ConstantRule, GroupLinearRule, LinearRule


def rows_on_cuts(n: int, d: int, seed: int) -> tuple[Any, Any, list[Any]]:
    """Rows whose scores are, as nearly as they can be stored, on the cut of the first rule."""
    rng = np.random.default_rng(seed)
    beta = rng.standard_normal((4, d + 1))
    X = rng.standard_normal((n, d)).astype(np.float32)
    X[::2, 0] = (-(X[::2, 1:] @ beta[0, 1:d] + beta[0, d]) / beta[0, 0]).astype(np.float32)
    X[::5] = 0.0  # with an intercept of zero, exactly on the cut
    beta[1, d] = 0.0
    cuts = np.array([0.2, -0.3])
    return X, rng.integers(0, 2, n), [*map(LinearRule, beta), GroupLinearRule(beta[0], cuts)]


def same_cells(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.groups, b.groups)
    np.testing.assert_array_equal(a.patterns, b.patterns)
    for one, other in zip(a.unfold(), b.unfold(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("doubles", [True, False], ids=["doubles", "no doubles"])
@pytest.mark.parametrize("rules", [slice(0, 4), slice(0, 5)], ids=["one cut", "cuts by group"])
def test_rows_on_a_cut_are_decided_as_everywhere(doubles: bool, rules: slice, small_blocks: None) -> None:
    X, groups, found = rows_on_cuts(2000, 7, seed=3)
    pool = open_pool(torch.from_numpy(X), torch.from_numpy(groups))
    pool._source.doubles = doubles  # type: ignore[attr-defined]
    same_cells(pool.by_prediction(found[rules]), MemoryPool(X, groups, 2).by_prediction(found[rules]))


def test_single_precision_alone_would_decide_some_of_these_rows_otherwise() -> None:
    X, _, rules = rows_on_cuts(2000, 7, seed=3)
    beta = torch.from_numpy(rules[0].beta.astype(np.float32))
    plain = (torch.from_numpy(X) @ beta[:-1] > -beta[-1]).numpy()
    exact = X.astype(np.float64) @ rules[0].beta[:-1] + rules[0].beta[-1] > 0
    assert (plain != exact).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_a_way_to_store_and_not_to_count(dtype: Any, small_blocks: None) -> None:
    X, groups, rules = rows_on_cuts(1500, 6, seed=1)
    stored = torch.from_numpy(X).to(dtype)
    rounded = stored.float().numpy()
    pool, same = open_pool(stored, groups), MemoryPool(rounded, groups, 2)
    same_cells(pool.by_prediction(rules), same.by_prediction(rules))
    np.testing.assert_array_equal(pool.take([3, 1]), rounded[[3, 1]])
    assert pool.take([3]).dtype == np.float32


@pytest.mark.parametrize("k", [2, 17, 33, 64])
def test_many_rules_are_counted_alike(k: int, small_blocks: None) -> None:
    rng = np.random.default_rng(k)
    X, groups = rng.standard_normal((1200, 4)).astype(np.float32), rng.integers(0, 3, 1200)
    rules = [LinearRule(rng.standard_normal(5)) for _ in range(k)]
    out = np.arange(0, 1200, 7)
    pool, same = open_pool(torch.from_numpy(X), groups).excluding(out), MemoryPool(X, groups, 3)
    same_cells(pool.by_prediction(rules), same.excluding(out).by_prediction(rules))


def test_rules_that_are_not_linear_are_asked_block_by_block(small_blocks: None) -> None:
    X, groups, rules = rows_on_cuts(900, 3, seed=2)
    mixed = [rules[0], ConstantRule(True)]
    same_cells(
        open_pool(torch.from_numpy(X), groups).by_prediction(mixed),
        MemoryPool(X, groups, 2).by_prediction(mixed),
    )


@pytest.mark.parametrize("doubles", [True, False], ids=["doubles", "no doubles"])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_the_least_certain_rows_are_those_of_an_array(
    doubles: bool, scale: float, small_blocks: None
) -> None:
    X, groups, rules = rows_on_cuts(1500, 5, seed=4)
    X *= np.float32(scale)
    score = DistanceToHalf([rules[0], rules[4]], [0.3, 0.7])
    pool = open_pool(torch.from_numpy(X), groups)
    pool._source.doubles = doubles  # type: ignore[attr-defined]
    out = np.arange(0, 1500, 4)
    expected = MemoryPool(X, groups, 2).excluding(out).lowest(score, 300, 9)
    assert pool.excluding(out).lowest(score, 300, 9).tolist() == expected.tolist()


def test_a_product_in_reduced_precision_is_switched_off_and_on_again() -> None:
    X, groups, rules = rows_on_cuts(50, 3, seed=2)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        open_pool(torch.from_numpy(X), groups).by_prediction(rules)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_groups_are_coded_alike_as_tensors_and_as_arrays() -> None:
    X = torch.zeros(4, 1)
    for given in ([7, -2, 7, 300_000], [False, True, True, False], [2, 0, 1, 1]):
        by_array, by_tensor = TensorPool(X, given), TensorPool(X, torch.tensor(given))
        assert by_array.group_values == by_tensor.group_values
        assert by_array.groups_of(range(4)).tolist() == by_tensor.groups_of(range(4)).tolist()


def test_the_fingerprint_changes_with_any_value() -> None:
    X = torch.arange(12.0).reshape(4, 3)
    prints = [TensorPool(X, [0, 1, 0, 1]).fingerprint(), TensorPool(X, [0, 1, 1, 0]).fingerprint()]
    swapped = X[[1, 0, 2, 3]]
    other = X.clone()
    other[3, 2] += 1
    prints += [TensorPool(given, [0, 1, 0, 1]).fingerprint() for given in (swapped, other, X.half())]
    assert len(set(prints)) == 5
    assert TensorPool(X.clone(), [0, 1, 0, 1]).fingerprint() == prints[0]


def test_a_pool_of_a_tensor_becomes_one_of_arrays() -> None:
    X, groups, rules = rows_on_cuts(300, 3, seed=2)
    pool = open_pool(torch.from_numpy(X), groups).excluding([4])
    same_cells(pool.in_memory().by_prediction(rules), pool.by_prediction(rules))


@pytest.mark.parametrize(
    ("X", "groups", "message"),
    [
        (torch.zeros(3), [0, 1, 0], "has shape"),
        (torch.zeros(3, 1, dtype=torch.float64), [0, 1, 0], "float32, float16 or bfloat16"),
        (torch.zeros(3, 1), [0, 1], "2 rows"),
        (torch.zeros(0, 1), [], "no rows"),
        (torch.tensor([[0.0], [float("nan")]]), [0, 1], "missing or infinite"),
        (torch.zeros(300, 1), list(range(300)), "at most 256"),
    ],
)
def test_what_cannot_be_a_pool_is_refused(X: Any, groups: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        TensorPool(X, groups)
