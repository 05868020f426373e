"""The exact unconditional bound on a difference of two proportions (Chan and Zhang), inverted.

Tables (T_a, T_b) are ordered by their Newcombe limit. The bound is the largest difference d for which,
at the worst value of the nuisance p_b, a table ranked no higher than the one seen still has probability
above the level. By construction it fails with probability at most the level, whatever the counts.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from fairask.audit.bounds.proportions import newcombe_upper
from fairask.metrics import Float, Int

_GRID = 48
_TOLERANCE = 1e-5


@functools.lru_cache(maxsize=16)
def _log_choose(n: int) -> Float:
    k = np.arange(n + 1, dtype=np.float64)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _pmf(n: int, p: Float, low: int, high: int) -> Float:
    """Binomial probabilities of ``low..high`` for each p, one row per p."""
    k = np.arange(low, high + 1, dtype=np.float64)
    # One logarithm per rate; that of zero is as low as makes its powers vanish.
    log_p, log_q = np.log(np.maximum(p, 1e-300)), np.log1p(-np.minimum(p, 1.0 - 1e-16))
    log_q = np.where(p < 1, log_q, np.log(1e-300))
    return np.asarray(np.exp(_log_choose(n)[low : high + 1] + np.outer(log_p, k) + np.outer(log_q, n - k)))


def _span(n: int, p: Float) -> tuple[int, int]:
    """The counts that carry all but about 1e-14 of the probability, for every p given."""
    reach = 8.0 * np.sqrt(n * 0.25) + 8.0
    spread = np.minimum(reach, 8.0 * np.sqrt(n * p * (1 - p)) + 8.0 * np.log1p(n))
    low, high = np.min(n * p - spread), np.max(n * p + spread)
    return max(int(np.floor(low)), 0), min(int(np.ceil(high)), n)


@dataclass(frozen=True)
class _Region:
    """Tables ranked no higher than the one seen: those with ``T_a <= edge[T_b]``."""

    n_a: int
    n_b: int
    edge: Int

    def probability(self, p_a: Float, p_b: Float) -> Float:
        """Return the region's probability for each pair of rates."""
        low_a, high_a = _span(self.n_a, p_a)
        low_b, high_b = _span(self.n_b, p_b)
        cumulative = np.cumsum(_pmf(self.n_a, p_a, low_a, high_a), axis=1)
        cumulative = np.concatenate([np.zeros((len(p_a), 1)), cumulative], axis=1)
        position = np.clip(self.edge[low_b : high_b + 1] - low_a + 1, 0, high_a - low_a + 1)
        return np.asarray((_pmf(self.n_b, p_b, low_b, high_b) * cumulative[:, position]).sum(axis=1))

    def worst(self, d: float, start: float | None = None) -> tuple[float, float]:
        """Return the largest probability over the nuisance p_b at difference ``d``, and where it is."""
        low, high = max(0.0, -d), min(1.0, 1.0 - d)
        if high <= low:
            return float(self.probability(np.array([low + d]), np.array([low]))[0]), low
        if start is None:
            # Dense near both ends, where the probability bends fastest.
            grid = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, _GRID))) / 2
        else:
            grid = np.clip(start + (high - low) * np.linspace(-0.06, 0.06, 9), low, high)
        best = 0.0
        where = low
        while True:
            values = self.probability(np.clip(grid + d, 0, 1), grid)
            top = int(np.argmax(values))
            moved = float(values[top]) - best
            if values[top] >= best:
                best, where = float(values[top]), float(grid[top])
            left, right = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
            if (moved <= 1e-3 * best and right - left < 0.05 * (high - low)) or right - left < 1e-7:
                return best, where
            grid = np.linspace(left, right, 9)


def _region(hits_a: int, n_a: int, hits_b: int, n_b: int, level: float) -> _Region:
    seen = float(newcombe_upper(hits_a, n_a, hits_b, n_b, level)) + 1e-12
    column = np.arange(n_b + 1)
    # The limit grows with T_a, so the edge of the region is found by bisection, in every column at once.
    below = np.full(n_b + 1, -1, dtype=np.int64)
    above = np.full(n_b + 1, n_a + 1, dtype=np.int64)
    while (above - below > 1).any():
        middle = (below + above) // 2
        inside = newcombe_upper(np.clip(middle, 0, n_a), n_a, column, n_b, level) <= seen
        inside &= middle <= n_a
        inside |= middle < 0
        below, above = np.where(inside, middle, below), np.where(inside, above, middle)
    return _Region(n_a, n_b, below)


def exact_p_value(hits_a: int, n_a: int, hits_b: int, n_b: int, d: float, level: float = 0.05) -> float:
    """P-value of the null ``p_a - p_b >= d``, the largest over the nuisance rate.

    Examples
    --------
    >>> round(exact_p_value(80, 100, 80, 100, 0.1), 3)
    0.044
    """
    return _region(hits_a, n_a, hits_b, n_b, level).worst(d)[0]


def exact_upper(hits_a: int, n_a: int, hits_b: int, n_b: int, level: float) -> float:
    """Upper limit for ``p_a - p_b`` that fails with probability at most ``level``, for any counts.

    Examples
    --------
    >>> round(exact_upper(56, 70, 48, 80, 0.025), 3)
    0.344
    """
    region = _region(hits_a, n_a, hits_b, n_b, level)
    if region.worst(1.0)[0] > level:
        return 1.0
    # Secant steps in d from Newcombe's limit, inside a bracket that bisection always shrinks.
    low, high = hits_a / n_a - hits_b / n_b - 1e-9, 1.0
    d = min(max(float(newcombe_upper(hits_a, n_a, hits_b, n_b, level)), low), high)
    value, where = region.worst(d)
    slope_d, slope_v = low, 0.5
    while high - low > _TOLERANCE:
        if value > level:
            low = d
        else:
            high = d
        step = d + (np.log(level) - np.log(max(value, 1e-300))) * (d - slope_d) / (
            np.log(max(value, 1e-300)) - np.log(max(slope_v, 1e-300)) or 1.0
        )
        slope_d, slope_v = d, value
        # Aim slightly beyond the root so that the bracket closes from both sides.
        step += _TOLERANCE / 3 if low == d else -_TOLERANCE / 3
        d = step if low < step < high else (low + high) / 2
        value, where = region.worst(d, where)
    # The steps followed one local maximum over the nuisance; another may be higher, so search again.
    while region.worst(high)[0] > level:
        high = min(high + 2e-4, 1.0)
    return float(high)
