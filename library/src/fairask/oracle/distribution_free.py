"""DistributionFreeFairOracle: thresholds at ranks of labelled rows that never trained the classifier.

The idea is FaiREE's (Li, Zou and Zhang, ICLR 2023). Of n positives of a group that the classifier never saw,
let the threshold be the score of the k-th smallest. Whatever the distribution of scores, the true positive
rate of the group is then distributed as Beta(n + 1 - k, k): a fresh score falls between any two neighbours
with the same probability. So for ranks that are fixed beforehand, the probability that two groups' rates
differ by more than the tolerance follows from the ranks alone. No curve and no prior is needed.

FaiREE chooses the ranks by the error on the same rows, which the probability does not allow for. Here they
are chosen by the training part and the unlabelled pool, so the probability holds for the chosen ranks.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv

from fairask.checks import check_number
from fairask.classifiers import Classifier
from fairask.errors import InfeasibleWarning, UserError
from fairask.matrix import clusters_of
from fairask.metrics import METRICS, Float, Int, Metric, in_condition
from fairask.oracle.base import Labelled, PerturbedModel, PoolSample, Seed
from fairask.oracle.calibrated import CalibratedFairOracle
from fairask.oracle.probability import calibrate, folds_by_label
from fairask.oracle.promise import MAX_PRICE, RELAXED, largest_gap
from fairask.report import words
from fairask.rules import PlugInRule

#: Ranks that are tried in a group, at most, and with three groups or more the rates that all groups share.
_RANKS, _SHARED = 81, 61
#: Cells of the interval of rates. The probability is a lower bound, less than the exact one by about a cell.
_CELLS = 1000
_DRAWS = 4000
_INSTEAD = "take strategy='passive', or CalibratedFairOracle"
#: Factors of the labels at hand, tried for the number that would suffice.
_MORE = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)


class DistributionFreeFairOracle(CalibratedFairOracle):
    """Thresholds whose gap is within the tolerance with probability ``level``, whatever the distribution.

    1. A share of the labelled rows, drawn at random, trains the classifier. The others are kept.
    2. The threshold of a group is the score of its k-th kept positive (``tprp``; negative for ``fprp``, row
       for ``dp``). Its rate then is distributed as Beta(n + 1 - k, k). Ranks are chosen without a look at the
       kept rows' scores: the least error that the training part expects on the pool, among ranks whose gap
       is within the tolerance with probability ``level``.
    3. ``eo``: half of the error probability is for true positive rates, as above. The other half is for a
       test, with exact binomial limits, that the false positive rates at these thresholds are as close.

    Where no ranks qualify that are worth more than a constant answer, the tolerance is *infeasible with these
    labels*: ``feasible_`` is False, a warning says so, and ``gap_interval_`` says within what the
    returned rule is.

    What must hold: labelled rows are a uniform sample, so ``strategy="passive"`` in a learner. Rows that a
    strategy prefers have other scores than the population; with uneven weights a fit is refused. Scores of
    different rows differ: where many rows share one score, or are copies, the rates of a threshold move in
    steps. The probability is over the labels of one fit: it does not cover the best of many fits.

    Parameters
    ----------
    estimator, metric, tolerance, level, n_folds, pool_rows, random_state, sensitive_features, without_groups
        As in :class:`CalibratedFairOracle`.
    kept : float
        Share of the labelled rows that choose thresholds and do not train.

    Attributes
    ----------
    gap_interval_ : pair of floats
        The gap is at most the upper limit with probability ``level``: that of a feasible model is within the
        tolerance.
    ranks_, kept_ : dict
        By group, the rank k and the number n of kept rows that it is among.
    labels_needed_ : pair of int, or None
        From how many to how many labels are needed, if probabilities stay as they are; None where it is
        feasible, or where 32 times the labels would not be enough.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("adult")
    >>> some = np.arange(6000)
    >>> oracle = DistributionFreeFairOracle("linear", random_state=0)
    >>> oracle = oracle.fit(data.X[some], data.y[some], data.groups[some], pool=(data.X, data.groups))
    >>> oracle.feasible_, bool(oracle.gap_interval_[1] <= 0.1)
    (True, True)
    """

    def __init__(
        self,
        estimator: Classifier | str | None = None,
        *,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        level: float = 0.95,
        kept: float = 0.5,
        n_folds: int = 5,
        pool_rows: int = 5000,
        random_state: Seed = None,
        sensitive_features: str | int | None = None,
        without_groups: bool = False,
    ) -> None:
        super().__init__(
            estimator,  # type: ignore[arg-type]
            metric=metric,
            tolerance=tolerance,
            level=level,
            n_folds=n_folds,
            pool_rows=pool_rows,
            random_state=random_state,
            sensitive_features=sensitive_features,
            without_groups=without_groups,
        )
        self.kept = kept

    def check_settings(self) -> None:
        """See :class:`FairOracle`."""
        super().check_settings()
        check_number(self.kept, "kept", 0.05, 0.95)

    def fit_labelled(
        self, labelled: Labelled, background: PoolSample | None = None
    ) -> DistributionFreeFairOracle:
        """See :class:`FairOracle`; the labelled rows stand for the population without a ``background``."""
        weights = labelled.fairness_weights
        if labelled.n_groups > 1 and np.ptp(weights) > 1e-6 * weights.max():
            raise UserError(
                "the labelled rows have uneven weights; a distribution-free promise needs a uniform sample",
                _INSTEAD,
            )
        self._name(labelled)
        rng, n, n_groups = self._rng(), len(labelled), labelled.n_groups
        copies = clusters_of(labelled.X)  # on one side of the split
        # A place of its own for each row, by group and label: every run of places has its share of kept rows.
        place = folds_by_label(labelled.groups, labelled.y, n, rng, copies)
        keep = np.floor((place + 1) * self.kept) > np.floor(place * self.kept)
        train, kept = labelled.where(~keep), labelled.where(keep)
        n_folds = min(self.n_folds, len(train))
        fold = folds_by_label(train.groups, train.y, n_folds, rng, copies[~keep])
        self.calibration_ = calibrate(
            train, fold, estimator=self._classifier(rng, train.X), ridges=self._ridges(len(train))
        )
        sample = self._sample(background or PoolSample(labelled.X, labelled.groups), rng)
        p = self.calibration_.model.proba(sample.X, sample.groups)
        own = self.calibration_.model.proba(kept.X, kept.groups)
        conditions = METRICS[self.metric]
        inside = [{1: kept.y == 1, 0: kept.y == 0, None: kept.y >= 0}[z] for z in conditions]
        counts = np.array([np.bincount(kept.groups[rows], minlength=n_groups) for rows in inside])
        chosen, limit = _choose(p, sample.groups, counts, self.metric, self.tolerance, self.level)
        cuts = np.empty(n_groups)
        for g, k in enumerate(chosen.ranks):
            scores = np.sort(own[inside[0] & (kept.groups == g)])
            cuts[g] = np.concatenate([[-1.0], scores, [2.0]])[k]
        rule = PlugInRule(cuts, -np.ones(n_groups), self.calibration_.model)
        rates = _rate_draws(chosen.ranks, counts[0], rng)[None]
        if len(conditions) > 1:
            decided = rule.costs(own, kept.groups) < 0
            hits = np.bincount(kept.groups[inside[1] & decided], minlength=n_groups)
            low, high = _binomial_limits(hits, counts[1], (1.0 - self.level) / 2.0)
            limit = max(limit, float(_widest(low, high)))
            rates = np.concatenate(
                [rates, rng.beta(hits + 0.5, counts[1] - hits + 0.5, (_DRAWS, n_groups)).T[None]]
            )
        self.members_, self.weights_ = [rule], np.ones(1)
        self.feasible_ = limit <= self.tolerance + 1e-9 and chosen.worthwhile
        self.error_, self.n_fits_, self.interpolates_ = chosen.error, chosen.tried, False
        self.ranks_, self.kept_ = (
            dict(zip(self.groups_, values.tolist(), strict=True)) for values in (chosen.ranks, counts[0])
        )
        self.thresholds_ = dict(zip(self.groups_, np.clip(cuts, 0.0, 1.0).tolist(), strict=True))
        means = rates.mean(axis=-1)
        self.rates_, self.gap_ = self._named_rates(means.ravel()), float(largest_gap(means[:, :, None])[0])
        # The limit is one of a few that were tried; the distribution of the rates may say less.
        low_gap, upper = np.quantile(largest_gap(rates), [1.0 - self.level, self.level])
        limit = limit if len(conditions) > 1 else min(limit, float(upper))
        self.gap_interval_ = (min(float(low_gap), self.gap_), max(limit, self.gap_))
        self.share_, self.safety_cost_ = 1.0, max(chosen.error - chosen.error_unsafe, 0.0)
        self.margin_ = max(limit - self.gap_, 0.0)
        self.price_ = self.safety_cost_ / self.margin_ if self.margin_ > 0 else 0.0
        self.labels_needed_ = None if self.feasible_ else self._enough(p, sample.groups, counts, n)
        if not self.feasible_:
            goal = f"{self.metric} gap within {self.tolerance:g} with probability {self.level:g}"
            said = words.shortfall(n, self.labels_needed_, goal, limit)
            warnings.warn(said, InfeasibleWarning, stacklevel=2)
        self._note_decisions((rule.costs(p, sample.groups) < 0).astype(np.float64), self.labels_needed_)
        return self

    def _enough(self, p: Float, groups: Int, counts: Int, n: int) -> tuple[int, int] | None:
        """Between how many labels it becomes feasible, if probabilities stay as they are."""
        for factor, less in zip(_MORE, (1.1, *_MORE), strict=False):
            more = np.ceil(factor * np.maximum(counts, 1)).astype(np.int64)
            chosen, limit = _choose(p, groups, more, self.metric, self.tolerance, self.level)
            if chosen.worthwhile and limit <= self.tolerance + 1e-9:
                return int(np.ceil(less * n)), int(np.ceil(factor * n))
        return None

    def perturbed(
        self, labelled: Labelled, labels: Float | None = None, weights: Float | None = None
    ) -> list[PerturbedModel]:
        """Refuse: strategies that ask for perturbed models prefer rows; the promise needs uniform ones."""
        raise UserError(
            "a distribution-free promise needs a uniform sample of labels, and this strategy prefers rows",
            _INSTEAD,
        )

    def safety(self) -> dict[str, float]:
        """See :class:`FairOracle`."""
        low, high = self.gap_interval_
        needed_low, needed_high = self.labels_needed_ or (np.nan, np.nan)
        return {
            "level": self.level,
            "gap_low": low,
            "gap_high": high,
            "unseen": 0,
            "safety_cost": self.safety_cost_,
            "reach": high,
            "needed_low": needed_low,
            "needed_high": needed_high,
            "contradicted": False,
        }


@dataclass(frozen=True)
class _Ranks:
    """A rank in each group, what is expected of it, and whether it is worth more than a constant answer."""

    ranks: Int
    error: float
    error_unsafe: float
    worthwhile: bool
    tried: int


def rates_within(ranks: Sequence[Int], counts: Int, tolerance: float) -> Float:
    """Probability that rates at these ranks differ by at most ``tolerance``; a lower bound, for two groups.

    Parameters
    ----------
    ranks : pair of ndarray
        Ranks to try in each group, from 0 (everybody is above) to n + 1 (nobody is).
    counts : pair of int
        Rows n of each group that were kept.

    Returns
    -------
    ndarray of shape (ranks of the first, ranks of the second)

    Examples
    --------
    >>> rates_within([np.array([0, 5]), np.array([0, 5])], np.array([99, 99]), 0.1).round(3)
    array([[1.   , 0.975],
           [0.975, 0.997]])
    """
    edges = np.linspace(0.0, 1.0, _CELLS + 1)
    first = np.diff(_rate_cdf(ranks[0], counts[0], edges), axis=1, prepend=0.0)
    mass = np.hstack([first[:, :1] + first[:, 1:2], first[:, 2:]])  # a rate of 0 is in the first cell
    above = _rate_cdf(ranks[1], counts[1], edges[:-1] + tolerance)
    below = _rate_cdf(ranks[1], counts[1], edges[1:] - tolerance, closed=False)
    return np.asarray(mass @ np.maximum(above - below, 0.0).T)


def _rate_cdf(ranks: Int, n: int, at: Float, *, closed: bool = True) -> Float:
    """P(rate <= at), or P(rate < at), of Beta(n + 1 - k, k) for each rank; ranks 0 and n + 1 are certain."""
    k = ranks[:, None].astype(np.float64)
    x = np.clip(at, 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        out = betainc(np.maximum(n + 1.0 - k, 1e-300), np.maximum(k, 1e-300), x)
    certain = np.where(k == 0, 1.0, 0.0)  # the rate where it is certain
    steps = (at >= certain) if closed else (at > certain)
    return np.where((k == 0) | (k == n + 1), steps, np.where(at < 0, 0.0, np.where(at > 1, 1.0, out)))


def _choose(
    p: Float, groups: Int, counts: Int, metric: Metric, tolerance: float, level: float
) -> tuple[_Ranks, float]:
    """Choose ranks by what is expected on the pool; return also the tolerance within which they are."""
    conditions, n_groups = METRICS[metric], counts.shape[1]
    delta = (1.0 - level) / len(conditions)
    if n_groups == 2:
        tried = [
            np.unique(np.linspace(0, n + 1, min(n + 2, _RANKS)).round().astype(np.int64)) for n in counts[0]
        ]
        at = np.stack(np.meshgrid(*map(np.arange, map(len, tried)), indexing="ij"), axis=-1).reshape(-1, 2)
    else:
        shared = np.linspace(0.0, 1.0, _SHARED)
        tried = [np.round(shared * (n + 1)).astype(np.int64) for n in counts[0]]
        at = np.repeat(np.arange(_SHARED)[:, None], n_groups, axis=1)
    expected = [_expected(p[groups == g], tried[g], counts[0, g], conditions) for g in range(n_groups)]
    errors = np.sum([expected[g][0][at[:, g]] for g in range(n_groups)], axis=0) / len(p)
    # (groups, conditions, candidates)
    rates = np.stack([expected[g][1][:, at[:, g]] for g in range(n_groups)])
    gap = np.ptp(rates, axis=0).max(axis=0)
    ends = np.array([[t[i] for t, i in zip(tried, row, strict=True)] for row in at])
    constant = float(
        min(errors[(ends == 0).all(axis=1)].min(), errors[(ends == counts[0] + 1).all(axis=1)].min())
    )
    unsafe = min(float(errors[gap <= tolerance + 1e-9].min()), constant)
    worthwhile = constant - (1.0 - MAX_PRICE) * (constant - unsafe)
    best = int(np.argmin(errors))
    for factor in (1.0, *RELAXED):
        limit = min(factor * tolerance, 1.0)
        sure = _sure(tried, at, counts[0], limit) >= 1.0 - delta
        if len(conditions) > 1:
            sure &= _expected_limit(rates[:, 1], counts[1], delta) <= limit
        if not sure.any():
            continue
        best = int(np.argmin(np.where(sure, errors, np.inf)))
        # A constant answer is always safe: thresholds that are worth no more count as none.
        if errors[best] <= worthwhile + 1e-9 and (
            errors[best] < constant - 1e-9 or unsafe >= constant - 1e-9
        ):
            return _Ranks(ends[best], float(errors[best]), unsafe, True, len(at)), limit
    return _Ranks(ends[best], float(errors[best]), unsafe, False, len(at)), 1.0


def _sure(tried: Sequence[Int], at: Int, counts: Int, limit: float) -> Float:
    """Lower bound of the probability that all rates are within ``limit`` of each other, by candidate."""
    miss = np.zeros(len(at))
    for g in range(len(tried)):
        for h in range(g):
            within = rates_within([tried[g], tried[h]], counts[[g, h]], limit)
            miss += 1.0 - within[at[:, g], at[:, h]]
    return 1.0 - miss


def _expected(p: Float, ranks: Int, n: int, conditions: Sequence[int | None]) -> tuple[Float, Float]:
    """Errors (rows, not a share) and rates (conditions, ranks) of thresholds at these ranks on a pool."""
    ranked = np.sort(p)[::-1]
    shares = []
    for z in conditions:
        weight = in_condition(z, ranked)
        total = max(float(weight.sum()), 1e-12)
        shares.append(np.append(0.0, np.cumsum(weight)) / total)
    wanted = 1.0 - ranks / (n + 1.0)
    end = np.minimum(np.searchsorted(shares[0], wanted - 1e-12), len(ranked))
    end = np.where(ranks == 0, len(ranked), end)
    costs = np.append(0.0, np.cumsum(1.0 - 2.0 * ranked))
    rates = np.stack([share[end] if len(ranked) else wanted for share in shares])
    rates[0] = wanted
    return ranked.sum() + costs[end], rates


def _binomial_limits(hits: Float | Int, counts: Int, delta: float) -> tuple[Float, Float]:
    """Exact limits of rates, all together with probability ``1 - delta``."""
    each = delta / (2.0 * len(counts))
    misses = counts - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), misses + 1.0, each), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1.0, np.maximum(misses, 1e-9), 1.0 - each), 1.0)
    return low, high


def _widest(low: Float, high: Float) -> Float:
    """Largest difference of two groups' rates (groups, ...) that lie between these limits."""
    gaps = high[:, None] - low[None, :]
    gaps[range(len(low)), range(len(low))] = 0.0
    return np.asarray(gaps.max(axis=(0, 1)))


def _expected_limit(rates: Float, counts: Int, delta: float) -> Float:
    """Limit of the gap that expected counts would give, (groups, candidates) of rates."""
    limits = [
        _binomial_limits(np.round(rate * n)[:, None], np.full((1, 1), n), delta / len(counts))
        for rate, n in zip(rates, counts, strict=True)
    ]
    low, high = (np.stack([limit[side][:, 0] for limit in limits]) for side in (0, 1))
    return _widest(low, high)


def _rate_draws(ranks: Int, counts: Int, rng: np.random.Generator) -> Float:
    """Draws of the rates (groups, draws)."""
    draws = np.empty((len(ranks), _DRAWS))
    for g, (k, n) in enumerate(zip(ranks, counts, strict=True)):
        draws[g] = rng.beta(n + 1 - k, k, _DRAWS) if 0 < k < n + 1 else float(k == 0)
    return draws
