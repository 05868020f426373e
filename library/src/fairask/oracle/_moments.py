"""The moments of a fair problem: its error and its rates, linear in the predictions.

A *rate* belongs to a condition and a group, e.g. y = 1 and group b. It is linear in the predictions,
``rate = sum_i share_i h_i``, where the shares of its rows add up to 1. A metric bounds the differences of
rates between groups within each condition. Nothing else of the metric reaches the dual search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from fairask.metrics import METRICS, Bool, Float, Int, Metric
from fairask.oracle.labelled import Labelled


def ordered_pairs(n_conditions: int, n_groups: int) -> list[tuple[int, int]]:
    """Pairs of rates that are compared, both ways; rates are numbered condition-major.

    Examples
    --------
    >>> ordered_pairs(1, 2)
    [(0, 1), (1, 0)]
    """
    return [
        (z * n_groups + a, z * n_groups + b)
        for z in range(n_conditions)
        for a, b in permutations(range(n_groups), 2)
    ]


@dataclass(frozen=True)
class FairnessMoments:
    """Risk and rates of ``p`` problems that share their rows and differ in labels or weights.

    Attributes
    ----------
    risk : ndarray of shape (p, n)
        Signed cost of predicting 1 for the error, ``u_i (1 - 2 y_i) / sum(u)``.
    base : ndarray of shape (p,)
        The error of predicting 0 everywhere.
    shares : ndarray of shape (p, rates, n)
        Weight of each row in a rate over the weight of all its rows; 0 for other rows.
    occupied : bool ndarray of shape (p, rates)
        False where a rate has no weight: it is unknown and left unconstrained.
    pairs : list of (int, int)
        Rates to compare.
    """

    risk: Float
    base: Float
    shares: Float
    occupied: Bool
    pairs: list[tuple[int, int]]

    @classmethod
    def of(
        cls, labelled: Labelled, metric: Metric, labels: Float | None = None, weights: Float | None = None
    ) -> FairnessMoments:
        """Build from labelled rows, or from copies with other labels or factors of the weights, (p, n)."""
        y = labelled.y[None, :] if labels is None else labels
        factor = np.ones(y.shape) if weights is None else weights
        risk_weight, fairness_weight = factor * labelled.risk_weights, factor * labelled.fairness_weights
        u = risk_weight / risk_weight.sum(axis=1, keepdims=True)
        inside = [
            fairness_weight if label is None else fairness_weight * (y == label) for label in METRICS[metric]
        ]
        return cls._of_parts(
            u * (1.0 - 2.0 * y), (u * y).sum(axis=1), inside, labelled.groups, labelled.n_groups
        )

    @classmethod
    def soft(cls, p: Float, groups: Int, n_groups: int, metric: Metric) -> FairnessMoments:
        """Build one problem from rows whose label is 1 with probability ``p``: a calibrated pool."""
        inside = [{1: p, 0: 1.0 - p, None: np.ones_like(p)}[label][None, :] for label in METRICS[metric]]
        return cls._of_parts(
            (1.0 - 2.0 * p)[None, :] / len(p), np.array([p.mean()]), inside, groups, n_groups
        )

    @classmethod
    def _of_parts(
        cls, risk: Float, base: Float, inside: list[Float], groups: Int, n_groups: int
    ) -> FairnessMoments:
        """Build from the weight (p, n) of each row in the rates of each condition."""
        shares = np.zeros((len(risk), len(inside) * n_groups, risk.shape[1]))
        for z, weight in enumerate(inside):
            for g in range(n_groups):
                shares[:, z * n_groups + g] = weight * (groups == g)
        totals = shares.sum(axis=2, keepdims=True)
        shares /= np.where(totals > 0, totals, 1.0)
        return cls(risk, base, shares, totals[:, :, 0] > 0, ordered_pairs(len(inside), n_groups))

    def __len__(self) -> int:
        return len(self.risk)

    @cached_property
    def ends(self) -> tuple[Int, Int]:
        """The first and the second rate of each pair."""
        first, second = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    @property
    def n_groups(self) -> int:
        """Groups that are compared."""
        return 1 + len(self.pairs) // int(self.occupied.shape[1])

    def largest_gaps(self, rates: Float, problem: int) -> Float:
        """The largest gap of each entry of rates (..., rates), without listing the pairs."""
        shape = (*rates.shape[:-1], -1, self.n_groups)
        known = np.broadcast_to(self.occupied[problem], rates.shape).reshape(shape)
        values = rates.reshape(shape)
        high = np.where(known, values, -np.inf).max(axis=-1)
        low = np.where(known, values, np.inf).min(axis=-1)
        return np.asarray(np.maximum(high - low, 0.0).max(axis=-1))

    def by_rate(self, multipliers: Float) -> Float:
        """Multipliers of the rates from those of the pairs."""
        first, second = self.ends
        n_rates = self.occupied.shape[1]
        paid, got = (np.bincount(end, multipliers, n_rates) for end in (first, second))
        return np.asarray(paid - got, dtype=np.float64)

    def select(self, problems: Int) -> FairnessMoments:
        """Return the problems with these indices."""
        return FairnessMoments(
            self.risk[problems],
            self.base[problems],
            self.shares[problems],
            self.occupied[problems],
            self.pairs,
        )

    def costs(self, multipliers: Float) -> Float:
        """Signed cost of predicting 1 on each row, for one multiplier per rate: (p, rates) -> (p, n)."""
        return np.asarray(self.risk + np.einsum("pc,pcn->pn", multipliers, self.shares))

    def errors(self, predictions: Float) -> Float:
        """Weighted error of each problem's predictions (p, n)."""
        return np.asarray(self.base + (self.risk * predictions).sum(axis=1))

    def rates(self, predictions: Float) -> Float:
        """Rates (p, rates) of each problem's predictions (p, n)."""
        return np.asarray(np.einsum("pcn,pn->pc", self.shares, predictions))

    def gaps(self, rates: Float, problem: int) -> Float:
        """Rate differences (..., pairs) of one problem; pairs with an unknown rate are 0."""
        first, second = self.ends
        known = self.occupied[problem][first] & self.occupied[problem][second]
        return np.asarray((rates[..., first] - rates[..., second]) * known)
