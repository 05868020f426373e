"""EmpiricalFairOracle: the paper's EFO as a scikit-learn classifier, and the base learners it is made of."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from fairask.blas import small_problem
from fairask.classifiers import Classifier, weight_parameter
from fairask.errors import EmptyCellWarning, InfeasibleWarning, InterpolationWarning
from fairask.matrix import row_count, take_rows
from fairask.metrics import Float, Int, Matrix, Metric
from fairask.oracle.base import FairOracle, Labelled, PerturbedModel, PoolSample, Seed
from fairask.oracle.logistic import (
    SEPARABLE_RIDGE,
    LogisticFit,
    fast_ridge,
    held_back,
    row_space,
    solve_in_row_space,
    solve_logistic,
    with_intercept,
)
from fairask.oracle.reduction import FairnessMoments, Solution, search
from fairask.rules import ConstantRule, FittedRule, LinearRule, Rule


class EmpiricalFairOracle(FairOracle):
    """Most accurate classifier whose gap on the weighted sample is at most ``tolerance``.

    Solves the paper's empirical problem, min R(h) subject to L(h) <= tolerance, by the reduction of
    Agarwal et al. (2018) with column generation. The tolerance is the metric itself: the largest
    pairwise difference of rates, on the weighted sample.

    Parameters
    ----------
    estimator : classifier, optional
        Base learner. None is logistic regression without penalty. Logistic regression (any ridge) takes
        a fast path; any other scikit-learn classifier or pipeline works, through ``sample_weight`` where
        its ``fit`` takes it and through weighted resampling where not.
    metric : {"tprp", "fprp", "eo", "dp"}
        What must be alike: true positive rates, false positive rates, both, or selection rates.
    tolerance : float in [0, 1]
        Largest allowed difference.
    randomized : bool
        Return the best mixture of classifiers (True) or the best single one (False).
    shift_threshold : bool
        On the fast path, move each candidate's threshold to where its weighted error is least.
    max_fits : int
        Most base-learner fits.
    random_state : int, RandomState, Generator or None
        Seeds randomised predictions and resampling.
    sensitive_features : str or int, optional
        Name or position of the protected column of ``X``, for tools that pass ``X`` and ``y`` alone, such as
        ``GridSearchCV`` or ``cross_validate``. The column tells the groups and is no feature.
    without_groups : bool
        Fit without groups, and so without a constraint. A fit without groups is refused otherwise.

    Attributes
    ----------
    members_, weights_ : list, ndarray
        The mixture of rules and their probabilities.
    error_, gap_ : float
        Of the mixture on the weighted sample.
    rates_ : dict
        Rate of predicting the positive class by (condition, group).
    multipliers_ : ndarray
        Price of each pairwise constraint at the optimum; 0 where it does not bind.
    n_fits_ : int
    feasible_ : bool
    interpolates_ : bool
        Whether a linear rule separates the rows without error, so that ``error_`` says nothing.
    groups_, classes_ : ndarray

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 2)) + group[:, None]
    >>> y = (X[:, 0] + rng.normal(size=400) > 0.5).astype(int)
    >>> oracle = EmpiricalFairOracle(tolerance=0.05, random_state=0)
    >>> oracle.fit(X, y, sensitive_features=group).gap_ <= 0.05 + 1e-7
    True
    """

    def __init__(
        self,
        estimator: Classifier | None = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        randomized: bool = True,
        shift_threshold: bool = True,
        max_fits: int = 60,
        random_state: Seed = None,
        sensitive_features: str | int | None = None,
        without_groups: bool = False,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.tolerance = tolerance
        self.randomized = randomized
        self.shift_threshold = shift_threshold
        self.max_fits = max_fits
        self.random_state = random_state
        self.sensitive_features = sensitive_features
        self.without_groups = without_groups

    def fit_labelled(self, labelled: Labelled, background: PoolSample | None = None) -> EmpiricalFairOracle:
        """See :class:`FairOracle`; this oracle looks at its labelled rows alone."""
        self._name(labelled)
        moments = FairnessMoments.of(labelled, self.metric)
        (solution,) = self._search(labelled.X, moments)
        self.members_, self.weights_ = solution.members
        self.error_, self.gap_ = solution.mixture.error, solution.mixture.gap
        self.multipliers_, self.feasible_ = solution.mixture.multipliers, solution.mixture.feasible
        self.n_fits_ = len(solution.candidates.errors)
        self._least_error = solution.candidates.errors[0]
        self.interpolates_ = self._least_error < 1e-12 or self._held_back(
            labelled, solution.candidates.rules[0]
        )
        self.rates_ = self._named_rates(np.where(moments.occupied[0], solution.rates, np.nan))
        self._warn(len(labelled))
        self._note_decisions(self._positive(labelled.X, labelled.groups), None)
        return self

    def perturbed(
        self, labelled: Labelled, labels: Float | None = None, weights: Float | None = None
    ) -> list[PerturbedModel]:
        """See :class:`FairOracle`; all copies are solved together.

        Examples
        --------
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.0, 1.0, 1.0])
        >>> rows = Labelled.of(X, y, np.array([0, 1, 0, 1]), ["a", "b"])
        >>> flipped = np.array([y, [0.0, 1.0, 1.0, 1.0]])
        >>> [model.error for model in EmpiricalFairOracle().perturbed(rows, flipped)]
        [0.0, 0.0]
        """
        solutions = self._search(labelled.X, FairnessMoments.of(labelled, self.metric, labels, weights))
        return [PerturbedModel(*solution.members, solution.mixture.error) for solution in solutions]

    def _search(self, X: Matrix, moments: FairnessMoments) -> list[Solution[Any]]:
        rng, ridge = self._rng(), fast_ridge(self.estimator, row_count(X))
        learner = (
            EstimatorLearner(self.estimator, X, rng)
            if ridge is None
            else LogisticLearner(X, ridge, self.shift_threshold)
        )
        tolerance = float(self.tolerance)
        return search(moments, learner, tolerance, randomized=self.randomized, max_fits=self.max_fits)

    def _held_back(self, labelled: Labelled, rule: object) -> bool:
        """Whether the rows are separable, though the unconstrained fit does not separate them."""
        X = labelled.X
        if not (isinstance(rule, LinearRule) and isinstance(X, np.ndarray) and X.shape[1] < len(X)):
            return False
        if fast_ridge(self.estimator, len(X)) != SEPARABLE_RIDGE:
            return False
        return held_back(X, labelled.y, labelled.risk_weights, rule.beta)

    def _warn(self, n: int) -> None:
        if len(self.groups_) == 1:
            return
        empty = [
            f"({condition}, {group!r})" for (condition, group), rate in self.rates_.items() if np.isnan(rate)
        ]
        if empty:
            warnings.warn(
                f"no labelled weight in {', '.join(empty)}: the rate is unknown and unconstrained",
                EmptyCellWarning,
                stacklevel=3,
            )
        if self.interpolates_ and self._least_error >= 1e-12:
            warnings.warn(
                f"these {n} rows can be separated, but only just: the smallest ridge ({SEPARABLE_RIDGE:g}) "
                f"leaves the unconstrained fit an error of {self._least_error:.3f}; use more labels, fewer "
                "features or a penalised estimator",
                InterpolationWarning,
                stacklevel=3,
            )
        elif self.interpolates_:
            warnings.warn(
                f"the model separates its {n} rows without error, so the constraint "
                "has no effect; use more labels, fewer features or a penalised estimator",
                InterpolationWarning,
                stacklevel=3,
            )
        if not self.feasible_:
            warnings.warn(
                f"no classifier within tolerance={self.tolerance} was found: the best has a gap of "
                f"{self.gap_:.3f}",
                InfeasibleWarning,
                stacklevel=3,
            )


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
        rules = [LinearRule(b, h) for b, h in zip(self.space.lift(beta), fit.inverse, strict=True)]
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
        return self.space.lower(np.array([rule.beta for rule in rules]))

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
