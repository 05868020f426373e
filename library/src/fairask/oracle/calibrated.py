"""CalibratedFairOracle: thresholds on calibrated probabilities, chosen on the unlabelled pool."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from fairask.checks import check_lengths
from fairask.classifiers import Classifier, has_probabilities
from fairask.errors import DisagreementWarning, InfeasibleWarning
from fairask.matrix import take_rows
from fairask.metrics import Bool, Float, Int, Matrix, Metric, encode_groups
from fairask.oracle.base import FairOracle, PerturbedModel, Seed
from fairask.oracle.choosing import (
    PoolScores,
    RuleGoal,
    choose_aware,
    choose_blind,
    fit_group_model,
    log_odds,
)
from fairask.oracle.curves import fit_curves
from fairask.oracle.labelled import Labelled, PoolSample, check_weight, name_cells, rates_by_label, worst_gap
from fairask.oracle.linear_forest import LinearForestClassifier
from fairask.oracle.logistic import fast_ridge
from fairask.oracle.probability import RIDGES, Calibration, calibrate, folds_by_label, perturb
from fairask.oracle.promise import SafeChoice, largest_gap
from fairask.oracle.row_space import FEW_FEATURES
from fairask.report.words import shortfall
from fairask.rules import ConstantRule, PlugInRule, Probability, Rule
from fairask.tables.folding import check_group_count

#: Draws of the calibration curves.
_DRAWS = 256
#: Standard errors by which pool and labels may disagree on a gap.
_DISAGREEMENT = 3.5


class CalibratedFairOracle(FairOracle):
    """Accurate classifier within a fairness tolerance, from few labels and a pool of unlabelled rows.

    1. Probabilities: a classifier, whose predictions of rows held out are calibrated.
    2. Curves: P(y = 1 | score, group) with its uncertainty, from those predictions and the labels; groups
       share what the labels do not tell apart (:func:`fairask.oracle.curves.fit_curves`).
    3. Rates and error of a rule follow from the curves and the pool, where features and groups are known. The
       most accurate thresholds by group are chosen whose gap is within the tolerance with probability
       ``level`` (blind to the group: a threshold on the expected cost).

    Where thresholds alone are not safe, some decisions are a constant answer, which has no gap. That costs
    accuracy (``safety_cost_``), and less with more labels (``labels_needed_``). Where it would cost more than
    a fifth of what the model is worth, the tolerance is *infeasible with these labels*: ``feasible_`` is
    False, a warning says within what the returned rule is, and ``violation_interval_`` says the same. So it
    is where fewer than three labels tell of a group's rate, which would be taken from the other groups.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, "linear" or None
        None is :class:`fairask.oracle.LinearForestClassifier`, the average of a ridge logistic regression and
        a random forest; with sparse features, or more than 200, it is "linear". "linear" is the logistic
        regression alone, with a ridge chosen out of fold: its coefficients can be read, and pools of any
        size are counted whole.
    metric, tolerance, randomized, random_state, sensitive_features
        As in :class:`EmpiricalFairOracle`.
    level : float in [0.5, 1)
        Probability with which the violation is within the tolerance; 0.5 is no safety at all: the expected
        violation is within the tolerance.
    blind : bool
        Whether predictions must not read ``sensitive_features``. (They still read ``X``: leave the
        protected column out of it.)
    n_folds : int
    pool_rows : int
        Most rows of the pool used to choose the rule.

    Attributes
    ----------
    calibration_ : the probabilities; ``calibration_.model.proba(X, group_codes)``
    curves_ : draws of P(y = 1 | score, group)
    violation_, violation_interval_ : float, pair of floats
        Expected violation, and its limits at ``level``, both from the labels by way of the curves. The limits
        are two-sided, and wider by what choosing the rule flatters it: the upper one may exceed the tolerance
        of a feasible model, which is judged by a one-sided limit.
    violation_by_labels_ : float
        The same from the labelled rows alone, without the pool. It is noisy, but assumes nothing: a warning
        says when it contradicts the interval.
    share_ : float
        Share of decisions that are made by thresholds; the others are a constant answer.
    safety_cost_ : float
        Accuracy given up for safety, against thresholds whose expected violation is within the tolerance.
    labels_needed_ : int
        Labels with which thresholds alone would be about as safe; those at hand if they are.
    margin_, price_ : float
        Distance from the expected violation to its upper limit, and the error that a unit of it costs.
    members_, weights_, error_, rates_, feasible_, n_fits_ : as in :class:`EmpiricalFairOracle`
        Error and rates are the pool's estimates.
    thresholds_ : dict
        Probability from which each group is predicted positive.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("german")
    >>> few = np.arange(150)
    >>> oracle = CalibratedFairOracle(random_state=0)
    >>> oracle = oracle.fit(data.X[few], data.y[few], data.groups[few], pool=(data.X, data.groups))
    >>> oracle.predict(data.X[:4], sensitive_features=data.groups[:4]).shape
    (4,)
    >>> low, high = oracle.violation_interval_
    >>> bool(low <= oracle.violation_ <= high)
    True
    """

    estimates_margin: ClassVar[bool] = True
    members_: list[Rule]

    def __init__(
        self,
        estimator: Classifier | Literal["linear"] | None = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        level: float = 0.95,
        blind: bool = False,
        randomized: bool = True,
        n_folds: int = 5,
        pool_rows: int = 5000,
        random_state: Seed = None,
        sensitive_features: str | int | None = None,
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
        self.sensitive_features = sensitive_features

    def check_settings(self) -> None:
        """See :class:`FairOracle`."""
        super().check_settings()
        if not 0.5 <= self.level < 1.0:
            raise ValueError(f"level={self.level!r} must be in [0.5, 1)")
        if isinstance(self.estimator, str) and self.estimator != "linear":
            raise ValueError(f"estimator={self.estimator!r} must be a classifier, 'linear' or None")
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
            As in :meth:`EmpiricalFairOracle.fit`.
        pool : (X, sensitive_features), optional
            Unlabelled rows of the population; without it the labelled rows stand for it.
        """
        self.check_settings()
        X, labels, classes, sensitive_features = self._training_rows(
            X, y, sensitive_features, None if pool is None else pool[0]
        )
        n = len(labels)
        weight = check_weight(sample_weight, n, "sample_weight")
        fairness = weight if fairness_weight is None else check_weight(fairness_weight, n, "fairness_weight")
        free = sensitive_features is None
        if sensitive_features is None:
            sensitive_features, pool = np.zeros(n, dtype=np.int64), None
        pool_X, pool_groups = (X, sensitive_features) if pool is None else self._checked_rows(*pool)
        if pool_groups is None:
            raise TypeError("pool has no groups: give (X, sensitive_features) of its rows")
        groups, pool_codes = encode_groups(pool_groups, "sensitive_features" if pool is None else "pool")
        if not free:
            check_group_count(groups)
        index = {g: i for i, g in enumerate(groups)}
        named, own = encode_groups(sensitive_features, "sensitive_features")
        unknown = [g for g in named if g not in index]
        if unknown:
            raise ValueError(
                f"sensitive_features has {unknown[0]!r}, which is not among the pool's groups {groups}"
            )
        check_lengths(X=n, sensitive_features=len(own))
        codes = np.array([index[g] for g in named])[own]
        rows = Labelled.of(X, labels, codes, groups, weight, fairness)
        self.fit_labelled(rows, PoolSample(pool_X, pool_codes))
        self.classes_ = classes
        return self

    def fit_labelled(self, labelled: Labelled, background: PoolSample | None = None) -> CalibratedFairOracle:
        """See :class:`FairOracle`; the labelled rows stand for the population without a ``background``."""
        self._name(labelled)
        if "n_features_in_" not in vars(self):
            self.n_features_in_ = labelled.X.shape[1]
        rng = self._rng()
        fold = folds_by_label(labelled.groups, labelled.y, min(self.n_folds, len(labelled)), rng)
        self.calibration_ = calibrate(
            labelled, fold, estimator=self._classifier(rng, labelled.X), ridges=self._ridges(len(labelled))
        )
        model = self.calibration_.model
        X, codes = (labelled.X, labelled.groups) if background is None else self._sample(background, rng)
        p, own_p = model.proba(X, codes), self._held_out(labelled.groups)
        # Given the score, a row's propensity says little of its label: full weights would only add noise. It
        # says something, though: on development populations roots of the weights told errors of gaps best.
        self.curves_ = fit_curves(
            logit(own_p), labelled.y, labelled.groups, np.sqrt(labelled.fairness_weights),
            labelled.n_groups, log_odds(p), n_draws=_DRAWS, rng=rng,
        )  # fmt: skip
        mean = self.curves_.table().proba(log_odds(p), codes)
        self._pool_sample_ = (X, codes, mean)
        pool = PoolScores(X, codes, p, mean)
        goal = RuleGoal(self.metric, self.tolerance, self.level, self.randomized)
        if self.blind:
            group_model, unseen = fit_group_model(self._estimator(), X, codes), self._held_out(None)
            chosen = choose_blind(self.curves_, model, group_model, pool, unseen, labelled, goal, rng)
        else:
            chosen = choose_aware(self.curves_, model, pool, own_p, labelled, goal, rng)
        self._exploring_, self.n_fits_ = chosen.exploring, chosen.n_fits
        self.thresholds_ = dict(zip(self.groups_, chosen.thresholds.tolist(), strict=True))
        self._store(chosen.rules, chosen.weights, chosen.choice)
        self._compare_with_labels(labelled, chosen.decisions)
        self._allow_for_unseen(np.isin(np.arange(labelled.n_groups), codes))
        self._warn(len(labelled))
        return self

    def _held_out(self, groups: Int | None) -> Float:
        """Calibrated probabilities of the labelled rows by models that did not see them."""
        calibration = self.calibration_
        p = calibration.model.scaling.proba(calibration.out_of_fold, groups)
        return np.clip(p, 1e-6, 1.0 - 1e-6)

    def _store(self, rules: list[PlugInRule], weights: Float, choice: SafeChoice) -> None:
        self.members_, self.weights_ = [*rules], choice.share * weights
        if choice.share < 1.0:
            self.members_ = [*rules, ConstantRule(choice.constant)]
            self.weights_ = np.append(self.weights_, 1.0 - choice.share)
        rates = choice.rates.mean(axis=-1)
        self.rates_ = self._named_rates(rates.ravel())
        self.error_, self.share_, self.feasible_ = choice.error, choice.share, choice.feasible
        self.interpolates_ = False
        self.violation_ = float(largest_gap(rates[:, :, None])[0])
        low, high = choice.interval(self.level)
        self.violation_interval_ = (min(low, self.violation_), max(high, self.violation_))
        self.safety_cost_ = max(choice.error - choice.error_unsafe, 0.0)
        self.error_constant_ = choice.error_constant
        self._upper = choice.upper
        self._short_of_labels = max(choice.upper_unmixed / max(self.tolerance, 1e-3), 1.0)
        self.margin_ = 0.0 if self.level <= 0.5 else max(choice.upper - self.violation_, 0.0)
        self.price_ = self.safety_cost_ / self.margin_ if self.margin_ > 0 else 0.0

    def _compare_with_labels(self, labelled: Labelled, decisions: Float) -> None:
        """Estimate the violation from the labelled rows alone, and warn where the pool's estimate differs."""
        constant = float(self.members_[-1].value) if isinstance(self.members_[-1], ConstantRule) else 0.0
        mixed = self.share_ * decisions + (1.0 - self.share_) * constant
        rates, variances = rates_by_label(labelled, mixed, self.metric)
        pool = np.array(list(self.rates_.values())).reshape(rates.shape)
        self.violation_by_labels_ = float(np.max([np.ptp(row) for row in rates]))
        self._unseen = np.isnan(rates)
        gap = rates[:, :, None] - rates[:, None, :]
        noise = np.sqrt(variances[:, :, None] + variances[:, None, :])
        with np.errstate(invalid="ignore"):
            off = np.abs(gap - (pool[:, :, None] - pool[:, None, :])) / noise
        self._contradicted = bool(np.nan_to_num(off).max() > _DISAGREEMENT)
        self.labels_needed_ = int(np.ceil(len(labelled) * self._short_of_labels**2))

    def _allow_for_unseen(self, in_pool: Bool) -> None:
        """Where labels say nothing of a group's rate, it may be any: the other groups' is but a guess."""
        self._unseen = self._unseen & in_pool
        if not self._unseen.any():
            return
        last = self.members_[-1]
        least = (1.0 - self.share_) * (isinstance(last, ConstantRule) and last.value)
        rates = np.array(list(self.rates_.values())).reshape(self._unseen.shape)
        worst = worst_gap(rates, self._unseen, least, least + self.share_)
        self._upper = max(worst, self.violation_interval_[1])
        self.violation_interval_ = (0.0, self._upper)
        within = worst <= self.tolerance + 1e-9
        self.feasible_, self._unseen = self.feasible_ and within, self._unseen & (not within)

    def _warn(self, n: int) -> None:
        if not self.feasible_:
            goal = f"{self.metric} gap within {self.tolerance:g} with probability {self.level:g}"
            unseen = name_cells(self._unseen, self.metric, list(self.groups_))
            said = shortfall(n, self.labels_needed_, goal, self._upper, unseen)
            warnings.warn(said, InfeasibleWarning, stacklevel=4)
        if self._contradicted:
            low, high = self.violation_interval_
            warnings.warn(
                f"the labels alone put the violation at {self.violation_by_labels_:.2f}, the pool puts it "
                f"between {low:.2f} and {high:.2f}: do not trust this model without an audit",
                DisagreementWarning,
                stacklevel=4,
            )

    def perturbed(
        self, labelled: Labelled, labels: Float | None = None, weights: Float | None = None
    ) -> list[PerturbedModel]:
        """See :class:`FairOracle`; ridge, scaling and thresholds stay those of this fit.

        The thresholds are the best whose expected gap is within the tolerance. Those that are safe today may
        be far from where a boundary will be, and a constant answer tells nothing apart.
        """
        check_is_fitted(self)
        y = labelled.y[None, :] if labels is None else labels
        risk = np.broadcast_to((1.0 if weights is None else weights) * labelled.risk_weights, y.shape)
        X, codes, p = self._pool_sample_
        own, part = self._exploring_

        def fitted(model: Probability) -> tuple[list[PlugInRule], float]:
            rules = [replace(rule, probability=model) for rule in own]
            positive = part @ np.array([r.decide(X, codes) for r in rules], dtype=np.float64)
            return rules, float(np.mean(positive * (1.0 - p) + (1.0 - positive) * p))

        _, error = fitted(self.calibration_.model)
        models = perturb(self.calibration_, labelled, y, risk, self._classifier(self._rng(), labelled.X))
        found = [fitted(model) for model in models]
        # Errors are told against this fit's own, whose rule is another.
        return [PerturbedModel(rules, part, self.error_ + own_error - error) for rules, own_error in found]

    def safety(self) -> dict[str, float]:
        """See :class:`FairOracle`; ``unseen`` counts rates of which fewer than three labels tell."""
        low, high = self.violation_interval_
        known = not np.isnan(self.violation_by_labels_)
        return {
            "level": self.level,
            "violation_low": low,
            "violation_high": high,
            "violation_limit": self._upper,
            **({"violation_by_labels": self.violation_by_labels_} if known else {}),
            "unseen": int(self._unseen.sum()),
            "safety_cost": self.safety_cost_,
            "labels_needed": self.labels_needed_,
            "contradicted": self._contradicted,
        }

    def bare(self) -> Self:
        """See :class:`FairOracle`."""
        model = super().bare()
        known = self.calibration_
        model.calibration_ = Calibration(known.model.bare(), np.zeros(0), known.ridge, known.log_loss)
        for name in ("_pool_sample_", "_exploring_", "curves_"):
            model.__dict__.pop(name, None)
        return model

    @property
    def needs_numbers(self) -> bool:
        """See :class:`FairOracle`."""
        return self.estimator is None or isinstance(self.estimator, str) or super().needs_numbers

    def _label_scores(self, rows: Matrix, codes: Int | None) -> Float:
        model = self.calibration_.model
        if codes is not None:
            return model.proba(rows, codes)
        blind = [rule.group_model for rule in self.members_ if isinstance(rule, PlugInRule)]
        if not blind:  # a constant answer alone
            return super()._label_scores(rows, codes)
        return np.asarray((blind[0].predict_proba(rows) * model.proba(rows, None)).sum(axis=1))

    def _estimator(self) -> Classifier | None:
        """The base learner, None where the fast path equals it."""
        fast = isinstance(self.estimator, str) or fast_ridge(self.estimator, 1) is not None
        return None if fast else self.estimator

    def _classifier(self, rng: np.random.Generator, X: Matrix) -> Classifier | None:
        """What is fitted: the default has a seed of its own."""
        if self.estimator is None and not (issparse(X) or X.shape[1] > FEW_FEATURES):
            forest: Classifier = LinearForestClassifier(random_state=int(rng.integers(2**31)))
            return forest
        return self._estimator()

    def _ridges(self, n: int) -> tuple[float, ...]:
        plain = self.estimator is None or isinstance(self.estimator, str)
        ridge = None if plain else fast_ridge(self.estimator, n)
        return RIDGES if ridge is None else (ridge,)

    def _sample(self, pool: PoolSample, rng: np.random.Generator) -> tuple[Matrix, Int]:
        X, codes = pool
        if len(codes) <= self.pool_rows:
            return X, codes
        rows = np.sort(rng.choice(len(codes), self.pool_rows, replace=False))
        return take_rows(X, rows), codes[rows]
