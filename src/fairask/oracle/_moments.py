"""The fairness constraint as linear moments: what the optimiser knows of a fairness notion.

A *cell* is a (condition, group) pair, e.g. (y = 1, group b); its rate is linear in the predictions,
``rate = sum_i share_i h_i`` with ``share_i = v_i / V_cell``. A metric bounds the differences of rates
between groups within each condition. Nothing else of the metric reaches the dual search.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from fairask.metrics import METRICS, Float, Int, Metric

__all__ = ["Moments", "ordered_pairs"]


def ordered_pairs(n_conditions: int, n_groups: int) -> list[tuple[int, int]]:
    """Pairs of cells whose rates are compared, both ways; cells are numbered condition-major.

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
class Moments:
    """Risk and rates of ``p`` problems that share their rows and differ in labels or weights.

    Attributes
    ----------
    risk : ndarray of shape (p, n)
        Signed cost of predicting 1 for the error, ``u_i (1 - 2 y_i) / sum(u)``.
    base : ndarray of shape (p,)
        The error of predicting 0 everywhere.
    shares : ndarray of shape (p, cells, n)
        ``v_i / V_cell`` for the rows of each cell, else 0.
    occupied : bool ndarray of shape (p, cells)
        False where a cell has no weight: its rate is unknown and left unconstrained.
    pairs : list of (int, int)
        Cells to compare.
    """

    risk: Float
    base: Float
    shares: Float
    occupied: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    pairs: list[tuple[int, int]]

    @classmethod
    def build(
        cls, y: Float, groups: Int, n_groups: int, metric: Metric, risk_weight: Float, fairness_weight: Float
    ) -> Moments:
        """Build from labels (p, n), group codes (n,) and weights (n,) or (p, n)."""
        risk_weight = np.broadcast_to(risk_weight, y.shape)
        fairness_weight = np.broadcast_to(fairness_weight, y.shape)
        u = risk_weight / risk_weight.sum(axis=1, keepdims=True)
        conditions = METRICS[metric]
        shares = np.zeros((len(y), len(conditions) * n_groups, y.shape[1]))
        for z, label in enumerate(conditions):
            inside = fairness_weight if label is None else fairness_weight * (y == label)
            for g in range(n_groups):
                shares[:, z * n_groups + g] = inside * (groups == g)
        totals = shares.sum(axis=2, keepdims=True)
        occupied = totals[:, :, 0] > 0
        shares /= np.where(totals > 0, totals, 1.0)
        return cls(
            risk=u * (1.0 - 2.0 * y),
            base=(u * y).sum(axis=1),
            shares=shares,
            occupied=occupied,
            pairs=ordered_pairs(len(conditions), n_groups),
        )

    @classmethod
    def soft(cls, p: Float, groups: Int, n_groups: int, metric: Metric) -> Moments:
        """Build one problem from rows whose label is 1 with probability ``p``: a calibrated pool."""
        conditions = METRICS[metric]
        shares = np.zeros((1, len(conditions) * n_groups, len(p)))
        for z, label in enumerate(conditions):
            inside = {1: p, 0: 1.0 - p, None: np.ones_like(p)}[label]
            for g in range(n_groups):
                shares[0, z * n_groups + g] = inside * (groups == g)
        totals = shares.sum(axis=2, keepdims=True)
        shares /= np.where(totals > 0, totals, 1.0)
        return cls(
            risk=(1.0 - 2.0 * p)[None, :] / len(p),
            base=np.array([p.mean()]),
            shares=shares,
            occupied=totals[:, :, 0] > 0,
            pairs=ordered_pairs(len(conditions), n_groups),
        )

    def __len__(self) -> int:
        return len(self.risk)

    def select(self, problems: Int) -> Moments:
        """Return the problems with these indices."""
        return Moments(
            self.risk[problems],
            self.base[problems],
            self.shares[problems],
            self.occupied[problems],
            self.pairs,
        )

    def costs(self, multipliers: Float) -> Float:
        """Signed cost of predicting 1 on each row, for one multiplier a cell: (p, cells) -> (p, n)."""
        return np.asarray(self.risk + np.einsum("pc,pcn->pn", multipliers, self.shares))

    def errors(self, predictions: Float) -> Float:
        """Weighted error of each problem's predictions (p, n)."""
        return np.asarray(self.base + (self.risk * predictions).sum(axis=1))

    def rates(self, predictions: Float) -> Float:
        """Rates by cell (p, cells) of each problem's predictions (p, n)."""
        return np.asarray(np.einsum("pcn,pn->pc", self.shares, predictions))

    def gaps(self, rates: Float, problem: int) -> Float:
        """Rate differences (..., pairs) of one problem; pairs with an empty cell are 0."""
        first, second = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T
        known = self.occupied[problem][first] & self.occupied[problem][second]
        return np.asarray((rates[..., first] - rates[..., second]) * known)
