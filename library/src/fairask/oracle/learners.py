"""Base learners of the dual search: batched logistic regression, and any scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairask.blas import small_problem
from fairask.classifiers import Classifier
from fairask.matrix import take_rows
from fairask.metrics import Float, Int, Matrix
from fairask.oracle.logistic import SEPARABLE_RIDGE, LogisticFit, solve_logistic, with_intercept
from fairask.oracle.row_space import row_space, solve_in_row_space
from fairask.rules import ConstantRule, FittedRule, LinearRule, Rule


class LogisticLearner:
    """Logistic regression for all problems at once, warm-started."""

    batched = True

    def __init__(self, X: Matrix, ridge: float = SEPARABLE_RIDGE, shift: bool = True) -> None:
        self.space, self.ridge, self.shift = row_space(X), ridge, shift
        self.X1 = with_intercept(self.space.Z)
        self.X1_single = self.X1.astype(np.float32)

    def fit(
        self, costs: Float, multipliers: Float, starts: Sequence[LinearRule] | None
    ) -> tuple[list[LinearRule], Float]:
        """See :class:`BaseLearner`."""
        solve = self._solve_reduced if self.space.reduced else self._solve
        with small_problem(len(costs) * self.X1.size):
            fit = solve((costs < 0).astype(np.float64), np.abs(costs) + 1e-12, starts)
            beta, scores = fit.beta, fit.beta @ self.X1.T
        if self.shift:
            shift = best_shift(scores, costs)
            beta[:, -1] -= shift
            scores -= shift[:, None]
        if self.space.reduced:
            beta = np.hstack([self.space.lift(beta[:, :-1]), beta[:, -1:]])
        rules = [LinearRule(b, h) for b, h in zip(beta, fit.inverse, strict=True)]
        return rules, (scores > 0).astype(np.float64)

    def _solve(self, target: Float, weight: Float, starts: Sequence[LinearRule] | None) -> LogisticFit:
        start = None
        if starts is not None:
            start = LogisticFit(np.array([r.beta for r in starts]), np.array([r.inverse for r in starts]))
        return solve_logistic(
            self.X1, target, weight, ridge=self.ridge, start=start, X1_single=self.X1_single
        )

    def _solve_reduced(
        self, target: Float, weight: Float, starts: Sequence[LinearRule] | None
    ) -> LogisticFit:
        penalty = np.full((len(target), self.X1.shape[1]), self.ridge)
        start = None if starts is None else self._lowered(starts)
        beta = solve_in_row_space(self.X1, target, weight, penalty, start=start, tol=1e-4)
        return LogisticFit(beta, np.zeros((len(beta), 0, 0), dtype=np.float32))

    def _lowered(self, rules: Sequence[LinearRule]) -> Float:
        """Coefficients on the coordinates in which rows are fitted."""
        beta = np.array([rule.beta for rule in rules])
        if not self.space.reduced:
            return beta
        return np.hstack([self.space.lower(beta[:, :-1]), beta[:, -1:]])

    def cuts(self, rule: LinearRule) -> tuple[Int, Float]:
        """Rows in the order of their score, and the n + 1 thresholds between them (NaN between equals)."""
        scores = self.X1 @ self._lowered([rule])[0]
        order = np.argsort(scores)
        ranked = scores[order]
        between = np.where(np.diff(ranked) > 1e-9, 0.5 * (ranked[1:] + ranked[:-1]), np.nan)
        return order, np.r_[ranked[0] - 1.0, between, ranked[-1] + 1.0]


def best_shift(scores: Float, costs: Float) -> Float:
    """Shift of each row of scores that makes ``scores > shift`` cheapest on the sample; 0 if none helps.

    Logistic loss is a surrogate: its direction is good, its threshold not the one with the least
    weighted error. Moving the threshold stays within linear classifiers and costs one sort.

    Examples
    --------
    >>> best_shift(np.array([[-2.0, -1.0, 1.0]]), np.array([[1.0, -1.0, -1.0]]))
    array([-1.5])
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    gains = np.cumsum(np.take_along_axis(costs, order, axis=1)[:, ::-1], axis=1)[:, ::-1]
    rows = np.arange(len(scores))
    # Predicting 1 from rank j on costs gains[:, j]; equal scores cannot be separated.
    split = np.where(np.diff(ranked, axis=1, prepend=-np.inf) > 1e-9, gains, np.inf)
    best = split.argmin(axis=1)
    below = ranked[rows, np.maximum(best - 1, 0)]
    shift = np.where(best > 0, 0.5 * (below + ranked[rows, best]), ranked[:, 0] - 1.0)
    none = split[rows, best] > 0.0  # predicting 0 everywhere is cheaper still
    shift = np.where(none, ranked[:, -1] + 1.0, shift)
    value = np.where(none, 0.0, split[rows, best])
    now = (costs * (scores > 0)).sum(axis=1)
    return np.where(value < now - 1e-9, shift, 0.0)


class EstimatorLearner:
    """Any classifier; those whose ``fit`` takes no weights see a weighted resample instead."""

    batched = False

    def __init__(self, estimator: Classifier | None, X: Matrix, rng: np.random.Generator) -> None:
        self.estimator, self.X, self.rng = estimator, X, rng

    def fit(
        self, costs: Float, multipliers: Float, starts: Sequence[Rule] | None
    ) -> tuple[list[Rule], Float]:
        """See :class:`BaseLearner`."""
        rules = [self._fit_one((c < 0).astype(np.int64), np.abs(c)) for c in costs]
        return rules, np.array([rule.decide(self.X) for rule in rules], dtype=np.float64)

    def _fit_one(self, target: Int, weight: Float) -> Rule:
        # Rows without cost have no effect, and a learner may refuse zero weights for a whole class.
        useful = weight > 0
        if len(set(target[useful].tolist())) < 2:
            return ConstantRule(bool(target[useful][0]) if useful.any() else False)
        estimator = clone(self.estimator)
        weight = weight * (len(weight) / weight.sum())
        name = weight_parameter(estimator)
        if name is not None:
            # A pipeline takes weights by the name of its step, as it does without metadata routing.
            with config_context(enable_metadata_routing=False):
                return FittedRule(estimator.fit(self.X, target, **{name: weight}))
        rows = self.rng.choice(len(weight), size=len(weight), p=weight / weight.sum())
        if len(set(target[rows].tolist())) < 2:
            return ConstantRule(bool(target[rows][0]))
        return FittedRule(estimator.fit(take_rows(self.X, rows), target[rows]))


def weight_parameter(estimator: object) -> str | None:
    """Name under which ``estimator.fit`` takes sample weights, looking into a pipeline's last step.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameter(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{step}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
