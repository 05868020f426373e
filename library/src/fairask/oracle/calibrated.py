"""CalibratedFairOracle: thresholds on calibrated probabilities, chosen on the unlabelled pool."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from fairask.checks import check_lengths, check_level
from fairask.classifiers import Classifier, has_probabilities
from fairask.errors import DisagreementWarning, InfeasibleWarning
from fairask.matrix import clusters_of, near_copies, take_rows
from fairask.metrics import METRICS, Bool, Float, Int, Matrix, Metric, encode_groups, in_condition
from fairask.oracle.base import (
    FairOracle,
    Labelled,
    PerturbedModel,
    PoolSample,
    Seed,
    missing_groups,
    weighted_rows,
    with_labels,
)
from fairask.oracle.linear_forest import LinearForestClassifier
from fairask.oracle.logistic import FEW_FEATURES, fast_ridge
from fairask.oracle.probability import RIDGES, Calibration, calibrate, folds_by_label, perturb
from fairask.oracle.promise import (
    MAX_PRICE,
    SafeChoice,
    choose_rule,
    choose_thresholds,
    draw_rates,
    fit_curves,
    labels_needed,
    largest_gap,
    tabulate,
)
from fairask.oracle.reduction import FairnessMoments, Solution, search
from fairask.report import words
from fairask.rules import ConstantRule, PlugInRule, Probability, Rule
from fairask.tables.groups import check_group_count

#: Draws of the calibration curves.
_DRAWS = 256
#: Standard errors by which pool and labels may disagree on a gap.
_DISAGREEMENT = 3.5
#: Parts of the tolerance at which a blind rule is searched for; the safest that is worth it is taken.
_BLIND_PATH = (1.0, 0.6, 0.3, 0.0)
#: Rows of the pool on which the rates of blind rules are drawn.
_BLIND_ROWS = 1500


class _PoolRows(NamedTuple):
    """Rows of the pool: features, group codes, calibrated probabilities, and means of the curves there."""

    sample: PoolSample
    p: Float
    mean: Float

    @property
    def X(self) -> Matrix:
        """Features."""
        return self.sample.X

    @property
    def codes(self) -> Int:
        """Group codes."""
        return self.sample.groups


class _Chosen(NamedTuple):
    """A mixture of rules, why it was chosen, and what it decides."""

    rules: list[PlugInRule]
    weights: Float
    choice: SafeChoice
    decisions: Float  #: on the labelled rows, by models that did not see them
    on_pool: Float  #: the same on the rows of the pool
    exploring: tuple[list[PlugInRule], Float]  #: the mixture whose expected gap is within the tolerance
    thresholds: Float  #: probability from which each group is predicted positive
    n_fits: int


class CalibratedFairOracle(FairOracle):
    """Accurate classifier within a fairness tolerance, from few labels and a pool of unlabelled rows.

    1. Probabilities: a classifier, whose predictions of rows held out are calibrated.
    2. Curves: P(y = 1 | score, group) with its uncertainty, from those predictions and the labels; groups
       share what the labels do not tell apart (:func:`fairask.oracle.promise.fit_curves`).
    3. Rates and error of a rule follow from the curves and the pool, where features and groups are known. The
       most accurate thresholds by group are chosen whose gap is within the tolerance with probability
       ``level`` (blind to the group: a threshold on the expected cost).

    Safety costs accuracy (``safety_cost_``), and less with more labels. Where it would
    cost more than ``max_price`` of what the model is worth, the tolerance is *infeasible with these labels*:
    ``feasible_`` is False, a warning says within what the returned rule is and what a safe one costs, and
    ``gap_interval_`` says the same. So it is where fewer than three labels tell of a group's rate, which
    would be taken from the other groups.

    Each row has one answer. With ``randomized=True`` thresholds that are not safe may be mixed with a
    constant answer, which has no gap: which of the two decides about a row is then drawn by lot.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, "linear" or None
        None is :class:`fairask.oracle.LinearForestClassifier`, the average of a ridge logistic regression and
        a random forest; with sparse features, or more than 200, it is "linear". "linear" is the logistic
        regression alone, with a ridge chosen out of fold: its coefficients can be read, and pools of any
        size are counted whole.
    metric, tolerance, random_state, sensitive_features, without_groups
        As in :class:`EmpiricalFairOracle`.
    randomized : bool
        Whether decisions may be made by lot; ``by_lot_`` is the share of rows for which they are.
    level : float in [0.5, 1)
        Probability with which the gap is within the tolerance; 0.5 is no safety at all: the expected
        gap is within the tolerance.
    max_price : float in [0, 1)
        Largest share of the model's worth (its accuracy above that of a constant answer) that safety may
        cost. With 0.8 "infeasible" is rare: the model keeps its promise, and is as accurate as that leaves.
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
    gap_, gap_interval_ : float, pair of floats
        Expected gap, and its limits, both from the labels by way of the curves. The gap is at most the upper
        one with probability ``level``: that of a feasible model is within the tolerance.
    gap_by_labels_ : float
        The same from the labelled rows alone, without the pool. It is noisy, but assumes nothing: a warning
        says when it contradicts the interval.
    share_ : float
        Share of decisions that are made by thresholds; the others are a constant answer. It is 1 or 0 unless
        ``randomized``.
    safety_cost_ : float
        Accuracy given up for safety, against thresholds whose expected gap is within the tolerance.
    cost_of_safe_ : float
        What the most accurate safe thresholds would cost, at whatever price; NaN where none are better than a
        constant answer.
    labels_needed_ : pair of int, or None
        From how many to how many labels are needed until the tolerance is feasible; None where it is, or
        where the labels do not tell.
    reach_ : float
        Smallest upper limit of the gap that any rule of use has.
    earlier_rounds : sequence of (labels, reach)
        Of earlier fits to fewer labels, which a learner sets: they even out ``labels_needed_``.
    margin_, price_ : float
        Distance from the expected gap to its upper limit, and the error that a unit of it costs.
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
    >>> low, high = oracle.gap_interval_
    >>> bool(low <= oracle.gap_ <= high)
    True
    """

    estimates_margin: ClassVar[bool] = True
    earlier_rounds: Sequence[tuple[float, float]] = ()
    members_: list[Rule]

    def __init__(
        self,
        estimator: Classifier | Literal["linear"] | None = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        level: float = 0.95,
        max_price: float = MAX_PRICE,
        blind: bool = False,
        randomized: bool = False,
        n_folds: int = 5,
        pool_rows: int = 5000,
        random_state: Seed = None,
        sensitive_features: str | int | None = None,
        without_groups: bool = False,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.tolerance = tolerance
        self.level = level
        self.max_price = max_price
        self.blind = blind
        self.randomized = randomized
        self.n_folds = n_folds
        self.pool_rows = pool_rows
        self.random_state = random_state
        self.sensitive_features = sensitive_features
        self.without_groups = without_groups

    def check_settings(self) -> None:
        """See :class:`FairOracle`."""
        super().check_settings()
        check_level(self.level)
        if not 0 <= self.max_price < 1:
            raise ValueError(f"max_price={self.max_price!r} must be in [0, 1)")
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
    ) -> Self:
        """Fit on labelled rows.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, fairness_weight
            As in :meth:`FairOracle.fit`.
        pool : (X, sensitive_features), optional
            Unlabelled rows of the population; without it the labelled rows stand for it.
        """
        if pool is None:
            return super().fit(X, y, sensitive_features, sample_weight, fairness_weight)
        self.check_settings()
        X, y, sensitive_features, sample_weight, fairness_weight = with_labels(
            X, y, sensitive_features, sample_weight, fairness_weight
        )
        X, labels, classes, sensitive_features = self._training_rows(X, y, sensitive_features, pool[0])
        if sensitive_features is None:
            raise missing_groups()
        pool_X, pool_groups = self._checked_rows(*pool)
        if pool_groups is None:
            raise TypeError("pool has no groups: give (X, sensitive_features) of its rows")
        groups, pool_codes = encode_groups(pool_groups, "pool")
        check_group_count(groups)
        named, own = encode_groups(sensitive_features, "sensitive_features")
        check_lengths(X=len(labels), sensitive_features=len(own))
        unknown = [g for g in named if g not in groups]
        if unknown:
            raise ValueError(
                f"sensitive_features has {unknown[0]!r}, which is not among the pool's groups {groups}"
            )
        codes = np.array([groups.index(g) for g in named])[own]
        rows = weighted_rows(X, labels, codes, groups, sample_weight, fairness_weight)
        self.fit_labelled(rows, PoolSample(pool_X, pool_codes))
        self.classes_ = classes
        return self

    def fit_labelled(self, labelled: Labelled, background: PoolSample | None = None) -> Self:
        """See :class:`FairOracle`; the labelled rows stand for the population without a ``background``."""
        self._name(labelled)
        rng = self._rng()
        clusters = clusters_of(labelled.X)
        n_folds = min(self.n_folds, len(labelled))
        fold = folds_by_label(labelled.groups, labelled.y, n_folds, rng, clusters)
        self.calibration_ = calibrate(
            labelled, fold, estimator=self._classifier(rng, labelled.X), ridges=self._ridges(len(labelled))
        )
        sample = self._sample(background or PoolSample(labelled.X, labelled.groups), rng)
        X, codes = sample.X, sample.groups
        p, own_p = self.calibration_.model.proba(X, codes), self._held_out(labelled.groups)
        alike = likeness(labelled.y - own_p, clusters)
        self._copies = 1.0 + alike * (_mean_copies(X, labelled.X) - 1.0) if alike > 0 else 1.0
        counts = np.asarray(1.0 / (1.0 + alike * (np.bincount(clusters)[clusters] - 1.0)), np.float64)
        # Given the score, a row's propensity says little of its label: full weights would only add noise. It
        # says something, though: on development populations roots of the weights told errors of gaps best.
        self.curves_ = fit_curves(
            logit(own_p), labelled.y, labelled.groups, np.sqrt(labelled.fairness_weights),
            labelled.n_groups, _log_odds(p), n_draws=_DRAWS, rng=rng,
            counts=counts,
        )  # fmt: skip
        self._pool_ = _PoolRows(sample, p, self.curves_.mean(_log_odds(p), codes))
        choose = self._choose_blind if self.blind else self._choose_aware
        chosen = choose(labelled, self._pool_, rng)
        self._exploring_, self.n_fits_ = chosen.exploring, chosen.n_fits
        self.thresholds_ = dict(zip(self.groups_, chosen.thresholds.tolist(), strict=True))
        self._store(chosen.rules, chosen.weights, chosen.choice)
        self._compare_with_labels(labelled, chosen.decisions, np.isin(np.arange(labelled.n_groups), codes))
        rounds = [*self.earlier_rounds, (len(labelled), chosen.choice.reach)]
        enough = self.feasible_ or self._unseen.any()
        self.labels_needed_ = None if enough else labels_needed(rounds, self.tolerance)
        self.reach_ = chosen.choice.reach
        self._warn(len(labelled))
        share, answer = chosen.choice.share, float(chosen.choice.constant)
        self._note_decisions(share * chosen.on_pool + (1.0 - share) * answer, self.labels_needed_)
        return self

    def _sample(self, pool: PoolSample, rng: np.random.Generator) -> PoolSample:
        if len(pool.groups) <= self.pool_rows:
            return pool
        rows = np.sort(rng.choice(len(pool.groups), self.pool_rows, replace=False))
        return PoolSample(take_rows(pool.X, rows), pool.groups[rows])

    def _held_out(self, groups: Int | None) -> Float:
        """Calibrated probabilities of the labelled rows by models that did not see them."""
        calibration = self.calibration_
        p = calibration.model.scaling.proba(calibration.out_of_fold, groups)
        return np.clip(p, 1e-6, 1.0 - 1e-6)

    def _choose_aware(self, labelled: Labelled, pool: _PoolRows, rng: np.random.Generator) -> _Chosen:
        """Choose a threshold for each group."""
        tables = tabulate(
            self.curves_, _log_odds(pool.p), pool.codes, labelled.n_groups, self.metric, rng, self._copies
        )
        choice = choose_thresholds(
            tables, self.tolerance, self.level, randomized=self.randomized, max_price=self.max_price
        )
        cuts, unsafe = (
            np.array([t.cuts[k] for t, k in zip(tables, position, strict=True)])
            for position in (choice.position, choice.unsafe)
        )
        rule = PlugInRule(expit(cuts), -np.ones(labelled.n_groups), self.calibration_.model)
        own_p = self._held_out(labelled.groups)
        values = self.curves_.mean(np.clip(cuts, -6.0, 6.0), np.arange(len(cuts)))
        return _Chosen(
            [rule],
            np.ones(1),
            choice,
            decisions=(rule.costs(own_p, labelled.groups) < 0).astype(np.float64),
            on_pool=(rule.costs(pool.p, pool.codes) < 0).astype(np.float64),
            exploring=([replace(rule, intercept=expit(unsafe))], np.ones(1)),
            thresholds=np.where(np.isfinite(cuts), values, np.where(cuts > 0, 1.0, 0.0)),
            n_fits=sum(len(t.cuts) for t in tables),
        )

    def _choose_blind(self, labelled: Labelled, pool: _PoolRows, rng: np.random.Generator) -> _Chosen:
        """Search for rules that do not read the group at several tolerances, and choose among them."""
        model, mean = self.calibration_.model, pool.mean
        group_model, of_groups = pool.sample.group_model(self._estimator())
        seen = (model.proba(pool.X, None), of_groups)
        learner = PlugInLearner(mean, pool.codes, seen, labelled.n_groups, self.metric)
        moments = FairnessMoments.soft(mean, pool.codes, labelled.n_groups, self.metric)
        found: list[Solution[PlugInRule]] = []
        for part in _BLIND_PATH:
            found += search(
                moments, learner, part * self.tolerance,
                randomized=self.randomized, max_fits=60, worthwhile=5e-4, known=found[-1:] or None,
            )  # fmt: skip
        members = [solution.members for solution in found]
        decided = np.array(
            [weights @ np.array([r.costs(*seen) < 0 for r in rules], float) for rules, weights in members]
        )
        some = rng.permutation(len(pool.codes))[:_BLIND_ROWS]
        scores, codes = _log_odds(pool.p[some]), pool.codes[some]
        choice = choose_rule(
            draw_rates(self.curves_, scores, codes, decided[:, some], self.metric, rng, self._copies),
            np.array([solution.mixture.error for solution in found]),
            float(mean.mean()),
            float(1.0 - mean.mean()),
            self.tolerance,
            self.level,
            randomized=self.randomized,
            max_price=self.max_price,
        )
        rules, weights = members[int(choice.position[0])]
        unsafe, parts = members[int(choice.unsafe[0])]
        own_seen = (self._held_out(None), group_model.predict_proba(labelled.X))
        complete = [replace(rule, probability=model, group_model=group_model) for rule in rules]
        return _Chosen(
            complete,
            weights,
            choice,
            decisions=weights @ np.array([rule.costs(*own_seen) < 0 for rule in rules], dtype=np.float64),
            on_pool=decided[int(choice.position[0])],
            exploring=([replace(rule, group_model=group_model) for rule in unsafe], parts),
            thresholds=complete[int(np.argmax(weights))].thresholds(),
            n_fits=sum(len(solution.candidates.errors) for solution in found),
        )

    def _store(self, rules: list[PlugInRule], weights: Float, choice: SafeChoice) -> None:
        """Set what follows from the choice on the pool."""
        self.members_, self.weights_ = [*rules], choice.share * weights
        if choice.share < 1.0:
            self.members_ = [*rules, ConstantRule(choice.constant)]
            self.weights_ = np.append(self.weights_, 1.0 - choice.share)
        rates = choice.rates.mean(axis=-1)
        self.rates_ = self._named_rates(rates.ravel())
        self.error_, self.share_, self.feasible_ = choice.error, choice.share, choice.feasible
        self.interpolates_ = False
        self.gap_ = float(largest_gap(rates[:, :, None])[0])
        low = 0.0 if self.level <= 0.5 else choice.lower(self.level)
        self.gap_interval_ = (min(low, self.gap_), max(choice.upper, self.gap_))
        self.safety_cost_ = max(choice.error - choice.error_unsafe, 0.0)
        self.cost_of_safe_ = choice.cost_of_safe
        self.error_constant_ = choice.error_constant
        self.margin_ = 0.0 if self.level <= 0.5 else max(choice.upper - self.gap_, 0.0)
        self.price_ = self.safety_cost_ / self.margin_ if self.margin_ > 0 else 0.0

    def _compare_with_labels(self, labelled: Labelled, decisions: Float, in_pool: Bool) -> None:
        """Estimate the gap from the labels alone; note where they contradict the pool or are too few.

        Where labels say nothing of a group's rate, it may be any: the other groups' is but a guess.
        """
        last = self.members_[-1]
        constant = float(last.value) if isinstance(last, ConstantRule) else 0.0
        least = (1.0 - self.share_) * constant
        rates, variances = rates_by_label(labelled, self.share_ * decisions + least, self.metric)
        pool = np.array(list(self.rates_.values())).reshape(rates.shape)
        self.gap_by_labels_ = float(np.max([np.ptp(row) for row in rates]))
        gap = rates[:, :, None] - rates[:, None, :]
        noise = np.sqrt(variances[:, :, None] + variances[:, None, :])
        with np.errstate(invalid="ignore"):
            off = np.abs(gap - (pool[:, :, None] - pool[:, None, :])) / noise
        self._contradicted = bool(np.nan_to_num(off).max() > _DISAGREEMENT)
        self._unseen = np.isnan(rates) & in_pool
        if self._unseen.any():
            worst = worst_gap(pool, self._unseen, least, least + self.share_)
            self.gap_interval_ = (0.0, max(worst, self.gap_interval_[1]))
            within = worst <= self.tolerance + 1e-9
            self.feasible_, self._unseen = self.feasible_ and within, self._unseen & (not within)

    def _warn(self, n: int) -> None:
        if not self.feasible_:
            unseen = words.name_cells(self._unseen, METRICS[self.metric], list(self.groups_))
            goal = f"{self.metric} gap within {self.tolerance:g} with probability {self.level:g}"
            said = words.shortfall(
                n, self.labels_needed_, goal, self.gap_interval_[1], unseen, cost=self.cost_of_safe_
            )
            warnings.warn(said, InfeasibleWarning, stacklevel=4)
        if self._contradicted:
            said = words.contradicted(self.gap_by_labels_, *self.gap_interval_)
            warnings.warn(said, DisagreementWarning, stacklevel=4)

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
        X, codes, mean = self._pool_.X, self._pool_.codes, self._pool_.mean
        of_groups = self._pool_.sample.group_model(self._estimator()).proba if self.blind else codes
        own, part = self._exploring_

        def fitted(model: Probability) -> tuple[list[PlugInRule], float]:
            rules = [replace(rule, probability=model) for rule in own]
            seen = (model.proba(X, None), of_groups) if self.blind else (model.proba(X, codes), codes)
            positive = part @ np.array([rule.costs(*seen) < 0 for rule in rules], dtype=np.float64)
            return rules, float(np.mean(positive * (1.0 - mean) + (1.0 - positive) * mean))

        _, error = fitted(self.calibration_.model)
        models = perturb(self.calibration_, labelled, y, risk, self._classifier(self._rng(), labelled.X))
        found = [fitted(model) for model in models]
        # Errors are told against this fit's own, whose rule is another.
        return [PerturbedModel(rules, part, self.error_ + own_error - error) for rules, own_error in found]

    def safety(self) -> dict[str, float]:
        """See :class:`FairOracle`; ``unseen`` counts rates of which fewer than three labels tell."""
        low, high = self.gap_interval_
        known = not np.isnan(self.gap_by_labels_)
        return {
            "level": self.level,
            "gap_low": low,
            "gap_high": high,
            **({"gap_by_labels": self.gap_by_labels_} if known else {}),
            "unseen": int(self._unseen.sum()),
            "safety_cost": self.safety_cost_,
            "cost_of_safe": self.cost_of_safe_,
            "reach": self.reach_,
            "needed_low": np.nan if self.labels_needed_ is None else self.labels_needed_[0],
            "needed_high": np.nan if self.labels_needed_ is None else self.labels_needed_[1],
            "contradicted": self._contradicted,
        }

    def bare(self) -> Self:
        """See :class:`FairOracle`."""
        model = super().bare()
        known = self.calibration_
        model.calibration_ = Calibration(known.model.bare(), np.zeros(0), known.ridge, known.log_loss)
        for name in ("_pool_", "_exploring_", "curves_", "earlier_rounds"):
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


class PlugInLearner:
    """The exact base learner of the search on a calibrated pool.

    On rows whose label is 1 with probability p, the Lagrangian's cost of predicting 1 is linear in p within
    each group: ``a_g + b_g p``. The best rule that sees the group predicts 1 where that is negative; the
    best that does not averages the cost over the group's probability given the features.

    Parameters
    ----------
    p : ndarray of shape (rows,)
        Probability that each row's label is 1.
    codes : ndarray of shape (rows,)
        Group of each row.
    seen : pair of ndarray
        What the rule sees, as in :meth:`PlugInRule.costs`: ``(p, codes)``, or when it is blind the
        probabilities of 1 under each group and those of the groups.
    metric : str
    """

    batched = False

    def __init__(
        self, p: Float, codes: Int, seen: tuple[Float, NDArray[Any]], n_groups: int, metric: Metric
    ) -> None:
        self.p, self.seen, self.metric, self.n_groups = p, seen, metric, n_groups
        totals = [np.bincount(codes, weights=in_condition(z, p), minlength=n_groups) for z in METRICS[metric]]
        self.per_row = len(p) / np.maximum(np.concatenate(totals), 1e-12)

    def fit(
        self, costs: Float, multipliers: Float, starts: Sequence[PlugInRule] | None
    ) -> tuple[list[PlugInRule], Float]:
        """See :class:`BaseLearner`; the rule follows from the multipliers alone."""
        rules = [self.rule(m) for m in multipliers]
        return rules, np.array([rule.costs(*self.seen) < 0 for rule in rules], dtype=np.float64)

    def rule(self, multipliers: Float) -> PlugInRule:
        """The rule for one multiplier per rate."""
        intercept, slope = np.full(self.n_groups, 1.0), np.full(self.n_groups, -2.0)
        price = (multipliers * self.per_row).reshape(-1, self.n_groups)
        for z, label in enumerate(METRICS[self.metric]):
            # An expected cost of price * p, price * (1 - p) or price.
            intercept = intercept + (0.0 if label == 1 else price[z])
            slope = slope + {1: price[z], 0: -price[z], None: 0.0}[label]
        return PlugInRule(intercept, slope)


def _log_odds(p: Float) -> Float:
    """Finite log odds."""
    return np.asarray(logit(np.clip(p, 1e-6, 1.0 - 1e-6)))


def likeness(residuals: Float, clusters: Int) -> float:
    """How much rows of a cluster tell the same, from 0 to 1, by the residuals of their labels.

    Copies of one row have the same label, different rows that look alike have it by chance: the mean product
    of two residuals of a cluster is 1 or 0, in units of their mean square. What is below one half is taken
    for 0: a model that is wrong for a cluster is wrong in the pool as well.

    Examples
    --------
    >>> likeness(np.array([0.5, 0.5, -0.5, -0.5]), np.array([0, 0, 1, 1]))
    1.0
    >>> likeness(np.array([0.5, -0.5, 0.5, 0.5]), np.array([0, 0, 1, 1]))
    0.0
    """
    size = np.bincount(clusters)
    several = size[clusters] > 1
    if not several.any():
        return 0.0
    total = np.bincount(clusters, residuals)
    squares = np.bincount(clusters, residuals**2)
    together = float((total**2 - squares).sum())
    apart = float(((size - 1.0) * squares).sum())
    return float(np.clip(2.0 * together / max(apart, 1e-12) - 1.0, 0.0, 1.0))


def _mean_copies(pool: Matrix, rows: Matrix) -> float:
    """Mean number of the pool's rows that a row equals, or nearly equals."""
    near = near_copies(pool, rows)
    return 1.0 if near is None else float(np.maximum(near.sum(axis=1), 1).mean())


def rates_by_label(labelled: Labelled, decisions: Float, metric: Metric) -> tuple[Float, Float]:
    """Estimate a rule's rates from the labels alone: rates and variances, both (conditions, groups).

    Rows have their importance weights. The variance is that of a ratio of weighted sums, with one more
    observation, so that rates of 0 and 1 do not look certain. Fewer than three rows say nothing: the rate
    is NaN and its variance infinite.

    Parameters
    ----------
    decisions : ndarray
        Probability that the rule predicts 1 on each labelled row, by a model that did not see the row.

    Examples
    --------
    >>> y, groups = np.array([1.0, 0.0] * 20), np.repeat([0, 1], 20)
    >>> rows = Labelled.of(np.zeros((40, 1)), y, groups, ["a", "b"])
    >>> rates_by_label(rows, y, "eo")[0].tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    y, conditions = labelled.y, METRICS[metric]
    rates = np.full((len(conditions), labelled.n_groups), np.nan)
    variances = np.full(rates.shape, np.inf)
    for z, condition in enumerate(conditions):
        inside = labelled.fairness_weights * in_condition(condition, y)
        for g in range(labelled.n_groups):
            weight = inside * (labelled.groups == g)
            if (weight > 0).sum() < 3:
                continue
            total = weight.sum()
            rates[z, g] = rate = weight @ decisions / total
            floor = 0.5 / (total**2 / (weight @ weight) + 2.0) ** 2
            variances[z, g] = ((weight * (decisions - rate)) ** 2).sum() / total**2 + floor
    return rates, variances


def worst_gap(rates: Float, unknown: Bool, least: float, most: float) -> float:
    """Largest gap that rates (conditions, groups) can have where those marked lie anywhere in [least, most].

    Examples
    --------
    >>> worst_gap(np.array([[0.5, 0.6]]), np.array([[False, True]]), 0.0, 1.0)
    0.5
    """
    low, high = np.where(unknown, least, rates), np.where(unknown, most, rates)
    gaps = high[:, :, None] - low[:, None, :]
    gaps[:, range(low.shape[1]), range(low.shape[1])] = 0.0  # a group has no gap with itself
    return float(gaps.max())
