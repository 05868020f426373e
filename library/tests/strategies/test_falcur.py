"""FAL-CUR: fair clusters and the rows taken from them."""

import numpy as np
import pytest

from fairask.datasets import load
from fairask.strategies import FalCur
from fairask.strategies.falcur import (
    _counts,
    _Prices,
    capacity_clusters,
    fair_kmeans,
    plain_kmeans,
)
from fairask.testing import make_problem


def _objective(X, labels, groups, n_groups, weight):
    share = np.bincount(groups, minlength=n_groups) / len(X)
    total = 0.0
    for cluster in np.unique(labels):
        of = labels == cluster
        total += ((X[of] - X[of].mean(axis=0)) ** 2).sum()
        own = np.bincount(groups[of], minlength=n_groups) / of.sum()
        total += weight * (of.sum() / len(X)) ** 2 * ((own - share) ** 2).sum() / n_groups
    return total


def _share_gap(labels, groups, n_groups):
    """Mean over rows of the total variation between group shares of their cluster and of all."""
    counts = _counts(labels, groups, int(labels.max()) + 1, n_groups)
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / len(labels)
    return 0.5 * np.abs(counts - expected).sum() / len(labels)


@pytest.mark.parametrize("cluster", [fair_kmeans, capacity_clusters])
@pytest.mark.parametrize("seed", range(3))
def test_group_shares_are_closer_to_the_pools_than_plain_kmeans(cluster, seed):
    data = load("german")
    groups = np.unique(data.groups, return_inverse=True)[1]
    plain = _share_gap(plain_kmeans(data.X, 10, np.random.default_rng(seed)), groups, 2)
    fair = _share_gap(cluster(data.X, groups, 2, 10, np.random.default_rng(seed)), groups, 2)
    assert fair < 0.75 * plain


def test_fair_kmeans_lowers_its_objective():
    data = load("german")
    groups = np.unique(data.groups, return_inverse=True)[1]
    weight = (len(groups) / 10) ** 2 * data.X.var(axis=0).sum()
    plain = plain_kmeans(data.X, 10, np.random.default_rng(0))
    fair = fair_kmeans(data.X, groups, 2, 10, np.random.default_rng(0))
    assert _objective(data.X, fair, groups, 2, weight) < _objective(data.X, plain, groups, 2, weight)


def test_fair_clusters_do_not_depend_on_the_features_scale():
    data = load("german")
    groups = np.unique(data.groups, return_inverse=True)[1]
    one, two = (fair_kmeans(scale * data.X, groups, 2, 10, np.random.default_rng(0)) for scale in (1.0, 8.0))
    assert np.array_equal(one, two)


def test_the_cost_of_a_move_is_the_change_of_the_objective():
    rng = np.random.default_rng(0)
    X, groups, labels = rng.normal(size=(30, 2)), rng.integers(3, size=30), rng.integers(4, size=30)
    weight, n = 50.0, 30
    counts = _counts(labels, groups, 4, 3)
    centres = np.array([X[labels == c].mean(axis=0) for c in range(4)])
    distance = ((X[7] - centres) ** 2).sum(axis=1)[None]
    share = np.bincount(groups, minlength=3) / n
    prices = _Prices(share, weight / (n * n * 3))
    prices.renew(counts, counts.sum(axis=1))
    home, group = labels[7], groups[7]
    cost = distance[0] * prices.joined + prices.enter[group]
    cost -= distance[0, home] * prices.left[home] - prices.leave[group, home]
    cost[home] = 0.0
    before = _objective(X, labels, groups, 3, weight)
    for to in range(4):
        moved = labels.copy()
        moved[7] = to
        assert cost[to] == pytest.approx(_objective(X, moved, groups, 3, weight) - before, abs=1e-9)


def test_prices_kept_up_to_date_are_those_computed_anew():
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(4, size=40), rng.integers(3, size=40)
    counts = _counts(labels, groups, 4, 3)
    kept, anew = (_Prices(np.array([0.5, 0.3, 0.2]), 0.7) for _ in range(2))
    kept.renew(counts, counts.sum(axis=1))
    for row in range(20):
        home, to, group = labels[row], (labels[row] + 1) % 4, groups[row]
        counts[home, group] -= 1
        counts[to, group] += 1
        kept.move(home, to, group, counts.sum(axis=1))
        anew.renew(counts, counts.sum(axis=1))
        for name in ("enter", "leave", "joined", "left"):
            np.testing.assert_allclose(getattr(kept, name), getattr(anew, name), atol=1e-12)


def test_a_batch_takes_one_row_of_each_cluster():
    problem = make_problem(FalCur())
    falcur = FalCur(clusters=5)
    ranking = problem.propose(falcur).ranking
    from scipy.special import expit

    from fairask.strategies.baseline import entropy, fit_plain, scores

    model = fit_plain(problem.labelled.X, problem.labelled.y)
    uncertain = entropy(expit(scores(problem.pool, model.beta)))
    features = np.column_stack([problem.pool.X[problem.pool.rows], uncertain])
    labels = fair_kmeans(features, problem.pool.groups[problem.pool.rows], 2, 5, np.random.default_rng(0))
    of_row = dict(zip(problem.pool.rows.tolist(), labels.tolist(), strict=True))
    assert sorted(of_row[row] for row in ranking[:5].tolist()) == [0, 1, 2, 3, 4]


def test_the_two_readings_of_similarity_are_opposite():
    features, labels = np.array([[0.0], [1.0], [5.0]]), np.zeros(3, dtype=np.int64)
    near = FalCur()._similarity(features, labels)
    far = FalCur(similarity="distance")._similarity(features, labels)
    np.testing.assert_allclose(near, 1.0 - far)
    assert near.argmax() == 1
    assert far.argmax() == 2


def test_identical_rows_make_fewer_clusters():
    X = np.repeat(np.eye(3), 4, axis=0)
    labels = fair_kmeans(X, np.tile([0, 1], 6), 2, 8, np.random.default_rng(0))
    assert labels.max() == 2
