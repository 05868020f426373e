"""CalibratedFairOracle: thresholds on calibrated probabilities, chosen on the unlabelled pool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted, check_random_state

from fairask.metrics import METRICS, Float, Int, Metric, check_metric, encode_groups
from fairask.oracle._moments import Moments
from fairask.oracle._search import Solution, search
from fairask.oracle.correction import GapCorrection, gap_corrections
from fairask.oracle.empirical import check_tolerance
from fairask.oracle.learners import fast_ridge
from fairask.oracle.plugin import PlugInLearner
from fairask.oracle.probability import RIDGES, calibrate, folds_by_cell, perturb
from fairask.rules import PlugInRule, RuleMixture, has_probabilities, row_uniforms, take_rows

__all__ = ["CalibratedFairOracle"]

_LARGEST_MARGIN = 0.9


class CalibratedFairOracle(RuleMixture, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Accurate classifier within a fairness tolerance, from few labels and a pool of unlabelled rows.

    1. Probabilities: regularisation and temperature are chosen out of fold.
    2. Rates and error of a rule are estimated on the pool, where features and groups are known, with
       those probabilities; the labelled rows correct the gaps, shrunk by their variances.
    3. The best rule within the tolerance is a threshold by group (or, blind to it, a threshold on the
       expected cost); it is found by the same dual search as :class:`EmpiricalFairOracle`, without refits.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        None is logistic regression with a ridge chosen out of fold (fast).
    metric, tolerance, randomized, random_state
        As in :class:`EmpiricalFairOracle`.
    level : float in [0.5, 1)
        The gap's upper limit at this one-sided level is kept within the tolerance; 0.5 is no margin.
    blind : bool
        Whether predictions must not read ``sensitive_features``. (They still read ``X``: leave the
        protected column out of it.)
    n_folds : int
    pool_rows : int
        Most rows of the pool used to choose the rule.

    Attributes
    ----------
    calibration_ : the probabilities; ``calibration_.model.proba(X, group_codes)``
    correction_ : bias, deviation and shrinkage of the gaps
    members_, weights_, error_, violation_, rates_, feasible_, n_fits_ : as in :class:`EmpiricalFairOracle`
        Error, violation and rates are the pool's estimates.
    thresholds_ : dict
        Probability from which each group is predicted positive, for the heaviest member.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("german")
    >>> few = np.arange(150)
    >>> oracle = CalibratedFairOracle(random_state=0)
    >>> oracle = oracle.fit(data.X[few], data.y[few], data.groups[few], pool=(data.X, data.groups))
    >>> oracle.predict(data.X[:4], sensitive_features=data.groups[:4]).shape
    (4,)
    """

    members_: list[PlugInRule]

    def __init__(
        self,
        estimator: Any = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        level: float = 0.99,
        blind: bool = False,
        randomized: bool = True,
        n_folds: int = 5,
        pool_rows: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.tolerance = tolerance
        self.level = level
        self.blind = blind
        self.randomized = randomized
        self.n_folds = n_folds
        self.pool_rows = pool_rows
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: ArrayLike,
        sample_weight: ArrayLike | None = None,
        fairness_weight: ArrayLike | None = None,
        pool: tuple[Any, ArrayLike] | None = None,
    ) -> CalibratedFairOracle:
        """Fit on labelled rows.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, fairness_weight
            As in :meth:`EmpiricalFairOracle.fit`.
        pool : (X, sensitive_features), optional
            Unlabelled rows of the population; without it the labelled rows stand for it.
        """
        labels_in = np.asarray(y)
        self.classes_, labels = np.unique(labels_in, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"y must have two classes, got {len(self.classes_)}")
        pool_X, pool_groups = (X, sensitive_features) if pool is None else pool
        groups, pool_codes = encode_groups(pool_groups, "pool")
        index = {g: i for i, g in enumerate(groups)}
        named, own = encode_groups(sensitive_features, "sensitive_features")
        unknown = [g for g in named if g not in index]
        if unknown:
            raise ValueError(
                f"sensitive_features has {unknown[0]!r}, which is not among the pool's groups {groups}"
            )
        if len(groups) < 2:
            raise ValueError(f"sensitive_features has one group only ({groups[0]!r}); two or more are needed")
        codes = np.array([index[g] for g in named])[own]
        n = len(labels)
        risk = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        fairness = risk if fairness_weight is None else np.asarray(fairness_weight, dtype=np.float64)
        return self.fit_codes(
            X, labels.astype(np.float64), codes, groups, risk, fairness, pool=(pool_X, pool_codes)
        )

    def fit_codes(
        self,
        X: Any,
        labels: Float,
        codes: Int,
        groups: list[Any],
        risk_weight: Float,
        fairness_weight: Float,
        pool: Any = None,
    ) -> CalibratedFairOracle:
        """Fit on arrays already checked; ``pool`` is (features, group codes)."""
        check_metric(self.metric)
        tolerance = check_tolerance(self.tolerance)
        if not 0.5 <= self.level < 1.0:
            raise ValueError(f"level={self.level!r} must be in [0.5, 1)")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.groups_ = np.array([*groups, None], dtype=object)[:-1]
        self.n_features_in_ = X.shape[1]
        estimator = None if fast_ridge(self.estimator, 1) is not None else self.estimator
        if estimator is not None and not has_probabilities(estimator):
            raise TypeError(
                f"{type(estimator).__name__} has no predict_proba, which thresholds need: take a classifier "
                "with probabilities (CalibratedClassifierCV makes one of any), or EmpiricalFairOracle"
            )
        fold = folds_by_cell(codes, labels, min(self.n_folds, len(labels)), rng)
        self.calibration_ = calibrate(
            X,
            labels,
            risk_weight,
            codes,
            len(groups),
            fold,
            estimator=estimator,
            ridges=self._ridges(len(labels)),
        )
        model, margins = self.calibration_.model, self.calibration_.out_of_fold
        pool_X, pool_codes = (X, codes) if pool is None else self._sample(pool, rng)
        group_model = self._group_model(pool_X, pool_codes) if self.blind else None
        p, own_p = model.proba(pool_X, pool_codes), model.scaling.proba(margins, codes)
        if group_model is None:
            seen, own_seen = (p, pool_codes), (own_p, codes)
        else:
            seen = (model.proba(pool_X, None), group_model.predict_proba(pool_X))
            own_seen = (model.scaling.proba(margins, None), group_model.predict_proba(X))
        learner = PlugInLearner(p, pool_codes, seen, len(groups), self.metric)
        z = float(norm.ppf(self.level))
        limits: float | Float = tolerance
        moments = Moments.soft(p, pool_codes, len(groups), self.metric)
        # The correction depends on the rule and the rule on the correction: two rounds settle it.
        for _ in range(3):
            (solution,) = search(
                moments, learner, limits, randomized=self.randomized, max_fits=80, worthwhile=2e-4
            )
            rules, weights = solution.members
            decisions = weights @ np.array([rule.costs(*own_seen) < 0 for rule in rules], dtype=np.float64)
            correction = gap_corrections(
                labels, own_p, decisions, codes, fairness_weight,
                len(groups), self.metric, moments.pairs,
            )  # fmt: skip
            margin = np.minimum(z * correction.deviation, _LARGEST_MARGIN * tolerance)
            limits = tolerance - margin - correction.bias
        self._pool_sample_ = (pool_X, pool_codes, p)
        self.margin_ = float(margin.max())
        self._store(solution, correction, group_model)
        return self

    def _ridges(self, n: int) -> tuple[float, ...]:
        if isinstance(self.estimator, LogisticRegression):
            ridge = fast_ridge(self.estimator, n)
            return RIDGES if ridge is None else (ridge,)
        return RIDGES

    def _sample(self, pool: Any, rng: np.random.Generator) -> tuple[Any, Int]:
        X, codes = pool
        if len(codes) <= self.pool_rows:
            return X, codes
        rows = np.sort(rng.choice(len(codes), self.pool_rows, replace=False))
        return take_rows(X, rows), codes[rows]

    def _group_model(self, X: Any, codes: Int) -> Any:
        if self.estimator is None or fast_ridge(self.estimator, 1) is not None:
            return LogisticRegression(C=1.0, max_iter=500).fit(X, codes)
        return clone(self.estimator).fit(X, codes)

    def _store(self, solution: Solution, correction: GapCorrection, group_model: Any) -> None:
        rules, self.weights_ = solution.members
        self._group_model_ = group_model
        self.members_ = [
            replace(r, probability=self.calibration_.model, group_model=group_model) for r in rules
        ]
        self.correction_ = correction
        self.error_ = solution.mixture.error
        rates, n_groups = solution.rates, len(self.groups_)
        pairs = [(z * n_groups + a, z * n_groups + b) for z in range(len(METRICS[self.metric]))
                 for a in range(n_groups) for b in range(n_groups) if a != b]  # fmt: skip
        conditions = [{1: "y=1", 0: "y=0", None: "all"}[z] for z in METRICS[self.metric]]
        cells = [(condition, group) for condition in conditions for group in self.groups_]
        self.rates_ = dict(zip(cells, np.asarray(rates, dtype=np.float64).tolist(), strict=True))
        gaps = np.array([rates[a] - rates[b] for a, b in pairs]) + correction.bias
        self.violation_ = float(max(gaps.max(), 0.0))
        self.deviation_ = float(correction.deviation.max())
        self.price_ = float(solution.mixture.multipliers.sum())
        self.feasible_ = solution.mixture.feasible
        self.interpolates_ = False
        self.n_fits_ = len(solution.candidates.errors)
        heaviest = self.members_[int(np.argmax(self.weights_))]
        self.thresholds_ = dict(zip(self.groups_, heaviest.thresholds().tolist(), strict=True))

    def solve_many(
        self,
        X: Any,
        labels: Float,
        codes: Int,
        n_groups: int,
        risk_weight: Float,
        fairness_weight: Float,
        pool: Any = None,
    ) -> list[Perturbed]:
        """Refit ``k`` probability models at this fit's ridge, temperature and thresholds."""
        check_is_fitted(self)
        estimator = None if fast_ridge(self.estimator, 1) is not None else self.estimator
        weights = np.broadcast_to(risk_weight, labels.shape)
        models = perturb(self.calibration_, X, codes, labels, weights, estimator)
        pool_X, pool_codes, p = self._pool_sample_
        perturbed = []
        for model in models:
            rules = [replace(rule, probability=model) for rule in self.members_]
            positive = self.weights_ @ np.array(
                [r.decide(pool_X, pool_codes) for r in rules], dtype=np.float64
            )
            error = float(np.mean(positive * (1.0 - p) + (1.0 - positive) * p))
            perturbed.append(Perturbed(rules, self.weights_, error))
        return perturbed

    def _codes(self, X: Any, sensitive_features: ArrayLike | None) -> Int | None:
        if self.blind:
            return None
        if sensitive_features is None:
            raise ValueError(
                "sensitive_features are needed to predict: thresholds differ by group (or set blind=True)"
            )
        index = {g: i for i, g in enumerate(self.groups_)}
        values = np.asarray(sensitive_features, dtype=object).tolist()
        unknown = [v for v in values if v not in index]
        if unknown:
            raise ValueError(f"sensitive_features has {unknown[0]!r}, known groups: {list(self.groups_)}")
        return np.array([index[v] for v in values], dtype=np.int64)

    def predict_proba(self, X: Any, sensitive_features: ArrayLike | None = None) -> Float:
        """Probability that the (randomised) rule predicts each class, not a score of the label."""
        check_is_fitted(self)
        codes = self._codes(X, sensitive_features)
        decisions = np.array([rule.decide(X, codes) for rule in self.members_], dtype=np.float64)
        positive = np.clip(self.weights_ @ decisions, 0.0, 1.0)
        return np.stack([1.0 - positive, positive], axis=1)

    def predict(self, X: Any, sensitive_features: ArrayLike | None = None, random_state: Any = None) -> Any:
        """Predict classes; randomised rules draw by the row's values and the seed alone."""
        positive = self.predict_proba(X, sensitive_features)[:, 1]
        if len(self.members_) == 1:
            return self.classes_[(positive > 0.5).astype(int)]
        seed = self.random_state if random_state is None else random_state
        draws = row_uniforms(X, check_random_state(seed).randint(2**31))
        return self.classes_[(draws < positive).astype(int)]


@dataclass(frozen=True)
class Perturbed:
    """One perturbed model: a mixture like :class:`Solution`, and its error by the current model."""

    rules: list[Any]
    weights: Float
    error: float

    @property
    def members(self) -> tuple[list[Any], Float]:
        """Rules and their weights."""
        return self.rules, self.weights

    def sample(self, rng: np.random.Generator) -> Any:
        """Draw one rule of the mixture."""
        return self.rules[rng.choice(len(self.rules), p=self.weights / self.weights.sum())]
