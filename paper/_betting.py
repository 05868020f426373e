"""Betting: bounds that hold at every moment at once, so that one may stop whenever one likes.

To reject "rate_a - rate_b >= d" a bet is made, for every nuisance t, that group a's rate is below t + d
and group b's above t. If the claim is true for that t, the wealth is a supermartingale and ever exceeds
1/level with probability at most level. Within an interval of t the stakes are fixed, so log-wealth
is concave in t and its values at both ends bound the interval: no t is missed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairask.audit.sample import Sample
from fairask.metrics import Float

_INTERVALS = 24
_STEPS = 14
_TOLERANCE = 2e-3
#: A stake never risks more than this share of the wealth.
_RISK = 0.75


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


def _uniform_wealth(h: Float, is_a: NDArray[np.bool_], d: float) -> Float:
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


def _pool_wealth(
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
        return lambda d: float(_uniform_wealth(h, is_a, d).min())
    if sample.pool_size is None or sample.propensity_floor is None:
        raise ValueError(
            "method='betting' with propensities needs pool_size= and propensity_floor= (the least "
            "probability that any row of the pool had in any draw): stakes must be safe beforehand"
        )
    size, floor, q = sample.pool_size, sample.propensity_floor, sample.propensities
    flag, is_a, is_b = sample.rows(label).astype(np.float64), sample.codes == a, sample.codes == b
    return lambda d: float(_pool_wealth(sample.score, flag, is_a, is_b, q, size, floor, d).min())


def _gap(sample: Sample, label: int | None, a: int, b: int) -> float:
    weight = np.ones(len(sample.codes)) if sample.propensities is None else 1 / sample.propensities
    weight = weight * sample.rows(label)
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
