"""Models that are costly per row choose from a uniform sub-pool of a large pool."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fairask import FairActiveLearner
from fairask.errors import SubPoolWarning
from fairask.pools import MemoryPool, SubPool
from fairask.sampling import Proposal, draw, from_sub_pool, importance_weights

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture
def small_sub_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairask.pools.sub_pool.SUB_POOL", 500)
    monkeypatch.setattr("fairask.pools.sub_pool._PER_DRAW", 1)


def campaign(pool: Any, y: Any, rounds: int = 2, **settings: Any) -> FairActiveLearner:
    learner = FairActiveLearner(pool, batch_size=30, random_state=11, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rounds):
            query = learner.ask()
            learner.tell(query.indices, y[query.indices])
    return learner


@pytest.mark.slow
def test_every_pool_gives_any_estimator_the_same_sub_pool(
    small_sub_pools: None, pools: Mapping[str, Any], rows: Any
) -> None:
    found = {name: campaign(pool, rows[2], estimator=GaussianNB()) for name, pool in pools.items()}
    first = found.pop("arrays")
    assert len(set(first.labelled_indices_.tolist())) == 60
    for name, learner in found.items():
        assert learner.labelled_indices_.tolist() == first.labelled_indices_.tolist(), name
        assert learner.propensities_.tolist() == first.propensities_.tolist(), name


def test_the_default_classifier_is_that_of_arrays_in_a_streamed_pool(
    small_sub_pools: None, pools: Mapping[str, Any], rows: Any
) -> None:
    streamed, here = (campaign(pools[name], rows[2], rounds=2) for name in ("parquet folder", "arrays"))
    assert streamed.labelled_indices_.tolist() == here.labelled_indices_.tolist()
    probability = streamed.current_model().members_[0].probability
    assert type(probability.estimator).__name__ == "LinearForest"
    assert streamed.pool._cached.keys() == set(streamed.labelled_indices_.tolist()), (
        "the sub-pool is not kept"
    )


def test_a_strategy_that_must_see_all_rows_sees_a_sub_pool(
    small_sub_pools: None, pools: Mapping[str, Any], rows: Any
) -> None:
    learner = campaign(pools["parquet folder"], rows[2], rounds=2, strategy="falcur", profile="paper")
    assert len(learner.labelled_indices_) == 60


def test_the_price_is_said_where_there_is_one(small_sub_pools: None, rows: Any) -> None:
    pool = MemoryPool(rows[0], rows[1], 3)
    for strategy, estimator, said in (
        ("fare", GaussianNB(), True),
        ("uncertainty", GaussianNB(), True),
        ("passive", GaussianNB(), False),
        ("fare", "linear", False),
    ):
        learner = campaign(pool, rows[2], rounds=1, strategy=strategy, estimator=estimator)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.ask()
        notes = [str(one.message) for one in caught if one.category is SubPoolWarning]
        assert len(notes) == said
        if said:  # 30 (1 / 500 - 1 / 3000)
            assert notes[0].endswith("sub-pools of 500 of the 3,000 rows: 5.00% more variance")


def test_weights_undo_both_draws() -> None:
    rng = np.random.default_rng(4)
    value = rng.standard_normal(60) + 3.0 * (np.arange(60) % 5 == 0)
    pool = MemoryPool(np.zeros((60, 1)), (np.arange(60) % 5 == 0).astype(int), 2).excluding([7])
    truth, found = np.delete(value, 7).mean(), []
    for _ in range(1500):
        part = SubPool(pool, 20, rng)
        cells = part.by_group()
        one, other = (0.7 / cells.counts[0], 0.3 / cells.counts[-1])  # uneven: group 0 is drawn less often
        proposal = Proposal(cells, {"fair": np.array([one, other])[cells.groups]}, {"fair": 1.0})
        draws = from_sub_pool(draw(proposal, 1, rng), part)
        found.append(
            (importance_weights("ips", draws.propensities, draws.pool_sizes, 60) * value[draws.indices])[0]
        )
    assert abs(np.mean(found) - truth) < 4 * np.std(found) / np.sqrt(len(found))
    assert 7 not in part.drawn
