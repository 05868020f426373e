"""Rates and their limits when labels are drawn by stratum.

A frozen model's decisions are known on the whole pool, so the only unknowns of a group's rate are the
shares ``pi_b`` of the conditioning label among its rows decided ``b``:

    rate = N_1 pi_1 / (N_1 pi_1 + N_0 pi_0).

"The rate is m" is then linear in the shares, ``N_1 (1 - m) pi_1 = N_0 m pi_0``, so its score test is
that of a ratio of two proportions and its constrained estimate a quadratic. Where rows decided alike are
several strata (bins of a score, rows whose labels are known, other groups), :func:`collapse` makes one
proportion of them, with the number of labels that would estimate it as well. Everything works on arrays with
leading axes, so that thousands of audits are evaluated at once.
"""

from __future__ import annotations

import numpy as np

from fairask.metrics import Float

_STEPS = 26


def collapse(
    size: Float, hits: Float, labels: Float, member: Float, noise: Float, *, population: bool = False
) -> tuple[Float, Float, Float]:
    """Make one proportion of several strata: rows, share and effective labels of each union.

    Parameters
    ----------
    size, hits, labels : ndarray of shape (..., strata)
        Rows of the pool, conditioning labels found and labels drawn.
    member : ndarray of shape (unions, strata)
        1 where a stratum belongs to a union.
    noise : ndarray of shape (strata,)
        Probability that a label told is wrong; shares are corrected for it.
    population : bool
        Whether the strata's sizes are random too.

    Returns
    -------
    rows, share, effective : ndarray of shape (..., unions)
        ``effective`` is the number of independent labels that would estimate the share as well; zero where
        a stratum has rows and no label.

    Examples
    --------
    >>> one = np.ones((1, 2))
    >>> found = collapse(np.array([300.0, 300.0]), np.array([5.0, 25.0]), np.full(2, 50.0), one, np.zeros(2))
    >>> [round(float(v[0]), 2) for v in found]
    [600.0, 0.3, 146.28]
    """
    n = np.where(labels > 0, labels, 1.0)
    clean = 1 - 2 * noise
    share = np.where(labels > 0, (hits / n - noise) / clean, 0.0)
    # One label more, half of it shared like the union's, so that a stratum with none of either kind still has
    # a variance.
    shared = (hits @ member.T + 0.5) / (labels @ member.T + 1)
    common = shared @ member / np.maximum(member.sum(axis=0), 1.0)
    guess = ((hits + 0.25 + 0.5 * common) / (labels + 1) - noise) / clean
    guess = np.clip(guess, 0.25 / (labels + 1), 1 - 0.25 / (labels + 1))
    spread = guess * (1 - guess)
    if not population:
        spread = spread * np.maximum(size - labels, 1e-6) / np.maximum(size - 1, 1e-6)
    variance = np.where(labels > 0, size**2 * (spread + noise * (1 - noise) / clean**2) / n, 0.0)
    rows = size @ member.T
    filled = np.where(rows > 0, rows, 1.0)  # the square of 1e-300 is zero
    mean = (size * guess) @ member.T / filled
    error = variance @ member.T / filled**2
    if population:
        error = error + np.maximum((size * guess**2) @ member.T / filled - mean**2, 0.0) / filled
    blind = ((size > 0) & (labels <= 0)).astype(np.float64) @ member.T > 0
    effective = mean * (1 - mean) / np.maximum(error, 1e-300)
    pooled = np.clip((size * share) @ member.T / filled, 0.0, 1.0)
    return rows, pooled, np.where(rows > 0, np.where(blind, 0.0, effective), 1.0)


def _score(size: Float, hits: Float, labels: Float, m: Float, between: float) -> Float:
    """Signed score statistic of "the rate is m": positive when the sample's rate is above m."""
    n0, n1 = labels[..., 0], labels[..., 1]
    s0, s1 = hits[..., 0], hits[..., 1]
    w0, w1 = size[..., 0] * m, size[..., 1] * (1 - m)
    seen = s0 + s1
    # Constrained estimate: pi_0 = w1 x, pi_1 = w0 x; the smaller root of a quadratic, written so that
    # neither weight is divided by.
    b = seen * (w0 + w1) + w0 * (n1 - s1) + w1 * (n0 - s0)
    root = np.sqrt(np.maximum(b * b - 4 * w0 * w1 * (n0 + n1) * seen, 0.0))
    slope = b + root
    x = 2 * seen / np.where(slope > 0, slope, np.inf)
    p0, p1 = np.minimum(w1 * x, 1.0), np.minimum(w0 * x, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        contrast = np.where(n1 > 0, w1 * s1 / n1, 0.0) - np.where(n0 > 0, w0 * s0 / n0, 0.0)
        variance = w1 * w1 * p1 * (1 - p1) / n1 + w0 * w0 * p0 * (1 - p0) / n0
        if between:
            total = size.sum(axis=-1)
            spread = (1 - m) * p1 + m * p0
            variance = variance + size[..., 0] * size[..., 1] / total * spread * spread
        return np.asarray(contrast / np.sqrt(np.maximum(variance, 1e-300)))


def score_limits(
    size: Float, hits: Float, labels: Float, rate: Float, z: Float, *, population: bool = False
) -> tuple[Float, Float]:
    """Limits of rates at ``z`` standard errors from effective counts; [0, 1] where nothing is known.

    With ``population`` the rows are a sample too: the sizes of the strata are random.

    Examples
    --------
    >>> size, hits, labels = np.array([600.0, 400.0]), np.array([5.0, 30.0]), np.array([50.0, 50.0])
    >>> [round(float(v), 3) for v in score_limits(size, hits, labels, np.array(0.8), np.array(1.645))]
    [0.669, 0.892]
    """
    between = 1.0 if population else 0.0
    unknown = np.isnan(rate) | (labels <= 0).any(axis=-1)
    point = np.where(unknown, 0.5, rate)
    ends = np.stack([np.zeros_like(point), np.ones_like(point)])
    # Both limits at once: of few audits, calls cost more than arithmetic.
    inside, outside = np.stack([point, point]), ends
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        within = np.abs(_score(size, hits, labels, middle, between)) < z
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    at_end = np.abs(_score(size, hits, labels, ends, between)) < z
    low, high = np.where(at_end | unknown, ends, outside)
    return low, high
