"""EmpiricalFairOracle: the paper's EFO as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairask.checks import check_lengths
from fairask.classifiers import Classifier
from fairask.errors import EmptyCellWarning, InfeasibleWarning, InterpolationWarning
from fairask.matrix import row_count
from fairask.metrics import Float, Matrix, Metric, encode_groups
from fairask.oracle._moments import FairnessMoments
from fairask.oracle._search import Solution, search
from fairask.oracle.base import FairOracle, PerturbedModel, Seed
from fairask.oracle.labelled import Labelled, PoolSample, check_weight
from fairask.oracle.learners import EstimatorLearner, LogisticLearner
from fairask.oracle.logistic import SEPARABLE_RIDGE, fast_ridge, held_back
from fairask.rules import LinearRule
from fairask.tables.groups import check_group_count


class EmpiricalFairOracle(FairOracle):
    """Most accurate classifier whose violation on the weighted sample is at most ``tolerance``.

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

    Attributes
    ----------
    members_, weights_ : list, ndarray
        The mixture of rules and their probabilities.
    error_, violation_ : float
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
    >>> oracle.fit(X, y, sensitive_features=group).violation_ <= 0.05 + 1e-7
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
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.tolerance = tolerance
        self.randomized = randomized
        self.shift_threshold = shift_threshold
        self.max_fits = max_fits
        self.random_state = random_state
        self.sensitive_features = sensitive_features

    def fit(
        self,
        X: Matrix,
        y: ArrayLike,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        fairness_weight: ArrayLike | None = None,
    ) -> EmpiricalFairOracle:
        """Fit on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Two classes; the larger value in sorted order is the positive one.
        sensitive_features : array-like of shape (n,), optional
            Group of each row. Without it there is nothing to constrain.
        sample_weight : array-like of shape (n,), optional
            Importance weights of the rows in the error.
        fairness_weight : array-like of shape (n,), optional
            Importance weights of the rows in the rates; by default those in the error.
        """
        self.check_settings()
        X, labels, classes, sensitive_features = self._training_rows(X, y, sensitive_features)
        n = len(labels)
        weight = check_weight(sample_weight, n, "sample_weight")
        fairness = weight if fairness_weight is None else check_weight(fairness_weight, n, "fairness_weight")
        if sensitive_features is None:
            groups: list[Any] = [None]
            codes = np.zeros(n, dtype=np.int64)
        else:
            groups, codes = encode_groups(sensitive_features, "sensitive_features")
            check_lengths(X=n, sensitive_features=len(codes))
            check_group_count(groups)
        self.fit_labelled(Labelled.of(X, labels, codes, groups, weight, fairness))
        self.classes_ = classes
        return self

    def fit_labelled(self, labelled: Labelled, background: PoolSample | None = None) -> EmpiricalFairOracle:
        """See :class:`FairOracle`; this oracle looks at its labelled rows alone."""
        self._name(labelled)
        moments = FairnessMoments.of(labelled, self.metric)
        (solution,) = self._search(labelled.X, moments)
        self.members_, self.weights_ = solution.members
        self.error_, self.violation_ = solution.mixture.error, solution.mixture.violation
        self.multipliers_, self.feasible_ = solution.mixture.multipliers, solution.mixture.feasible
        self.n_fits_ = len(solution.candidates.errors)
        self._least_error = solution.candidates.errors[0]
        self.interpolates_ = self._least_error < 1e-12 or self._held_back(
            labelled, solution.candidates.rules[0]
        )
        self.rates_ = self._named_rates(np.where(moments.occupied[0], solution.rates, np.nan))
        if "n_features_in_" not in vars(self):
            self.n_features_in_ = labelled.X.shape[1]
        self._warn(len(labelled))
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
                f"no classifier within tolerance={self.tolerance} was found: the best has a violation of "
                f"{self.violation_:.3f}",
                InfeasibleWarning,
                stacklevel=3,
            )
