"""The paper's theorem (appendix, "Full theorem"): empirical Bernstein on numerators and denominators.

As printed, its four events a label are each given the whole delta, the second-order term is log(2/delta)/n
and the inverse of the denominator is linearised at the estimate. ``theorem-split`` repairs what a proof
needs: delta is shared over the events, Maurer and Pontil's constants are used, and the ratio is bounded at
the denominator's own limit.
"""

from __future__ import annotations

import numpy as np

from fairask.audit.sample import Sample
from fairask.metrics import Float


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


def printed_bounds(sample: Sample, conditions: tuple[int | None, ...], delta: float) -> tuple[float, float]:
    """Bounds on the violation from the theorem as printed; EO adds the terms of both labels, as there."""
    worst, total = 0.0, 0.0
    for label in conditions:
        hits, size = sample.counts(label)
        rate = hits / np.maximum(size, 1)
        # The paper has two groups; with more, the two widest terms bound any pair.
        radius = np.sort(_printed_radius(sample, label, delta))[-2:].sum()
        worst, total = max(worst, float(np.ptp(rate))), total + float(radius)
    return max(worst - total, 0.0), min(worst + total, 1.0)


def split_bounds(sample: Sample, conditions: tuple[int | None, ...], delta: float) -> tuple[float, float]:
    """Bounds from the same events with delta shared over all of them; finite-sample valid."""
    low, high = 0.0, 0.0
    # Numerator and denominator of each (group, label), both sides.
    events = 4 * len(sample.groups) * len(conditions)
    log = np.log(2 * events / delta)
    for label in conditions:
        n, num, den, var_num, var_den = _moments(sample, label)
        second = 7 * log / (3 * max(n - 1, 1))
        a_num, a_den = np.sqrt(2 * var_num * log / n) + second, np.sqrt(2 * var_den * log / n) + second
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(den > a_den, np.minimum((num + a_num) / (den - a_den), 1.0), 1.0)
            bottom = np.clip((num - a_num) / (den + a_den), 0.0, 1.0)
        for a, b in sample.pairs():
            high, low = max(high, float(top[a] - bottom[b])), max(low, float(bottom[a] - top[b]))
    return low, high
