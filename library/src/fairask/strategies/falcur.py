"""FAL-CUR: uncertain and representative rows of fair clusters (Fajri, Saxena, Pei, Pechenizkiy 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from fairask.checks import check_choice, check_count, check_number
from fairask.metrics import Float, Int
from fairask.oracle import FairFit, Labelled
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies._base import InMemoryStrategy
from fairask.strategies._clusters import capacity_clusters, fair_kmeans
from fairask.strategies._plain import entropy, fit_plain, numeric, scores


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
