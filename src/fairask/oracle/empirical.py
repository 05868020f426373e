"""EmpiricalFairOracle: the paper's EFO as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from fairask.errors import EmptyCellWarning, InfeasibleWarning, InterpolationWarning
from fairask.metrics import METRICS, Float, Int, Metric, check_metric, encode_groups
from fairask.oracle._moments import Moments
from fairask.oracle._search import BaseLearner, Solution, search
from fairask.oracle.learners import EstimatorLearner, LogisticLearner, fast_ridge
from fairask.rules import RuleMixture, decide, row_uniforms

__all__ = ["EmpiricalFairOracle", "check_tolerance", "make_learner"]


def check_tolerance(tolerance: Any, name: str = "tolerance") -> float:
    """Return ``tolerance`` if it lies in [0, 1], else raise.

    Examples
    --------
    >>> check_tolerance(2)
    Traceback (most recent call last):
        ...
    ValueError: tolerance=2 must be a number in [0, 1]
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, Real) or not 0 <= float(tolerance) <= 1:
        raise ValueError(f"{name}={tolerance!r} must be a number in [0, 1]")
    return float(tolerance)


def make_learner(estimator: Any, X: Any, rng: np.random.Generator, shift: bool = True) -> BaseLearner:
    """Return the fast path when it equals ``estimator``, else the generic one."""
    ridge = fast_ridge(estimator, len(X))
    if ridge is None:
        return EstimatorLearner(estimator, X, rng)
    return LogisticLearner(np.asarray(X, dtype=np.float64), ridge, shift)


class EmpiricalFairOracle(RuleMixture, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    random_state : int, RandomState or None
        Seeds randomised predictions and resampling.

    Attributes
    ----------
    members_, weights_ : list, ndarray
        The mixture: rules with ``decide(X)`` and their probabilities.
    error_, violation_ : float
        Of the mixture on the weighted sample.
    rates_ : dict
        Rate of predicting the positive class by (condition, group).
    multipliers_ : ndarray
        Price of each pairwise constraint at the optimum; 0 where it does not bind.
    n_fits_ : int
    feasible_, interpolates_ : bool
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
        estimator: Any = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        randomized: bool = True,
        shift_threshold: bool = True,
        max_fits: int = 60,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.tolerance = tolerance
        self.randomized = randomized
        self.shift_threshold = shift_threshold
        self.max_fits = max_fits
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: Any,
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
            Importance weights of the rows in the error, and in the rates unless
        fairness_weight : array-like of shape (n,), optional
            gives the rates weights of their own.
        """
        check_metric(self.metric)
        check_tolerance(self.tolerance)
        X, labels = self._validate(X, y)
        n = len(labels)
        weight = _check_weight(sample_weight, n, "sample_weight")
        fairness = weight if fairness_weight is None else _check_weight(fairness_weight, n, "fairness_weight")
        if sensitive_features is None:
            groups: list[Any] = [None]
            codes = np.zeros(n, dtype=np.int64)
        else:
            groups, codes = encode_groups(sensitive_features, "sensitive_features")
            if len(codes) != n:
                raise ValueError(f"lengths disagree: X has {n} rows, sensitive_features {len(codes)}")
            if len(groups) < 2:
                raise ValueError(
                    f"sensitive_features has one group only ({groups[0]!r}); two or more are needed"
                )
        return self.fit_codes(X, labels, codes, groups, weight, fairness)

    def fit_codes(
        self,
        X: Any,
        labels: Float,
        codes: Int,
        groups: list[Any],
        risk_weight: Float,
        fairness_weight: Float,
        pool: Any = None,
    ) -> EmpiricalFairOracle:
        """Fit on arrays already checked: 0/1 labels, one of which may be missing, and group codes.

        For callers that know the classes and groups beforehand (set ``classes_`` first), as a learner does
        whose first labels are all alike. This oracle looks at its labels alone: ``pool`` is not used.
        """
        tolerance = check_tolerance(self.tolerance)
        self.groups_ = np.array([*groups, None], dtype=object)[:-1]  # tuples stay whole
        moments = Moments.build(
            labels[None, :], codes, len(groups), self.metric, risk_weight, fairness_weight
        )
        (solution,) = self._search(X, moments, tolerance)
        self._store(solution, moments)
        self._warn(moments, tolerance)
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = X.shape[1]
        return self

    def _search(self, X: Any, moments: Moments, tolerance: float) -> list[Solution]:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        learner = make_learner(self.estimator, X, rng, self.shift_threshold)
        return search(moments, learner, tolerance, randomized=self.randomized, max_fits=self.max_fits)

    def solve_many(
        self,
        X: Any,
        labels: Float,
        codes: Int,
        n_groups: int,
        risk_weight: Float,
        fairness_weight: Float,
        pool: Any = None,
    ) -> list[Solution]:
        """Solve ``k`` problems on the same rows together, without changing this object.

        Parameters
        ----------
        labels : ndarray of shape (k, n)
            0/1 labels of each problem, e.g. label-flipped copies.
        codes : ndarray of shape (n,)
            Group of each row, 0 .. n_groups - 1.
        risk_weight, fairness_weight : ndarray of shape (n,) or (k, n)

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> Y = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]])
        >>> both = EmpiricalFairOracle().solve_many(X, Y, np.array([0, 1, 0, 1]), 2, np.ones(4), np.ones(4))
        >>> [solution.mixture.error for solution in both]
        [0.0, 0.0]
        """
        check_metric(self.metric)
        moments = Moments.build(labels, codes, n_groups, self.metric, risk_weight, fairness_weight)
        return self._search(X, moments, check_tolerance(self.tolerance))

    def _validate(self, X: Any, y: ArrayLike) -> tuple[Any, Float]:
        if fast_ridge(self.estimator, 1) is not None:
            X, y = validate_data(self, X, y, dtype=np.float64)
        else:
            # A pipeline may take strings or missing values: leave the table to it.
            _, y = validate_data(self, X, y, skip_check_array=True)
            y = np.asarray(y)
        check_classification_targets(y)
        if (kind := type_of_target(y, input_name="y", raise_unknown=True)) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only ({self.classes_[0]!r}); Classifier can't train with one class"
            )
        return X, codes.astype(np.float64)

    def _store(self, solution: Solution, moments: Moments) -> None:
        self.members_, self.weights_ = solution.members
        self.error_ = solution.mixture.error
        self.violation_ = solution.mixture.violation
        self.multipliers_ = solution.mixture.multipliers
        self.feasible_ = solution.mixture.feasible
        self.n_fits_ = len(solution.candidates.errors)
        self.interpolates_ = solution.candidates.errors[0] < 1e-12
        names = {1: "y=1", 0: "y=0", None: "all"}
        rates = np.where(moments.occupied[0], solution.rates, np.nan)
        n_groups = len(self.groups_)
        self.rates_ = {
            (names[label], group): float(rates[z * n_groups + g])
            for z, label in enumerate(METRICS[self.metric])
            for g, group in enumerate(self.groups_)
        }

    def _warn(self, moments: Moments, tolerance: float) -> None:
        if len(self.groups_) == 1:
            return
        empty = [f"({cell}, {group!r})" for (cell, group), rate in self.rates_.items() if np.isnan(rate)]
        if empty:
            warnings.warn(
                f"no labelled weight in {', '.join(empty)}: the rate is unknown and unconstrained",
                EmptyCellWarning,
                stacklevel=3,
            )
        if self.interpolates_:
            warnings.warn(
                f"the model separates its {moments.risk.shape[1]} rows without error, so the constraint "
                "binds nothing; use more labels, fewer features or a penalised estimator",
                InterpolationWarning,
                stacklevel=3,
            )
        if not self.feasible_:
            warnings.warn(
                f"no classifier within tolerance={tolerance} was found: the best has a violation of "
                f"{self.violation_:.3f}",
                InfeasibleWarning,
                stacklevel=3,
            )

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if fast_ridge(self.estimator, 1) is not None:
            return validate_data(self, X, reset=False, dtype=np.float64)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def predict_proba(self, X: Any, sensitive_features: ArrayLike | None = None) -> Float:
        """Probability that the randomised classifier predicts each class, not a score of the label.

        ``sensitive_features`` are not read; they are accepted so that all fair oracles are asked alike.
        """
        rows = self._rows(X)
        positive = np.clip(self.weights_ @ decide(self.members_, rows).astype(np.float64), 0.0, 1.0)
        return np.stack([1.0 - positive, positive], axis=1)

    def predict(self, X: Any, sensitive_features: ArrayLike | None = None, random_state: Any = None) -> Any:
        """Predict classes; a mixture draws its member for each row. ``sensitive_features`` are not read.

        The draw depends on the row's values and the seed alone, not on its neighbours or order: the
        same row gets the same answer in every call with the same ``random_state``.
        """
        positive = self.predict_proba(X)[:, 1]
        if len(self.members_) == 1:
            return self.classes_[(positive > 0.5).astype(int)]
        seed = self.random_state if random_state is None else random_state
        draws = row_uniforms(X, check_random_state(seed).randint(2**31))
        return self.classes_[(draws < positive).astype(int)]


def _check_weight(weight: ArrayLike | None, n: int, name: str) -> Float:
    if weight is None:
        return np.ones(n)
    array = np.asarray(weight, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}, expected ({n},)")
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError(f"{name} must be finite, not negative and not all zero")
    return array
