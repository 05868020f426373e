"""Calibrated probabilities from few labels: regularisation and scaling chosen out of fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone

from fairask.metrics import Float, Int
from fairask.oracle._learners import weight_parameter
from fairask.oracle._logistic import LogisticFit, solve_logistic, with_intercept

__all__ = [
    "Calibration",
    "FittedProbability",
    "LinearProbability",
    "Scaling",
    "calibrate",
    "folds_by_cell",
    "perturb",
]

#: Ridges on the mean loss among which the out-of-fold log loss chooses.
RIDGES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1)
#: Margins are kept within this distance of 0.
CLIP = 20.0
#: Prior standard deviation, in log odds, of a group's shift and scale from the common ones.
GROUP_DEVIATION = 0.5
#: Likelihood ratio, in expectations under chance, from which groups are scaled by themselves.
EVIDENCE = 4.0


@dataclass(frozen=True)
class Scaling:
    """Log odds of group g: ``scale[g] * margin + shift[g]`` (Platt scaling, shrunk to a common scale)."""

    scale: Float
    shift: Float

    def proba(self, margin: Float, groups: Int | None) -> Float:
        """Probabilities of the rows given their groups (rows,), or under every group (rows, groups)."""
        if groups is None:
            return np.asarray(expit(margin[:, None] * self.scale + self.shift))
        return np.asarray(expit(margin * self.scale[groups] + self.shift[groups]))


@dataclass(frozen=True)
class LinearProbability:
    """Calibrated probabilities of a logistic regression; ``inverse`` warm-starts its perturbed copies."""

    beta: Float
    scaling: Scaling
    inverse: Any = None

    def proba(self, X: Any, groups: Int | None) -> Float:
        """See :meth:`Scaling.proba`."""
        return self.scaling.proba(np.clip(X @ self.beta[:-1] + self.beta[-1], -CLIP, CLIP), groups)


@dataclass(frozen=True)
class FittedProbability:
    """Calibrated probabilities of any fitted classifier."""

    estimator: Any
    scaling: Scaling

    def proba(self, X: Any, groups: Int | None) -> Float:
        """See :meth:`Scaling.proba`."""
        return self.scaling.proba(_margins(self.estimator, X), groups)


@dataclass(frozen=True)
class Calibration:
    """A calibrated model, the out-of-fold margins of the labelled rows, and how it was chosen."""

    model: LinearProbability | FittedProbability
    out_of_fold: Float
    ridge: float | None
    log_loss: float


def folds_by_cell(groups: Int, y: Float, n_folds: int, rng: np.random.Generator) -> Int:
    """Fold of each row, balanced within every (group, label) cell, whatever the groups are called.

    Examples
    --------
    >>> fold = folds_by_cell(np.zeros(10, int), np.array([0.0, 1.0] * 5), 5, np.random.default_rng(0))
    >>> np.bincount(fold).tolist()
    [2, 2, 2, 2, 2]
    """
    fold = np.empty(len(y), dtype=np.int64)
    cell = 2 * groups + y.astype(np.int64)
    start = 0
    _, first = np.unique(cell, return_index=True)
    for c in cell[np.sort(first)]:  # in order of appearance: codes depend on the groups' names
        rows = rng.permutation(np.flatnonzero(cell == c))
        fold[rows] = (np.arange(len(rows)) + start) % n_folds
        start += len(rows)
    return fold


def calibrate(
    X: Any,
    y: Float,
    weight: Float,
    calibration_weight: Float,
    groups: Int,
    n_groups: int,
    fold: Int,
    *,
    estimator: Any = None,
    ridges: tuple[float, ...] = RIDGES,
) -> Calibration:
    """Fit probabilities on all rows, with ridge and scaling from the rows held out.

    Probabilities that are calibrated within a group, given the score, give that group's rates at any
    threshold without bias, even where the model is wrong; so groups are scaled by themselves where the
    labels show that one scale does not fit them all.

    Parameters
    ----------
    X, y : labelled rows and their 0/1 labels
    weight : ndarray
        Weights of the fit and of the log loss that chooses the ridge.
    calibration_weight : ndarray
        Weights of the scaling, e.g. inverse propensities, so that it is right on the pool.
    groups, n_groups : ndarray of codes, int
    fold : ndarray
        See :func:`folds_by_cell`.
    estimator : classifier with ``predict_proba``, optional
        None is logistic regression with a ridge from ``ridges``.
    """
    held = fold[None, :] == np.unique(fold)[:, None]
    if estimator is not None:
        margins = _held_out_margins(estimator, X, y, weight, held)[None, :]
    else:
        X1 = with_intercept(np.asarray(X, dtype=np.float64))
        margins, ridge_fits = _held_out_by_ridge(X1, y, weight, held, ridges)
    margins = np.clip(margins, -CLIP, CLIP)
    temperature = _temperatures(margins, y, calibration_weight)
    losses = np.logaddexp(0.0, -(2.0 * y - 1.0) * temperature[:, None] * margins) @ weight / weight.sum()
    best = int(np.argmin(losses))
    scaling = _scale_by_group(
        margins[best], y, calibration_weight, groups, n_groups, float(temperature[best])
    )
    out_of_fold = margins[best]
    model: LinearProbability | FittedProbability
    if estimator is not None:
        model = FittedProbability(_fit(estimator, X, y, weight), scaling)
        return Calibration(model, out_of_fold, None, float(losses[0]))
    fit = solve_logistic(
        X1, y[None, :], weight[None, :] + 1e-12, ridge=ridges[best], start=ridge_fits[best], tol=1e-6
    )
    model = LinearProbability(fit.beta[0], scaling, fit.inverse[0])
    return Calibration(model, out_of_fold, ridges[best], float(losses[best]))


def _scale_by_group(
    margin: Float, y: Float, weight: Float, groups: Int, n_groups: int, temperature: float
) -> Scaling:
    """One scale for all; or, where the labels plainly ask for it, a shift and a scale for each group.

    Two numbers a group cost more noise than they remove bias when one scale fits, so they are used only
    when the likelihood gains four times what chance would give them.
    """
    w = weight / weight.sum()
    effective = weight.sum() ** 2 / (weight**2).sum()
    spread = max(float(np.std(margin)), 1e-6)
    member = (groups[:, None] == np.arange(n_groups)).astype(np.float64)
    # The last column is left unpenalised: it carries the common scale.
    columns = np.hstack([member, member * margin[:, None] / spread, margin[:, None] / spread])
    ridge = 1.0 / (GROUP_DEVIATION**2 * effective)
    fit = solve_logistic(columns, y[None, :], weight[None, :] + 1e-12, ridge=ridge, tol=1e-8)
    shift, own, common = np.split(fit.beta[0], [n_groups, 2 * n_groups])
    own_scale = Scaling(scale=np.maximum(common[0] + own, 0.05) / spread, shift=shift)
    one_scale = Scaling(scale=np.full(n_groups, temperature), shift=np.zeros(n_groups))

    def loss(scaling: Scaling) -> float:
        odds = margin * scaling.scale[groups] + scaling.shift[groups]
        return float(w @ np.logaddexp(0.0, -(2.0 * y - 1.0) * odds))

    gain = 2.0 * effective * (loss(one_scale) - loss(own_scale))
    return own_scale if gain > EVIDENCE * 2 * (n_groups - 1) else one_scale


def perturb(
    calibration: Calibration, X: Any, labels: Float, weights: Float, estimator: Any
) -> list[LinearProbability | FittedProbability]:
    """Refit with other labels or weights (k, n), at the same ridge and scaling."""
    model = calibration.model
    if isinstance(model, FittedProbability):
        return [
            replace(model, estimator=_fit(estimator, X, y, w)) for y, w in zip(labels, weights, strict=True)
        ]
    k = len(labels)
    start = LogisticFit(np.tile(model.beta, (k, 1)), np.tile(model.inverse, (k, 1, 1)))
    X1 = with_intercept(np.asarray(X, dtype=np.float64))
    assert calibration.ridge is not None
    fits = solve_logistic(X1, labels, weights + 1e-12, ridge=calibration.ridge, start=start)
    return [replace(model, beta=beta) for beta in fits.beta]


def _held_out_by_ridge(
    X1: Float, y: Float, weight: Float, held: Any, ridges: tuple[float, ...]
) -> tuple[Float, list[LogisticFit]]:
    """Margins (ridges, n) of rows by the model that did not see them: all folds and ridges in one batch."""
    n_folds = len(held)
    w = np.where(held, 0.0, weight[None, :]) + 1e-12
    batch = np.tile(w, (len(ridges), 1))
    fit = solve_logistic(X1, np.tile(y, (len(batch), 1)), batch, ridge=np.repeat(ridges, n_folds))
    scores = (fit.beta @ X1.T).reshape(len(ridges), n_folds, len(y))
    margins = (scores * held[None, :, :]).sum(axis=1)
    firsts = range(0, len(batch), n_folds)
    return margins, [LogisticFit(fit.beta[i : i + 1], fit.inverse[i : i + 1]) for i in firsts]


def _held_out_margins(estimator: Any, X: Any, y: Float, weight: Float, held: Any) -> Float:
    margins = np.zeros(len(y))
    for rows in held:
        if rows.any():
            model = _fit(estimator, _take(X, ~rows), y[~rows], weight[~rows])
            margins[rows] = _margins(model, _take(X, rows))
    return margins


def _fit(estimator: Any, X: Any, y: Float, weight: Float) -> Any:
    if len(np.unique(y)) < 2:
        return float(y[0])  # one class so far: its label is all that is known
    name = weight_parameter(estimator)
    given = {} if name is None else {name: weight * (len(y) / weight.sum())}
    return clone(estimator).fit(X, y.astype(np.int64), **given)


def _margins(model: Any, X: Any) -> Float:
    if isinstance(model, float):
        return np.full(len(X), 4.0 if model == 1.0 else -4.0)
    return np.asarray(logit(np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6)))


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[np.flatnonzero(rows)] if hasattr(X, "iloc") else X[rows]


def _temperatures(margins: Float, y: Float, weight: Float) -> Float:
    """Scale of each row of margins with the least weighted log loss, by Newton's method."""
    sign, w = 2.0 * y - 1.0, weight / weight.sum()
    m = sign * margins
    scale = np.ones(len(m))
    for _ in range(30):
        wrong = expit(-scale[:, None] * m)
        # A weak pull to 0 keeps separable margins finite.
        slope = -(w * wrong * m).sum(axis=1) + 1e-3 * scale
        curve = (w * wrong * (1.0 - wrong) * m * m).sum(axis=1) + 1e-3
        scale = np.clip(scale - np.clip(slope / curve, -1.0, 1.0), 0.05, 10.0)
    return scale
