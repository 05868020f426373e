"""Bounds on the gap that were compared with those of the library: the theorem's, Hajek's, and betting.

Each of :data:`METHODS` takes a sample, the labels on which rates are conditioned, and delta, and returns the
lower and the upper bound.

- *theorem* is the paper's (appendix, "Full theorem"): empirical Bernstein on numerators and denominators. As
  printed, its four events a label are each given the whole delta, the second-order term is log(2/delta)/n
  and the inverse of the denominator is linearised at the estimate. *theorem-split* repairs what a proof
  needs: delta is shared over the events, Maurer and Pontil's constants are used, and the ratio is bounded at
  the denominator's own limit.
- *hajek* is for labels drawn with known, unequal probabilities. Asymptotic.
- *betting* holds at every moment at once, so that one may stop whenever one likes. To reject
  "rate_a - rate_b >= d" a bet is made, for every nuisance t, that group a's rate is below t + d and group
  b's above t. If the claim is true for that t, the wealth is a supermartingale and ever exceeds 1/level with
  probability at most level. Within an interval of t the stakes are fixed, so log-wealth is concave in t and
  its values at both ends bound the interval: no t is missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from fairask.audit.bounds.methods import RateCounts, family_bounds, pairs
from fairask.audit.bounds.proportions import newcombe_upper
from fairask.metrics import Float, Int

Conditions = tuple[int | None, ...]
Bounds = tuple[float, float]

_INTERVALS = 24
_STEPS = 14
_TOLERANCE = 2e-3
#: A stake never risks more than this share of the wealth.
_RISK = 0.75


@dataclass(frozen=True)
class Sample:
    """Labelled rows in the order in which they were drawn.

    ``score`` is the prediction, soft for a randomised classifier. ``propensities`` are the probabilities of
    the draws; betting needs also the rows of the pool and the least propensity any row had in any draw.
    """

    groups: int
    codes: Int
    y: Float
    score: Float
    propensities: Float | None = None
    pool_size: int | None = None
    propensity_floor: float | None = None

    @property
    def weight(self) -> Float:
        """The inverse of the propensities."""
        return np.ones(len(self.codes)) if self.propensities is None else 1 / self.propensities

    def rows(self, label: int | None) -> NDArray[np.bool_]:
        """Rows on which a rate given y = ``label`` is computed."""
        return np.ones(len(self.codes), dtype=bool) if label is None else np.asarray(self.y == label)

    def counts(self, label: int | None) -> tuple[Int, Int]:
        """Decisions 1 and rows of each group, given y = ``label``."""
        rows = self.rows(label)
        hits = np.bincount(self.codes[rows], weights=self.score[rows] >= 0.5, minlength=self.groups)
        return hits.astype(np.int64), np.bincount(self.codes[rows], minlength=self.groups)


def _tables(sample: Sample, conditions: Conditions) -> RateCounts:
    return {label: sample.counts(label) for label in conditions}


# -- the theorem --


def _moments(sample: Sample, label: int | None) -> tuple[int, Float, Float, Float, Float]:
    """n, and per group: numerator, denominator and their empirical variances."""
    n = len(sample.codes)
    hits, size = sample.counts(label)
    num, den = hits / n, size / n
    # The theorem's average over pairs is the unbiased variance, n p (1 - p) / (n - 1).
    unbiased = n / max(n - 1, 1)
    return n, num, den, unbiased * num * (1 - num), unbiased * den * (1 - den)


def _printed_radius(sample: Sample, label: int | None, delta: float) -> Float:
    """C_{j,k} of the theorem, one entry per group."""
    n, num, den, var_num, var_den = _moments(sample, label)
    log = np.log(2 / delta) / n
    a_num, a_den = np.sqrt(2 * var_num * log) + log, np.sqrt(2 * var_den * log) + log
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = (num + a_num) * a_den / den**2 + a_num / den
    # The proof holds "as soon as" the denominator's error is at most half of it; before that it says nothing.
    return np.asarray(np.where(a_den <= den / 2, radius, 1.0))


def printed_bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
    """Bounds on the gap from the theorem as printed; EO adds the terms of both labels, as there."""
    worst, total = 0.0, 0.0
    for label in conditions:
        hits, size = sample.counts(label)
        rate = hits / np.maximum(size, 1)
        # The paper has two groups; with more, the two widest terms bound any pair.
        radius = np.sort(_printed_radius(sample, label, delta))[-2:].sum()
        worst, total = max(worst, float(np.ptp(rate))), total + float(radius)
    return max(worst - total, 0.0), min(worst + total, 1.0)


def split_bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
    """Bounds from the same events with delta shared over all of them; finite-sample valid."""
    low, high = 0.0, 0.0
    # Numerator and denominator of each (group, label), both sides.
    events = 4 * sample.groups * len(conditions)
    log = np.log(2 * events / delta)
    for label in conditions:
        n, num, den, var_num, var_den = _moments(sample, label)
        second = 7 * log / (3 * max(n - 1, 1))
        a_num, a_den = np.sqrt(2 * var_num * log / n) + second, np.sqrt(2 * var_den * log / n) + second
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(den > a_den, np.minimum((num + a_num) / (den - a_den), 1.0), 1.0)
            bottom = np.clip((num - a_num) / (den + a_den), 0.0, 1.0)
        for a, b in pairs(sample.groups):
            high, low = max(high, float(top[a] - bottom[b])), max(low, float(bottom[a] - top[b]))
    return low, high


# -- Hajek --


def effective_sample(value: Float, weight: Float) -> tuple[float, float, float]:
    """Weighted mean, its effective sample size, and Kish's size of the weights.

    The effective size is the one at which a binomial of the same mean would have the linearised
    variance ``sum w^2 (h - r)^2 / (sum w)^2``. A mean of exactly 0 or 1 has no variance to read, so there
    Kish's size stands in.

    Examples
    --------
    >>> effective_sample(np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4))[0]
    0.5
    """
    total = float(weight.sum())
    kish = total**2 / float((weight**2).sum())
    mean = float(weight @ value) / total
    variance = float((weight**2) @ (value - mean) ** 2) / total**2
    # (n - 1)/n removes the bias of residuals taken around the fitted mean.
    variance /= max(1 - 1 / kish, 1e-9)
    size = mean * (1 - mean) / variance if variance > 0 and 0 < mean < 1 else kish
    return mean, size, kish


def outcome_weights(score: Float, weight: Float) -> tuple[float, float]:
    """Typical weight of rows predicted 0 and of rows predicted 1: ``sum w^2 / sum w`` over each.

    Examples
    --------
    >>> outcome_weights(np.array([0.0, 0.0, 1.0]), np.array([3.0, 3.0, 1.0]))
    (3.0, 1.0)
    """
    overall = float((weight**2).sum()) / float(weight.sum())
    typical = []
    for part in (1 - score, score):
        mass = float(weight @ part)
        typical.append(float((weight**2) @ part) / mass if mass > 0 else overall)
    return typical[0], typical[1]


def hajek_upper(sample: Sample, label: int | None, a: int, b: int, level: float) -> float:
    """Upper limit for the weighted rate_a - rate_b: Newcombe's, effective sizes, Student's quantile."""
    weight = sample.weight
    means, sizes, df = [], [], np.inf
    for group in (a, b):
        rows = sample.rows(label) & (sample.codes == group) & (weight > 0)
        mean, size, kish = effective_sample(sample.score[rows], weight[rows])
        # Where one decision is rare, its heavy weights may not have shown up yet among the rows with the
        # conditioning label; those of all labelled rows of the group tell how heavy it would be.
        mine = (sample.codes == group) & (weight > 0)
        miss, hit = outcome_weights(sample.score[mine], weight[mine])
        size = min(size, float(weight[rows].sum()) / ((1 - mean) * hit + mean * miss))
        means.append(mean)
        sizes.append(size)
        df = min(df, kish - 1)
    student = float(ndtr(-stdtrit(max(df, 1.0), 1 - level))) if np.isfinite(df) else level
    student = max(student, float(ndtr(ndtri(1e-12))))
    return float(newcombe_upper(means[0] * sizes[0], sizes[0], means[1] * sizes[1], sizes[1], student))


def hajek_bounds(sample: Sample, conditions: Conditions, delta: float) -> Bounds:
    """Bounds on the gap from weighted rates."""
    return family_bounds(
        _tables(sample, conditions), delta, lambda member, level: hajek_upper(sample, *member, level)
    )


# -- betting --


def _before(values: Float) -> Float:
    """Sum of the entries before each one."""
    return np.concatenate([np.zeros(1), np.cumsum(values)[:-1]])


def _log_wealth(stake: Float, payoff_low: Float, payoff_high: Float) -> Float:
    """Largest log-wealth over time, at the worse end of each interval."""
    low = np.cumsum(np.log1p(stake * payoff_low), axis=1)
    high = np.cumsum(np.log1p(stake * payoff_high), axis=1)
    return np.asarray(np.minimum(low, high).max(axis=1))


def _stake(edge: Float, variance: Float, bound: Float) -> Float:
    """Kelly's fraction to second order, capped so that no outcome loses all wealth."""
    return np.asarray(np.clip(edge / (variance + edge * edge), 0.0, _RISK / bound))


def uniform_wealth(h: Float, is_a: NDArray[np.bool_], d: float) -> Float:
    """Log-wealth by interval of t when rows are uniform within their group: one bet per row."""
    t = np.linspace(max(0.0, -d), min(1.0, 1.0 - d), _INTERVALS + 1)
    middle = ((t[1:] + t[:-1]) / 2)[:, None]
    stake, low, high = (np.zeros((_INTERVALS, len(h))) for _ in range(3))
    for mine, sign, shift in ((is_a, -1.0, d), (~is_a, 1.0, 0.0)):
        x = h[mine]
        count = np.arange(len(x))
        mean = (_before(x) + 0.5) / (count + 1)
        variance = (_before((x - mean) ** 2) + 0.25) / (count + 1)
        edge = sign * (mean - (middle + shift))
        # Losing 1 - m (sign -) or t (sign +) is the worst a row can do anywhere in the interval.
        worst = 1 - (t[:-1, None] + shift) if sign < 0 else t[1:, None]
        stake[:, mine] = _stake(edge, variance, np.maximum(worst, 1e-6))
        low[:, mine] = sign * (x - (t[:-1, None] + shift))
        high[:, mine] = sign * (x - (t[1:, None] + shift))
    return _log_wealth(stake, low, high)


def pool_wealth(
    h: Float,
    y: Float,
    is_a: NDArray[np.bool_],
    is_b: NDArray[np.bool_],
    q: Float,
    size: int,
    floor: float,
    d: float,
) -> Float:
    """Log-wealth by interval of t when rows are drawn from a pool without replacement with propensities q."""
    t = np.linspace(max(0.0, -d), min(1.0, 1.0 - d), _INTERVALS + 1)
    reach = 1 / (size * floor)
    inverse = 1 / (size * q)
    scale = {}
    for key, mine in (("a", is_a), ("b", is_b)):
        # Share of the pool with label and group, from earlier draws; the prior keeps it above zero.
        share = (_before(y * mine * inverse) + 0.25 * reach) / (np.arange(len(h)) + reach)
        scale[key] = 1 / np.maximum(share, 1e-3)
    one_a, one_b = y * is_a, y * is_b

    def payoff(s: Float) -> tuple[Float, Float]:
        """The payoff, and the part of it that rows seen before decide."""
        now = scale["b"] * one_b * (h - s) - scale["a"] * one_a * (h - s - d)
        before = scale["b"] * (_before(one_b * h) - s * _before(one_b))
        before = before - scale["a"] * (_before(one_a * h) - (s + d) * _before(one_a))
        return now * inverse + before / size, before / size

    (low, seen_low), (high, seen_high) = payoff(t[:-1, None]), payoff(t[1:, None])
    middle = (low + high) / 2
    count = np.arange(len(h))
    total = np.cumsum(middle, axis=1) - middle
    square = np.cumsum(middle**2, axis=1) - middle**2
    mean = total / np.maximum(count, 1)
    variance = (square + reach) / np.maximum(count, 1)
    seen = np.minimum(seen_low, seen_high)
    worst = reach * np.maximum(scale["b"] * t[1:, None], scale["a"] * np.maximum(1 - t[:-1, None] - d, 0))
    return _log_wealth(_stake(mean, variance, np.maximum(worst - seen, 1e-9)), low, high)


def betting_upper(sample: Sample, label: int | None, a: int, b: int, level: float) -> float:
    """Upper limit for rate_a - rate_b, valid at any stopping time; rows must be in the order drawn."""
    return _invert(_wealth(sample, label, a, b), _gap(sample, label, a, b), -np.log(level))


def betting_below(sample: Sample, label: int | None, a: int, b: int, d: float, level: float) -> bool:
    """Whether :func:`betting_upper` is at most ``d``, at the cost of a few bets."""
    wealth, goal = _wealth(sample, label, a, b), -np.log(level)
    return _gap(sample, label, a, b) < d and all(wealth(v) >= goal for v in (d, *_above(d)))


def _above(d: float) -> list[float]:
    """Larger differences to look at: stakes change with d, so rejection need not be monotone by itself."""
    return [d + step for step in (0.01, 0.03, 0.1) if d + step < 1]


def _wealth(sample: Sample, label: int | None, a: int, b: int) -> Callable[[float], float]:
    """The least log-wealth over the nuisance, as a function of the difference bet against."""
    if sample.propensities is None:
        rows = sample.rows(label) & ((sample.codes == a) | (sample.codes == b))
        h, is_a = sample.score[rows], sample.codes[rows] == a
        return lambda d: float(uniform_wealth(h, is_a, d).min())
    if sample.pool_size is None or sample.propensity_floor is None:
        raise ValueError(
            "method='betting' with propensities needs pool_size= and propensity_floor= (the least "
            "probability that any row of the pool had in any draw): stakes must be safe beforehand"
        )
    size, floor, q = sample.pool_size, sample.propensity_floor, sample.propensities
    flag, is_a, is_b = sample.rows(label).astype(np.float64), sample.codes == a, sample.codes == b
    return lambda d: float(pool_wealth(sample.score, flag, is_a, is_b, q, size, floor, d).min())


def _gap(sample: Sample, label: int | None, a: int, b: int) -> float:
    weight = sample.weight * sample.rows(label)
    mean = [float(np.average(sample.score, weights=weight * (sample.codes == g))) for g in (a, b)]
    return mean[0] - mean[1]


def _invert(wealth: Callable[[float], float], gap: float, goal: float) -> float:
    """Smallest difference found above which every difference tried is rejected."""
    low, high = gap, 1.0
    if high - low <= _TOLERANCE or wealth(high) < goal:
        return 1.0
    d = low + (high - low) / 4
    for _ in range(_STEPS):
        value = wealth(d)
        low, high = (low, d) if value >= goal else (d, high)
        if high - low < _TOLERANCE:
            break
        # Log-wealth grows like the square of the distance from the estimate.
        d = gap + (d - gap) * float(np.sqrt(goal / value)) if value > 0 else (low + high) / 2
        d += _TOLERANCE / 2 if low > gap else -_TOLERANCE / 2
        if not low < d < high:
            d = (low + high) / 2
    for d in _above(high):
        if wealth(d) < goal:
            return _invert(wealth, d, goal)
    return float(high)


def betting_bounds(sample: Sample, conditions: Conditions, delta: float) -> Bounds:
    """Bounds on the gap from bets against each difference."""
    return family_bounds(
        _tables(sample, conditions),
        delta,
        lambda member, level: betting_upper(sample, *member, level),
        lambda member, d, level: betting_below(sample, *member, d, level),
    )


METHODS = {
    "theorem": printed_bounds,
    "theorem-split": split_bounds,
    "hajek": hajek_bounds,
    "betting": betting_bounds,
}
