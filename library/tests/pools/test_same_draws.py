"""The same rows and seeds give the same draws, wherever the rows are."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from fairask import FairActiveLearner
from fairask.audit.strata import Strata
from fairask.pools import MemoryPool
from fairask.rules import LinearRule

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]


def campaign(
    pool: Any, strategy: str, y: Any, rounds: int = 2, profile: str = "calibrated"
) -> FairActiveLearner:
    # Pools that are not in memory learn by logistic regression alone; so must the array, to be compared.
    learner = FairActiveLearner(
        pool, strategy=strategy, profile=profile, estimator="linear", batch_size=30, random_state=11
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rounds):
            query = learner.ask()
            learner.tell(query.indices, y[query.indices])
    return learner


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
# The strategy draws and the profile fits: each strategy once, and the profiles beside the one that uses both.
@pytest.mark.parametrize(
    ("strategy", "profile"),
    [
        ("passive", "paper"),
        ("group_balanced", "paper"),
        ("uncertainty", "calibrated"),
        ("fare", "calibrated"),
        ("fare", "paper"),
    ],
)
def test_every_pool_draws_the_same_rows(
    strategy: str, profile: str, pools: Mapping[str, Any], rows: Any
) -> None:
    found = {name: campaign(pool, strategy, rows[2], profile=profile) for name, pool in pools.items()}
    first = found.pop("arrays")
    assert len(set(first.labelled_indices_.tolist())) == 60
    for name, learner in found.items():
        assert learner.labelled_indices_.tolist() == first.labelled_indices_.tolist(), name
        assert learner.propensities_.tolist() == pytest.approx(first.propensities_.tolist(), nan_ok=True)
        assert learner.components_ == first.components_
        np.testing.assert_array_equal(learner.labelled().X, first.labelled().X)
        rule, same = learner.model_.members_[0], first.model_.members_[0]
        if profile == "paper":
            assert rule.beta.tolist() == same.beta.tolist()
        else:
            assert rule.probability.beta.tolist() == same.probability.beta.tolist()
            assert rule.intercept.tolist() == same.intercept.tolist()


def test_every_pool_gives_an_audit_the_same_rows(pools: Mapping[str, Any]) -> None:
    model = LinearRule(np.array([1.0, -0.5, 0.2, 0.0, 0.0, 0.1]))
    none = np.zeros(0, dtype=np.int64)
    orders = {name: Strata.of_pool(pool, model, none, 40, seed=5) for name, pool in pools.items()}
    first = orders.pop("arrays")
    for order in orders.values():
        assert order.sizes.tolist() == first.sizes.tolist()
        assert [q.tolist() for q in order.queues] == [q.tolist() for q in first.queues]


def test_an_audit_s_queues_hold_rows_of_their_stratum(rows: Any) -> None:
    X, groups, _ = rows
    model = LinearRule(np.array([1.0, -0.5, 0.2, 0.0, 0.0, 0.1]))
    none = np.zeros(0, dtype=np.int64)
    order = Strata.of_pool(MemoryPool(X, groups, 3), model, none, 10_000, seed=5)
    stratum = 2 * groups + model.decide(X)
    for s, queue in enumerate(order.queues):
        assert sorted(queue.tolist()) == np.flatnonzero(stratum == s).tolist()
        assert queue.tolist() != sorted(queue.tolist())
        assert set(order.of(queue).tolist()) == {s}


def test_a_learner_of_arrays_and_one_of_a_pool_agree(rows: Any) -> None:
    X, groups, y = rows
    of_pool = campaign(MemoryPool(X, groups, 3), "fare", y)
    learner = FairActiveLearner(X, groups, estimator="linear", batch_size=30, random_state=11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            query = learner.ask()
            learner.tell(query.indices, y[query.indices])
    assert learner.labelled_indices_.tolist() == of_pool.labelled_indices_.tolist()


def test_a_saved_learner_of_a_streamed_pool_goes_on_as_if_never_saved(
    tmp_path: Any, pools: Mapping[str, Any], rows: Any
) -> None:
    pool, y = pools["parquet folder"], rows[2]
    learner = campaign(pool, "fare", y, rounds=2)
    learner.save(tmp_path / "kept")
    again = FairActiveLearner.load(tmp_path / "kept", X=pool)
    assert again.ask().indices.tolist() == learner.ask().indices.tolist()
    with pytest.raises(ValueError, match="not the table"):
        FairActiveLearner.load(tmp_path / "kept", X=pools["dask frame"])
    with pytest.raises(TypeError, match="must be that pool"):
        FairActiveLearner.load(tmp_path / "kept", X=rows[0])
