"""Calibrated probabilities from few labels: regularisation and scaling chosen out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn import config_context
from sklearn.base import clone

from fairask.classifiers import Classifier, weight_parameter
from fairask.matrix import take_rows
from fairask.metrics import Bool, Float, Int, Matrix
from fairask.oracle.base import Labelled
from fairask.oracle.logistic import LogisticFit, RowSpace, row_space, solve_in_row_space, solve_logistic
from fairask.rules import CLIP, FittedProbability, LinearProbability, Scaling

#: Ridges on the mean loss among which the out-of-fold log loss chooses.
RIDGES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1)
#: Prior standard deviation, in log odds, of a group's intercept from the common one: wide, so that it only
#: matters while a group has few labels, or labels of one class.
INTERCEPT_DEVIATION = 2.0
#: Held-out probabilities of an ensemble are kept this far from 0 and 1.
_SMALLEST = 1e-3
_PLAIN = Scaling(np.ones(1), np.zeros(1))


@runtime_checkable
class HeldOutClassifier(Protocol):
    """A fitted ensemble that predicts its own training rows as if it had not seen them.

    The oracle fits such a classifier once, where any other is fitted once more for each fold and for each
    perturbed copy. :class:`fairask.oracle.LinearForestClassifier` is one.
    """

    #: Probability of class 1 for each training row, by parts of the ensemble that did not see the row.
    held_out_: Float

    def committee(self, X: Matrix, y: Float, weights: Float) -> Sequence[Any]:
        """Return k classifiers that differ as much as labels and weights (k, rows) leave open."""
        ...

    def frozen(self) -> Any:
        """Return a classifier with the same ``predict_proba`` that keeps nothing else."""
        ...


@dataclass(frozen=True)
class Calibration:
    """A calibrated model, the out-of-fold scores of the labelled rows, and how it was chosen.

    The scores are those that ``model.scaling`` takes. ``ensemble`` is the fitted classifier if it has a
    committee of its own.
    """

    model: LinearProbability | FittedProbability
    out_of_fold: Float
    ridge: float | None
    log_loss: float
    space: RowSpace | None = None  #: coordinates of the labelled rows, for the perturbed copies
    ensemble: HeldOutClassifier | None = None


def folds_by_label(
    groups: Int, y: Float, n_folds: int, rng: np.random.Generator, clusters: Int | None = None
) -> Int:
    """Fold of each row, balanced within every group and label, whatever the groups are called.

    Rows of one of the ``clusters`` share their fold.

    Examples
    --------
    >>> fold = folds_by_label(np.zeros(10, int), np.array([0.0, 1.0] * 5), 5, np.random.default_rng(0))
    >>> np.bincount(fold).tolist()
    [2, 2, 2, 2, 2]
    """
    if clusters is not None:
        _, first, place = np.unique(clusters, return_index=True, return_inverse=True)
        return folds_by_label(groups[first], y[first], n_folds, rng)[place]
    fold = np.empty(len(y), dtype=np.int64)
    kind = 2 * groups + y.astype(np.int64)
    start = 0
    _, first = np.unique(kind, return_index=True)
    for k in kind[np.sort(first)]:  # in order of appearance: codes depend on the groups' names
        rows = rng.permutation(np.flatnonzero(kind == k))
        fold[rows] = (np.arange(len(rows)) + start) % n_folds
        start += len(rows)
    return fold


def calibrate(
    labelled: Labelled,
    fold: Int,
    *,
    estimator: Classifier | None = None,
    ridges: tuple[float, ...] = RIDGES,
) -> Calibration:
    """Fit probabilities on all rows, with ridge and scaling from the rows held out.

    Probabilities that are calibrated within a group, given the score, give that group's rates at any
    threshold without bias, even where the model is wrong; so every group has its own intercept. The risk
    weights weight the fit, and the log loss that chooses ridge and scaling.

    Parameters
    ----------
    labelled : Labelled
    fold : ndarray
        See :func:`folds_by_label`.
    estimator : classifier with ``predict_proba``, optional
        None is logistic regression with a ridge from ``ridges``.
    """
    X, y, weight = labelled.X, labelled.y, labelled.risk_weights
    groups, n_groups = labelled.groups, labelled.n_groups
    held = fold[None, :] == np.unique(fold)[:, None]
    fitted = None if estimator is None else _fit(estimator, X, y, weight)
    ensemble = fitted if isinstance(fitted, HeldOutClassifier) else None
    if ensemble is not None:
        scores = logit(np.clip(ensemble.held_out_, _SMALLEST, 1.0 - _SMALLEST))[None, :]
    elif estimator is not None:
        scores = _held_out_scores(estimator, X, y, weight, held)[None, :]
    else:
        space = row_space(X)
        X1 = _with_groups(space.Z, groups, n_groups)
        penalty = _penalty(ridges, len(y), space.Z.shape[1], n_groups)
        held_out = _held_out_reduced if space.reduced else _held_out_by_ridge
        scores, parts, ridge_fits = held_out(X1, y, weight, held, penalty, n_groups)
    scores = np.clip(scores, -CLIP, CLIP)
    temperature = _temperatures(scores, y, weight)
    losses = np.logaddexp(0.0, -(2.0 * y - 1.0) * temperature[:, None] * scores) @ weight / weight.sum()
    best = int(np.argmin(losses))
    scaling = _scale(scores[best], y, weight, groups, n_groups)
    out_of_fold = scores[best]
    model: LinearProbability | FittedProbability
    if estimator is not None:
        model = FittedProbability(fitted if ensemble is None else ensemble.frozen(), scaling)
        return Calibration(model, out_of_fold, None, float(losses[0]), ensemble=ensemble)
    fit = ridge_fits[best]
    if not space.reduced:  # there the fit is on all rows already
        fit = solve_logistic(
            X1, y[None, :], weight[None, :] + 1e-12, ridge=penalty[best][None], start=fit, tol=1e-6
        )
    model = _linear(space.lift(fit.beta)[0], n_groups, scaling, fit.inverse[0])
    return Calibration(model, np.clip(parts[best], -CLIP, CLIP), ridges[best], float(losses[best]), space)


def _with_groups(X: Float, groups: Int, n_groups: int) -> Float:
    """Append one column per group, and the intercept's."""
    member = groups[:, None] == np.arange(n_groups)
    return np.hstack([X, member, np.ones((len(member), 1))])


def _penalty(ridges: Sequence[float], n: int, features: int, n_groups: int) -> Float:
    """The ridge on features, (ridges, columns); the groups' intercepts have their own, which hardly binds.

    The features' ridge would shrink them: it overstates the positives of the group that has few, and so
    understates its rates.
    """
    own = np.full(n_groups + 1, 1.0 / (n * INTERCEPT_DEVIATION**2))
    return np.array([np.append(np.full(features, ridge), own) for ridge in ridges])


def _linear(
    beta: Float, n_groups: int, scaling: Scaling, inverse: NDArray[np.float32] | None
) -> LinearProbability:
    weights, intercepts = beta[: -n_groups - 1], beta[-n_groups - 1 : -1] + beta[-1]
    shifted = Scaling(scaling.scale, scaling.shift + scaling.scale * intercepts)
    return LinearProbability(np.append(weights, 0.0), shifted, intercepts, inverse)


def _scale(score: Float, y: Float, weight: Float, groups: Int, n_groups: int) -> Scaling:
    """One scale for all, and a shift for each group.

    A scale below 1 alone moves all probabilities towards one half, and so overstates the positives of a
    group that has few. The shifts keep each group's share of positives as the labels have it.
    """
    X1 = _with_groups(score[:, None], groups, n_groups)
    penalty = _penalty([1e-3], len(y), 1, n_groups)
    beta = solve_logistic(X1, y[None, :], weight[None, :] + 1e-12, ridge=penalty, tol=1e-8).beta[0]
    return Scaling(np.full(n_groups, max(beta[0], 0.05)), beta[1:-1] + beta[-1])


def perturb(
    calibration: Calibration,
    labelled: Labelled,
    labels: Float,
    weights: Float,
    estimator: Classifier | None,
) -> list[LinearProbability | FittedProbability]:
    """Refit with other labels or risk weights (k, n), at the same ridge and scaling."""
    X, groups = labelled.X, labelled.groups
    model = calibration.model
    if calibration.ensemble is not None:
        members = calibration.ensemble.committee(X, labels, weights)
        assert isinstance(model, FittedProbability)
        return [replace(model, estimator=member) for member in members]
    if isinstance(model, FittedProbability):
        return [
            replace(model, estimator=_fit(estimator, X, y, w)) for y, w in zip(labels, weights, strict=True)
        ]
    k = len(labels)
    assert calibration.ridge is not None
    assert model.intercepts is not None
    assert model.inverse is not None
    n_groups = len(model.intercepts)
    space = row_space(X) if calibration.space is None else calibration.space
    beta = np.concatenate([space.lower(model.beta[None, :-1])[0], model.intercepts, [0.0]])
    X1 = _with_groups(space.Z, groups, n_groups)
    penalty = _penalty([calibration.ridge], labels.shape[1], space.Z.shape[1], n_groups)
    begin = np.tile(beta, (k, 1))
    if space.reduced:
        betas = solve_in_row_space(X1, labels, weights + 1e-12, np.tile(penalty, (k, 1)), start=begin)
    else:
        start = LogisticFit(begin, np.tile(model.inverse, (k, 1, 1)))
        betas = solve_logistic(X1, labels, weights + 1e-12, ridge=penalty, start=start).beta
    scale = model.scaling
    bare = Scaling(scale.scale, scale.shift - scale.scale * model.intercepts)
    return [_linear(beta, n_groups, bare, None) for beta in space.lift(betas)]


def _held_out_by_ridge(
    X1: Float, y: Float, weight: Float, held: Bool, penalty: Float, n_groups: int
) -> tuple[Float, Float, list[LogisticFit]]:
    """Scores (ridges, n) of rows by the model that did not see them: all folds and ridges in one batch.

    Also the part of the scores that the groups' intercepts are not in.
    """
    n_folds = len(held)
    w = np.where(held, 0.0, weight[None, :]) + 1e-12
    batch = np.tile(w, (len(penalty), 1))
    fit = solve_logistic(X1, np.tile(y, (len(batch), 1)), batch, ridge=np.repeat(penalty, n_folds, axis=0))
    firsts = range(0, len(batch), n_folds)
    starts = [LogisticFit(fit.beta[i : i + 1], fit.inverse[i : i + 1]) for i in firsts]
    return (*_held_out(X1, fit.beta, held, n_groups), starts)


def _held_out_reduced(
    X1: Float, y: Float, weight: Float, held: Bool, penalty: Float, n_groups: int
) -> tuple[Float, Float, list[LogisticFit]]:
    """The same in the space of the rows; the fits that are returned are those on all rows, to full precision.

    The folds start from them. A loss that is off by little leaves scores of other rows off by much where
    there are as many columns as rows, so the folds are solved to full precision too.
    """
    k, n_folds = len(penalty), len(held)
    whole = solve_in_row_space(X1, np.tile(y, (k, 1)), np.tile(weight + 1e-12, (k, 1)), penalty)
    w = np.tile(np.where(held, 0.0, weight[None, :]) + 1e-12, (k, 1))
    start, ridges = np.repeat(whole, n_folds, axis=0), np.repeat(penalty, n_folds, axis=0)
    beta = solve_in_row_space(X1, np.tile(y, (len(w), 1)), w, ridges, start=start)
    none = np.zeros((1, 0, 0), dtype=np.float32)
    return (*_held_out(X1, beta, held, n_groups), [LogisticFit(one[None], none) for one in whole])


def _held_out(X1: Float, beta: Float, held: Bool, n_groups: int) -> tuple[Float, Float]:
    """Scores (ridges, n) of rows held out, with and without the groups' intercepts."""
    shape = (-1, *held.shape)
    features, intercepts = slice(None, -n_groups - 1), slice(-n_groups - 1, None)
    part = (beta[:, features] @ X1[:, features].T).reshape(shape)
    group = (beta[:, intercepts] @ X1[:, intercepts].T).reshape(shape)
    parts, scores = ((m * held[None, :, :]).sum(axis=1) for m in (part, part + group))
    return scores, parts


def _held_out_scores(estimator: Classifier, X: Matrix, y: Float, weight: Float, held: Bool) -> Float:
    scores = np.zeros(len(y))
    for rows in held:
        if rows.any() and not rows.all():
            model = _fit(estimator, take_rows(X, ~rows), y[~rows], weight[~rows])
            scores[rows] = FittedProbability(model, _PLAIN).scores(take_rows(X, rows))
    return scores


def _fit(estimator: Classifier | None, X: Matrix, y: Float, weight: Float) -> Any:
    if len(np.unique(y)) < 2:
        return float(y[0])  # one class so far: its label is all that is known
    name = weight_parameter(estimator)
    given = {} if name is None else {name: weight * (len(y) / weight.sum())}
    # A pipeline takes weights by the name of its step, as it does without metadata routing.
    with config_context(enable_metadata_routing=False):
        return clone(estimator).fit(X, y.astype(np.int64), **given)


def _temperatures(scores: Float, y: Float, weight: Float) -> Float:
    """Scale of each row of scores with the least weighted log loss, by Newton's method."""
    sign, w = 2.0 * y - 1.0, weight / weight.sum()
    m = sign * scores
    scale = np.ones(len(m))
    for _ in range(30):
        wrong = expit(-scale[:, None] * m)
        # A weak penalty keeps the scale of separable scores finite.
        slope = -(w * wrong * m).sum(axis=1) + 1e-3 * scale
        curve = (w * wrong * (1.0 - wrong) * m * m).sum(axis=1) + 1e-3
        scale = np.clip(scale - np.clip(slope / curve, -1.0, 1.0), 0.05, 10.0)
    return scale
