"""CalibratedFairOracle: thresholds on calibrated probabilities, chosen on the unlabelled pool."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from fairask.metrics import Float, Int, Matrix, Metric, encode_groups
from fairask.oracle._program import FairnessMoments
from fairask.oracle._search import Solution, search
from fairask.oracle.base import FairOracle, Labelled, PerturbedModel, PoolSample, Seed
from fairask.oracle.logistic import fast_ridge
from fairask.oracle.plugin import GapCorrection, PlugInLearner, gap_corrections
from fairask.oracle.probability import RIDGES, Calibration, calibrate, folds_by_label, perturb
from fairask.rules import Classifier, PlugInRule, has_probabilities, take_rows

__all__ = ["CalibratedFairOracle"]

#: Largest part of the tolerance that the margin may take.
_LARGEST_MARGIN = 0.9
#: The correction depends on the rule and the rule on the correction: both are computed in turn this often.
#: After the third time neither changes by more than rounding in practice.
_ROUNDS = 3


class CalibratedFairOracle(FairOracle):
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
    margin_, price_ : float
        What the tolerance was reduced by, and the error that a unit of tolerance costs.
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

    estimates_margin: ClassVar[bool] = True
    members_: list[PlugInRule]

    def __init__(
        self,
        estimator: Classifier | None = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        level: float = 0.99,
        blind: bool = False,
        randomized: bool = True,
        n_folds: int = 5,
        pool_rows: int = 5000,
        random_state: Seed = None,
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

    def check_settings(self) -> None:
        """See :class:`FairOracle`."""
        super().check_settings()
        if not 0.5 <= self.level < 1.0:
            raise ValueError(f"level={self.level!r} must be in [0.5, 1)")
        if not self.needs_numbers and not has_probabilities(self.estimator):
            raise TypeError(
                f"{type(self.estimator).__name__} has no predict_proba, which thresholds need: take a "
                "classifier with probabilities (CalibratedClassifierCV makes one of any), or "
                "EmpiricalFairOracle"
            )

    def fit(
        self,
        X: Matrix,
        y: ArrayLike,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        fairness_weight: ArrayLike | None = None,
        pool: tuple[Matrix, ArrayLike] | None = None,
    ) -> CalibratedFairOracle:
        """Fit on labelled rows.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, fairness_weight
            As in :meth:`EmpiricalFairOracle.fit`; ``sensitive_features`` are needed.
        pool : (X, sensitive_features), optional
            Unlabelled rows of the population; without it the labelled rows stand for it.
        """
        self.check_settings()
        if sensitive_features is None:
            raise TypeError("sensitive_features is missing: give the protected attribute of each row of X")
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) != 2:
            raise ValueError(f"y must have two classes, got {len(classes)}")
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
        weights = [None if w is None else np.asarray(w, np.float64) for w in (sample_weight, fairness_weight)]
        rows = Labelled.of(X, labels.astype(np.float64), codes, groups, *weights)
        self.fit_labelled(rows, PoolSample(pool_X, pool_codes))
        self.classes_ = classes
        return self

    def fit_labelled(self, labelled: Labelled, background: PoolSample | None = None) -> CalibratedFairOracle:
        """See :class:`FairOracle`; the labelled rows stand for the population without a ``background``."""
        self._name(labelled)
        self.n_features_in_ = labelled.X.shape[1]
        rng, n_groups = self._rng(), labelled.n_groups
        fold = folds_by_label(labelled.groups, labelled.y, min(self.n_folds, len(labelled)), rng)
        ridges = self._ridges(len(labelled))
        self.calibration_ = calibrate(labelled, fold, estimator=self._other_estimator(), ridges=ridges)
        model, scores = self.calibration_.model, self.calibration_.out_of_fold
        X, codes = (labelled.X, labelled.groups) if background is None else self._sample(background, rng)
        group_model = self._group_model(X, codes) if self.blind else None
        p, own_p = model.proba(X, codes), model.scaling.proba(scores, labelled.groups)
        if group_model is None:
            seen, own_seen = (p, codes), (own_p, labelled.groups)
        else:
            seen = (model.proba(X, None), group_model.predict_proba(X))
            own_seen = (model.scaling.proba(scores, None), group_model.predict_proba(labelled.X))
        learner = PlugInLearner(p, codes, seen, n_groups, self.metric)
        moments = FairnessMoments.soft(p, codes, n_groups, self.metric)
        tolerance, z = float(self.tolerance), float(norm.ppf(self.level))
        limits: float | Float = tolerance
        for _ in range(_ROUNDS):
            (solution,) = search(
                moments, learner, limits, randomized=self.randomized, max_fits=80, worthwhile=2e-4
            )
            rules, weights = solution.members
            decisions = weights @ np.array([rule.costs(*own_seen) < 0 for rule in rules], dtype=np.float64)
            correction = gap_corrections(labelled, own_p, decisions, self.metric, moments.pairs)
            margin = np.minimum(z * correction.deviation, _LARGEST_MARGIN * tolerance)
            limits = tolerance - margin - correction.bias
        self._pool_sample_ = (X, codes, p)
        self.margin_ = float(margin.max())
        self.members_ = [replace(r, probability=model, group_model=group_model) for r in rules]
        self.weights_ = weights
        self._describe(solution, correction, moments.pairs)
        return self

    def _describe(
        self, solution: Solution[PlugInRule], correction: GapCorrection, pairs: list[tuple[int, int]]
    ) -> None:
        rates = solution.rates
        self.correction_ = correction
        self.error_ = solution.mixture.error
        self.rates_ = self._named_rates(rates)
        gaps = np.array([rates[a] - rates[b] for a, b in pairs]) + correction.bias
        self.violation_ = float(max(gaps.max(), 0.0))
        self.deviation_ = float(correction.deviation.max())
        self.price_ = float(solution.mixture.multipliers.sum())
        self.feasible_ = solution.mixture.feasible
        self.interpolates_ = False
        self.n_fits_ = len(solution.candidates.errors)
        heaviest = self.members_[int(np.argmax(self.weights_))]
        self.thresholds_ = dict(zip(self.groups_, heaviest.thresholds().tolist(), strict=True))

    def perturbed(
        self, labelled: Labelled, labels: Float | None = None, weights: Float | None = None
    ) -> list[PerturbedModel]:
        """See :class:`FairOracle`; ridge, scaling and thresholds stay those of this fit."""
        check_is_fitted(self)
        y = labelled.y[None, :] if labels is None else labels
        risk = np.broadcast_to((1.0 if weights is None else weights) * labelled.risk_weights, y.shape)
        X, codes, p = self._pool_sample_
        perturbed = []
        for model in perturb(self.calibration_, labelled, y, risk, self._other_estimator()):
            rules = [replace(rule, probability=model) for rule in self.members_]
            positive = self.weights_ @ np.array([r.decide(X, codes) for r in rules], dtype=np.float64)
            error = float(np.mean(positive * (1.0 - p) + (1.0 - positive) * p))
            perturbed.append(PerturbedModel(rules, self.weights_, error))
        return perturbed

    def bare(self) -> Self:
        """See :class:`FairOracle`."""
        model = super().bare()
        known = self.calibration_
        model.calibration_ = Calibration(known.model.bare(), np.zeros(0), known.ridge, known.log_loss)
        model.__dict__.pop("_pool_sample_", None)
        return model

    def _other_estimator(self) -> Classifier | None:
        """The base learner, None where the fast path equals it."""
        return None if self.needs_numbers else self.estimator

    def _ridges(self, n: int) -> tuple[float, ...]:
        ridge = None if self.estimator is None else fast_ridge(self.estimator, n)
        return RIDGES if ridge is None else (ridge,)

    def _sample(self, pool: PoolSample, rng: np.random.Generator) -> tuple[Matrix, Int]:
        X, codes = pool
        if len(codes) <= self.pool_rows:
            return X, codes
        rows = np.sort(rng.choice(len(codes), self.pool_rows, replace=False))
        return take_rows(X, rows), codes[rows]

    def _group_model(self, X: Matrix, codes: Int) -> LogisticRegression:
        """Probabilities of the groups given the features, for rules that do not read the group."""
        estimator = self._other_estimator()
        return (LogisticRegression(C=1.0, max_iter=500) if estimator is None else clone(estimator)).fit(
            X, codes
        )
