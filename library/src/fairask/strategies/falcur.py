"""FAL-CUR: uncertain and representative rows of fair clusters (Fajri, Saxena, Pei, Pechenizkiy 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.cluster import KMeans

from fairask.checks import check_choice, check_count, check_number
from fairask.metrics import Float, Int
from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies.baseline import entropy, fit_plain, numeric, scores
from fairask.strategies.strategy import InMemoryStrategy

#: Rows whose distances to all centres are computed at once.
_BLOCK = 1024
#: Iterations of k-means at the start; both ways to fair clusters move the points afterwards.
_START_ITER = 10


@dataclass(frozen=True)
class FalCur(InMemoryStrategy):
    """Cluster the pool so that every cluster has the pool's group shares; ask for the best row per cluster.

    Parameters
    ----------
    clusters : int
        Number of clusters. A batch of that size has one row per cluster.
    pretrain : int
        Labels drawn uniformly first.
    beta : float
        Share of similarity in ``beta R(x) + (1 - beta) U(x)``; U is the entropy in bits.
    clustering : {"fair_km", "capacity"}
        The FairKM objective, or k-means and then moves to the nearest cluster that has too few of the group.
    similarity : {"centroid", "distance"}
        R is 1 - distance / largest distance in the cluster. "distance" is what the authors' script
        computes: distance / largest distance, so that far rows are preferred.
    fairness_weight : float, optional
        FairKM's lambda; None means ``(n / k)^2`` times the total variance of the features.
    passes : int
        Passes of FairKM over the pool.

    Examples
    --------
    >>> FalCur(clusters=10).beta
    0.6
    """

    clusters: int = 25
    pretrain: int = 25
    beta: float = 0.6
    clustering: str = "fair_km"
    similarity: str = "centroid"
    fairness_weight: float | None = None
    passes: int = 5
    name: ClassVar[str] = "falcur"

    def __post_init__(self) -> None:
        for name in ("clusters", "pretrain", "passes"):
            check_count(vars(self)[name], name)
        check_number(self.beta, "beta", 0, 1)
        check_choice(self.clustering, "clustering", ("fair_km", "capacity"))
        check_choice(self.similarity, "similarity", ("centroid", "distance"))
        if self.fairness_weight is not None and not self.fairness_weight >= 0:
            raise ValueError(f"fairness_weight={self.fairness_weight!r} must be None or a number, 0 or more")

    def choose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`InMemoryStrategy`."""
        model = fit_plain(numeric(labelled.X, self.name), labelled.y)
        uncertain = entropy(expit(scores(pool, model.beta)))
        features = np.column_stack([numeric(pool.take(pool.rows), self.name), uncertain])
        groups, k = pool.groups[pool.rows], min(self.clusters, len(pool))
        if self.clustering == "fair_km":
            labels = fair_kmeans(
                features, groups, pool.n_groups, k, rng, self.fairness_weight, passes=self.passes
            )
        else:
            labels = capacity_clusters(features, groups, pool.n_groups, k, rng)
        value = self.beta * self._similarity(features, labels) + (1.0 - self.beta) * uncertain
        return Proposal(pool.everything(), ranking=pool.rows[_in_turn(value, labels, rng)])

    def _similarity(self, features: Float, labels: Int) -> Float:
        similarity = np.empty(len(labels))
        for cluster in np.unique(labels):
            of = labels == cluster
            inside = features[of]
            distance = np.linalg.norm(inside - inside.mean(axis=0), axis=1)
            far = distance / max(distance.max(), 1e-300)
            similarity[of] = far if self.similarity == "distance" else 1.0 - far
        return similarity


def _in_turn(value: Float, labels: Int, rng: np.random.Generator) -> Int:
    """Return positions: the best row of every cluster, then the second best rows; higher values first."""
    order = np.lexsort((rng.random(len(value)), -value, labels))
    starts = np.searchsorted(labels[order], labels[order])
    turn = np.arange(len(order)) - starts
    return np.asarray(order[np.lexsort((-value[order], turn))])


def plain_kmeans(X: Float, k: int, rng: np.random.Generator) -> Int:
    """Cluster of each row by ordinary k-means.

    Examples
    --------
    >>> labels = plain_kmeans(np.array([[0.0], [0.1], [9.0]]), 2, np.random.default_rng(0))
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    k = min(k, len(np.unique(X, axis=0)) if len(X) <= 4 * k else k)
    if k == 1:
        return np.zeros(len(X), dtype=np.int64)
    seed = int(rng.integers(2**31))
    fitted = KMeans(k, n_init=1, max_iter=_START_ITER, init="k-means++", random_state=seed).fit(X)
    return np.asarray(fitted.labels_, dtype=np.int64)


def share_gap(labels: Int, groups: Int, n_groups: int) -> float:
    """Return the mean over rows of the total variation between group shares of their cluster and of all.

    Examples
    --------
    >>> share_gap(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
    0.0
    """
    counts = _counts(labels, groups, int(labels.max()) + 1, n_groups)
    size = counts.sum(axis=1)
    expected = size[:, None] * counts.sum(axis=0) / len(labels)
    return float(0.5 * np.abs(counts - expected).sum() / len(labels))


def _counts(labels: Int, groups: Int, k: int, n_groups: int) -> Float:
    flat = np.bincount(labels * n_groups + groups, minlength=k * n_groups)
    return flat.reshape(k, n_groups).astype(np.float64)


def _sums(X: Float, labels: Int, k: int) -> Float:
    sums = np.zeros((k, X.shape[1]))
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(k))
    present = np.bincount(labels, minlength=k) > 0
    sums[present] = np.add.reduceat(X[order], starts[present], axis=0)
    return sums


def _squared(X: Float, centres: Float) -> Float:
    squared = (X * X).sum(axis=1)[:, None] - 2.0 * X @ centres.T + (centres * centres).sum(axis=1)
    return np.asarray(np.maximum(squared, 0.0))


def fair_kmeans(
    X: Float,
    groups: Int,
    n_groups: int,
    k: int,
    rng: np.random.Generator,
    weight: float | None = None,
    passes: int = 5,
) -> Int:
    """Minimise the FairKM objective by reassigning points in turn, from ordinary k-means.

    ``sum_C sum_{x in C} |x - mu_C|^2 + weight * sum_C (|C|/n)^2 sum_s (share_C(s) - share(s))^2 / groups``.

    Distances are computed per block of points, to the centres at the start of the block. The fairness term
    of every move is exact.

    Parameters
    ----------
    weight : float, optional
        Weight of unequal shares (lambda). None means ``(n / k)^2`` times the total variance of ``X``, so
        that clusters do not depend on the scale of the features.
    passes : int
        Largest number of passes over all points; passes end when no point moves.

    Examples
    --------
    >>> X, groups = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> labels = fair_kmeans(X, groups, 2, 2, np.random.default_rng(0), weight=1e3)
    >>> share_gap(labels, groups, 2)
    0.0
    """
    labels = plain_kmeans(X, k, rng)
    k, n = int(labels.max()) + 1, len(X)
    if weight is None:
        weight = (n / k) ** 2 * float(X.var(axis=0).sum())
    price = weight / (n * n * n_groups)
    share = np.bincount(groups, minlength=n_groups) / n
    counts, sums = _counts(labels, groups, k, n_groups), _sums(X, labels, k)
    size = counts.sum(axis=1)
    prices = _Prices(share, price)
    for _ in range(passes):
        moved = 0
        for start in range(0, n, _BLOCK):
            block = slice(start, start + _BLOCK)
            distance = _squared(X[block], sums / np.maximum(size, 1.0)[:, None])
            prices.renew(counts, size)
            for i in _movable(distance, labels[block], groups[block], prices):
                row = start + int(i)
                home, group = labels[row], groups[row]
                near = distance[i]
                cost = near * prices.joined + prices.enter[group]
                stays = near[home] * prices.left[home] - prices.leave[group, home]
                cost[home] = stays
                to = int(cost.argmin())
                if cost[to] - stays >= -1e-9 or size[home] <= 1:
                    continue
                _move(row, to, group, labels, counts, size)
                sums[home] -= X[row]
                sums[to] += X[row]
                prices.move(home, to, group, size)
                moved += 1
        if not moved:
            break
    return labels


def _move(row: int, to: int, group: int, labels: Int, counts: Float, size: Float) -> None:
    """Put a row of ``group`` into the cluster ``to``, in place."""
    for cluster, by in ((labels[row], -1), (to, 1)):
        counts[cluster, group] += by
        size[cluster] += by
    labels[row] = to


class _Prices:
    """The cost of entering and of leaving each cluster; a move changes two clusters only.

    A cluster's fairness term is ``price * sum_s e_s^2`` with the excess ``e_s = count_s - size * share_s``.
    Its squared distances grow by ``d size / (size + 1)`` when a point at squared distance d joins and fall
    by ``d size / (size - 1)`` when it leaves.
    """

    def __init__(self, share: Float, price: float) -> None:
        self.share, self.price = share, price
        self.step = np.eye(len(share)) - share  # what one more point of each group does to the excess
        self.change = 2.0 * price * self.step @ self.step.T

    def renew(self, counts: Float, size: Float) -> None:
        """Compute all prices."""
        pull = 2.0 * self.price * self.step @ (counts - size[:, None] * self.share).T
        own = 0.5 * np.diag(self.change)[:, None]
        self.enter, self.leave = own + pull, own - pull
        self.joined = size / (size + 1.0)
        self.left = np.where(size > 1, size / np.maximum(size - 1.0, 1.0), 0.0)

    def move(self, home: int, to: int, group: int, size: Float) -> None:
        """Account for a point of ``group`` that went from ``home`` to ``to``; ``size`` is after it."""
        change = self.change[group]
        for cluster, by in ((home, -change), (to, change)):
            self.enter[:, cluster] += by
            self.leave[:, cluster] -= by
            now = size[cluster]
            self.joined[cluster] = now / (now + 1.0)
            self.left[cluster] = now / (now - 1.0) if now > 1 else 0.0


def _movable(distance: Float, home: Int, groups: Int, prices: _Prices) -> Int:
    """Return the points of a block that would gain by moving, by the prices at its start."""
    rows = np.arange(len(home))
    cost = distance * prices.joined + prices.enter[groups]
    stays = distance[rows, home] * prices.left[home] - prices.leave[groups, home]
    cost[rows, home] = stays
    return np.flatnonzero(cost.min(axis=1) - stays < -1e-9)


def capacity_clusters(
    X: Float, groups: Int, n_groups: int, k: int, rng: np.random.Generator, sweeps: int = 10
) -> Int:
    """K-means, then sweeps that move each point to the nearest cluster with room for its group.

    A cluster has room while the group's share in it, the point included, is at most its share in the whole.
    A point for which no cluster has room stays. Sweeps end when no point moves.

    Examples
    --------
    >>> X, groups = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> labels = capacity_clusters(X, groups, 2, 2, np.random.default_rng(0))
    >>> share_gap(labels, groups, 2) < 0.5
    True
    """
    labels = plain_kmeans(X, k, rng)
    k = int(labels.max()) + 1
    share = np.bincount(groups, minlength=n_groups) / len(X)
    counts = _counts(labels, groups, k, n_groups)
    size = counts.sum(axis=1)
    for _ in range(sweeps):
        moved = 0
        centres = _sums(X, labels, k) / np.maximum(size, 1.0)[:, None]
        for start in range(0, len(X), _BLOCK):
            nearness = _squared(X[start : start + _BLOCK], centres)
            for i, distance in enumerate(nearness):
                row = start + i
                home, group = labels[row], groups[row]
                room = counts[:, group] + 1.0 <= share[group] * (size + 1.0) + 1e-9
                room[home] = counts[home, group] <= share[group] * size[home] + 1e-9
                if not room.any():
                    continue
                to = int(np.where(room, distance, np.inf).argmin())
                if to == home or size[home] <= 1:
                    continue
                _move(row, to, group, labels, counts, size)
                moved += 1
        if not moved:
            break
    return labels
