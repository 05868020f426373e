"""The baseline that FAL, FAL-CUR and Falcon fit: logistic regression (C = 1) without a constraint.

FAL refits the model for every candidate row and both labels, which is slow. Each refit differs from the
current problem by one row, so all of them are solved in one batch here.

Strategies keep no state. Some of these methods need it (which rows count twice, the weights of a bandit), so
:func:`replay` computes it again from the labelled rows in their order.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, xlogy

from fairask.metrics import METRICS, Float, Int, Matrix, Metric, check_metric
from fairask.oracle import Labelled
from fairask.oracle.logistic import INTERCEPT_RIDGE, solve_logistic, with_intercept
from fairask.pools import Pool

#: Refits are held in blocks of about this many candidates times labelled rows.
_BLOCK = 1 << 22
#: States of recent histories: they save computing the beginning again, and never change a proposal.
_MEMO: OrderedDict[bytes, object] = OrderedDict()
_KEPT = 64

State = TypeVar("State")


def numeric(X: Matrix, strategy: str) -> Float:
    """Return features as an array of floats; raise TypeError with the strategy's name if they are not.

    Examples
    --------
    >>> numeric([[1, 2]], "fal")
    array([[1., 2.]])
    """
    if issparse(X):
        raise TypeError(
            f"strategy {strategy!r} needs dense features; take 'fare', 'passive' or 'uncertainty'"
        )
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"strategy {strategy!r} needs a pool of numbers: {error}") from error


def entropy(p: Float) -> Float:
    """Entropy in bits of a label that is 1 with probability ``p``.

    Examples
    --------
    >>> entropy(np.array([0.0, 0.5])).tolist()
    [0.0, 1.0]
    """
    return np.asarray((xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)) / -np.log(2.0) + 0.0)


def scaled(values: Float) -> Float:
    """Scale to [0, 1]; constant values give 0.

    Examples
    --------
    >>> scaled(np.array([1.0, 3.0])).tolist(), scaled(np.array([2.0, 2.0])).tolist()
    ([0.0, 1.0], [0.0, 0.0])
    """
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


@dataclass(frozen=True)
class PlainModel:
    """A fitted logistic regression with the rows it was fitted on.

    Attributes
    ----------
    X1, y, weight : ndarray
        Labelled rows with a column of ones, their labels and their weights.
    beta : ndarray of shape (d,)
        Coefficients, the intercept last.
    penalty : ndarray of shape (d,)
        Ridge on the *sum* of losses.
    """

    X1: Float
    y: Float
    weight: Float
    beta: Float
    penalty: Float

    def refit(self, U: Float, steps: int) -> Float:
        """Return coefficients after adding each row of ``U`` with label 0 and label 1: (rows, 2, d).

        The loss of the labelled rows is replaced by its second-order expansion at the current fit. Then the
        refit moves along ``H^-1 u`` by the root of one scalar equation. Further steps keep H and compute the
        gradient of the labelled rows again; their fixed point is the exact refit.

        Examples
        --------
        >>> model = fit_plain(np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 1.0]))
        >>> added = fit_plain(np.array([[-1.0], [0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 1.0, 0.0]))
        >>> bool(np.allclose(model.refit(np.array([[2.0]]), 12)[0, 0], added.beta, atol=1e-3))
        True
        """
        U1 = with_intercept(U)
        p = expit(self.X1 @ self.beta)
        curvature = self.weight * p * (1.0 - p)
        inverse = np.linalg.inv((self.X1.T * curvature) @ self.X1 + np.diag(self.penalty))
        block = max(1, _BLOCK // max(len(self.X1), 1))
        parts = [self._refit(U1[i : i + block], inverse, steps) for i in range(0, len(U1), block)]
        return np.concatenate(parts)

    def _refit(self, U1: Float, inverse: Float, steps: int) -> Float:
        HU = U1 @ inverse
        stretch = (HU * U1).sum(axis=1)[:, None]
        label = np.array([0.0, 1.0])
        base = np.broadcast_to(self.beta, (len(U1), 2, len(self.beta)))
        score = (U1 @ self.beta)[:, None] + np.zeros(2)
        beta = base + _pull(score, stretch, label)[:, :, None] * HU[:, None, :]
        for _ in range(steps - 1):
            residual = (expit(beta @ self.X1.T) - self.y) * self.weight
            base = beta - (residual @ self.X1 + self.penalty * beta) @ inverse
            score = (base * U1[:, None, :]).sum(axis=2)
            beta = base + _pull(score, stretch, label)[:, :, None] * HU[:, None, :]
        return np.asarray(beta)


def _pull(score: Float, stretch: Float, label: Float) -> Float:
    """Return the root t of ``t = label - expit(score + t * stretch)``; it is in [label - 1, label]."""
    low, high = np.broadcast_to(label - 1.0, score.shape).copy(), np.broadcast_to(label, score.shape).copy()
    t = 0.5 * (low + high)
    for _ in range(12):
        p = expit(score + t * stretch)
        excess = t - label + p
        low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
        newton = t - excess / (1.0 + stretch * p * (1.0 - p))
        t = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
    return t


def fit_plain(X: Float, y: Float, weight: Float | None = None) -> PlainModel:
    """Fit logistic regression with C = 1 and an intercept without penalty.

    Examples
    --------
    >>> fit_plain(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0])).beta.round(2) + 0.0
    array([0.67, 0.  ])
    """
    X1 = with_intercept(X)
    weight = np.ones(len(y)) if weight is None else weight
    total = float(weight.sum())
    fit = solve_logistic(X1, y[None, :], weight[None, :], ridge=1.0 / total, tol=1e-9)
    penalty = np.ones(X1.shape[1])
    penalty[-1] = INTERCEPT_RIDGE * total
    return PlainModel(X1, y, weight, fit.beta[0], penalty)


def scores(pool: Pool, beta: Float) -> Float:
    """Linear scores of the pool's available rows, without copying their features."""
    return np.asarray(np.asarray(pool.X @ beta[:-1], dtype=np.float64)[pool.rows] + beta[-1])


class Disparity:
    """Gap of many linear classifiers on a labelled evaluation set.

    Parameters
    ----------
    X, y, groups : ndarray
        The evaluation set.
    n_groups : int
    metric : {"tprp", "fprp", "eo", "dp"}

    Examples
    --------
    >>> d = Disparity(np.array([[1.0], [-1.0]]), np.ones(2), np.array([0, 1]), 2)
    >>> d(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, X: Float, y: Float, groups: Int, n_groups: int, metric: Metric = "tprp") -> None:
        self.conditions = METRICS[check_metric(metric)]
        of_condition = np.array([np.ones(len(y), bool) if c is None else y == c for c in self.conditions])
        used = of_condition.any(axis=0)
        self.X1 = with_intercept(X[used])
        member = of_condition[:, used, None] & (groups[used, None] == np.arange(n_groups))
        self.member = member.astype(np.float64)  # (conditions, rows, groups)
        count = self.member.sum(axis=1)
        self.known = count > 0
        self.count = np.maximum(count, 1.0)

    def rates(self, betas: Float) -> Float:
        """Rate of predicting 1 by (classifier, condition, group); NaN where the set has no such row."""
        positive = (betas @ self.X1.T > 0).astype(np.float64)
        # Counts are whole numbers, so equal rates are exactly equal after the division, and ties stay ties.
        rates = np.stack([positive @ member for member in self.member], axis=-2) / self.count
        return np.asarray(np.where(self.known, rates, np.nan))

    def __call__(self, betas: Float) -> Float:
        """Gap of each classifier; a condition with fewer than two known rates counts as 0."""
        rates = self.rates(betas)
        high = np.where(self.known, rates, -np.inf).max(axis=-1)
        low = np.where(self.known, rates, np.inf).min(axis=-1)
        both = self.known.sum(axis=-1) >= 2
        return np.asarray(np.where(both, np.where(both, high, 0.0) - np.where(both, low, 0.0), 0.0).max(-1))


def replay(
    labelled: Labelled,
    first: int,
    kind: str,
    start: Callable[[], State],
    step: Callable[[State, int], State],
) -> State:
    """Return the state after all labelled rows: ``start()``, then ``step(state, i)`` per further row.

    Parameters
    ----------
    labelled : Labelled
    first : int
        Number of rows that ``start`` uses.
    kind : str
        The method and its settings; only histories of the same kind share a cached state.
    start, step : callable
        Pure functions of the labelled rows, up to row i for ``step``.
    """
    digest = hashlib.blake2b(repr((kind, first)).encode(), digest_size=16)
    X = labelled.X
    digest.update(X[:first].tobytes() + labelled.y[:first].tobytes() + labelled.groups[:first].tobytes())
    keys = [digest.digest()]
    for i in range(first, len(labelled)):
        digest.update(X[i].tobytes() + labelled.y[i].tobytes() + labelled.groups[i].tobytes())
        keys.append(digest.digest())
    known = next((j for j in range(len(keys) - 1, -1, -1) if keys[j] in _MEMO), None)
    state: State = start() if known is None else _MEMO[keys[known]]  # type: ignore[assignment]
    for j in range(1 if known is None else known + 1, len(keys)):
        state = step(state, first + j - 1)
    _MEMO[keys[-1]] = state
    _MEMO.move_to_end(keys[-1])
    while len(_MEMO) > _KEPT:
        _MEMO.popitem(last=False)
    return state
