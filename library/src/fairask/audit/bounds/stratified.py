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

from dataclasses import dataclass

import numpy as np

from fairask.metrics import Float

#: Halvings of an interval around a limit; what is left of it is added to the limit.
_STEPS = 18
#: Labels that a stratum among several is taken to have besides its own, shared like the union's.
_SHARED = 2.0


@dataclass(frozen=True)
class Mass:
    """Rows with the conditioning label among rows decided alike: ``base + weight * share``, one per union.

    ``base`` is what is certain: labels that are all told, less the wrong labels to expect. ``share`` is the
    share of labels as told among the other rows, and ``labels`` the number of independent labels that would
    estimate it as well; zero where a stratum has rows and no label. Its variance has two parts: that of
    ``drawn`` labels, and ``flips``, which wrong labels add whatever the share is. ``skew`` is the third
    cumulant of the share over its variance per label. ``least`` and ``most`` bound it. ``error`` is the
    variance of the rows, ``step`` the rows that one label stands for in the stratum where it stands for most,
    and ``alone`` the variance of that stratum. ``doubt`` says, by group, how many rows one standard error of
    the share of wrong labels is worth; None where that share is declared.
    """

    base: Float
    weight: Float
    share: Float
    labels: Float
    drawn: Float
    flips: Float
    skew: Float
    least: Float
    most: Float
    error: Float
    step: Float
    alone: Float
    doubt: Float | None = None

    @property
    def rows(self) -> Float:
        """The best estimate."""
        share = np.clip(self.share, self.least, self.most)
        return np.asarray(np.maximum(self.base + self.weight * share, 0.0))

    def variance(self, p: Float) -> Float:
        """Variance of the share, were it p."""
        wrong = _wrong(p, self.least, self.most)
        return np.asarray(np.maximum(p * (1 - p) - wrong, 0.0) / self.drawn + self.flips)


def _wrong(p: Float, least: Float, most: Float) -> Float:
    """Variance of a label told that wrong labels make: from that of ``least`` to that of ``most``."""
    part = np.clip((p - least) / np.maximum(most - least, 1e-9), 0.0, 1.0)
    return np.asarray(part * most * (1 - most) + (1 - part) * least * (1 - least))


def collapse(
    size: Float,
    hits: Float,
    labels: Float,
    member: Float,
    noise: Float,
    *,
    population: bool = False,
    doubt: Float | None = None,
) -> Mass:
    """Make one proportion of several strata, for each union of them.

    Strata whose labels are all told are no part of the proportion: nothing about them is random. The
    proportion has the variance of the union. Where one label of a stratum stands for many rows, the union's
    total is more skewed than that of so many labels: by how much is kept for the limits.

    Parameters
    ----------
    size, hits, labels : ndarray of shape (..., strata)
        Rows of the pool, conditioning labels found and labels drawn.
    member : ndarray of shape (unions, strata)
        1 where a stratum belongs to a union.
    noise : ndarray of shape (strata,) or (2, strata)
        Probability that the other label is told as the conditioning one, and the conditioning one as the
        other; one row if they are the same.
    population : bool
        Whether the strata's sizes are random too; rows whose labels are told are then a sample like others.
    doubt : ndarray of shape (groups, strata), optional
        Standard error of the first row of ``noise`` in the strata of each group, zero in others.

    Examples
    --------
    >>> one = np.ones((1, 2))
    >>> found = collapse(np.array([300.0, 300.0]), np.array([5.0, 25.0]), np.full(2, 50.0), one, np.zeros(2))
    >>> float(found.base[0]), float(found.weight[0]), round(float(found.share[0]), 2)
    (0.0, 600.0, 0.3)
    """
    false, missed = np.broadcast_to(noise, (2, noise.shape[-1]))
    noisy = (false > 0) | (missed > 0)
    clean = 1 - false - missed
    closed = (labels >= size) & ~noisy & (not population)
    certain = np.where(closed, hits, 0.0) @ member.T
    size, hits, labels = (np.where(closed, 0.0, v) for v in (size, hits, labels))
    weight = size / clean
    n = np.where(labels > 0, labels, 1.0)
    share = np.where(labels > 0, hits / n, 0.0)
    # One label more, half of it shared like the union's, so that a stratum with none of either kind still has
    # a variance; and two more among several strata, each of which has shown little of what it holds.
    shared = (hits @ member.T + 0.5) / (labels @ member.T + 1)
    common = shared @ member / np.maximum(member.sum(axis=0), 1.0)
    several = (labels > 0).astype(np.float64) @ member.T > 1
    worth = 0.5 + _SHARED * (several.astype(np.float64) @ member > 0)
    guess = (hits + 0.25 + worth * common) / (labels + 0.5 + worth)
    guess = np.clip(
        guess, np.maximum(0.25 / (labels + 1), false), np.minimum(1 - 0.25 / (labels + 1), 1 - missed)
    )
    spread, wrong = guess * (1 - guess), _wrong(guess, false, 1 - missed)
    left = 1.0 if population else np.maximum(size - labels, 1e-6) / np.maximum(size - 1, 1e-6)
    variance = np.where(labels > 0, weight**2 * ((spread - wrong) * left + wrong) / n, 0.0)
    # Rows that are nearly all told are no skewed sample; labels that are wrong are, however many are told.
    rest = left * (1.0 if population else np.clip(1 - 2 * labels / np.maximum(size, 1.0), 0.0, 1.0))
    third = np.where(labels > 0, weight**3 * (1 - 2 * guess) * ((spread - wrong) * rest + wrong) / n**2, 0.0)
    total = weight @ member.T
    filled = np.where(total > 0, total, 1.0)  # the square of 1e-300 is zero
    mean = np.clip((weight * guess) @ member.T / filled, 1e-9, 1 - 1e-9)
    error = variance @ member.T / filled**2
    if population:
        error = error + np.maximum((weight * guess**2) @ member.T / filled - mean**2, 0.0) / filled
    blind = ((size > 0) & (labels <= 0)).astype(np.float64) @ member.T > 0
    effective = mean * (1 - mean) / np.maximum(error, 1e-30)
    spare = mean * (1 - mean)
    skew = third @ member.T / filled**3 / spare
    flips = (weight * false) @ member.T
    least, most = flips / filled, 1 - (weight * missed) @ member.T / filled
    # Wrong labels vary as much where all rows are told, so that their part does not shrink with the share.
    wrong_part = np.where(labels > 0, weight**2 * wrong / n, 0.0) @ member.T / filled**2
    drawn = np.maximum(spare - _wrong(mean, least, most), 1e-12) / np.maximum(error - wrong_part, 1e-30)
    mixed = noisy.astype(np.float64) @ member.T > 0
    labels_ = np.where(total > 0, np.where(blind, 0.0, effective), 1.0)
    steps = np.where(variance > 0, weight / n, 0.0)[..., None, :] * (member > 0)
    largest = steps.argmax(axis=-1)
    return Mass(
        base=certain - flips,
        weight=total,
        share=np.clip((weight * share) @ member.T / filled, 0.0, 1.0),
        labels=labels_,
        drawn=np.where(mixed, np.maximum(drawn, 1e-9), labels_),
        flips=wrong_part,
        skew=skew,
        least=least,
        most=most,
        error=variance @ member.T,
        step=np.take_along_axis(steps, largest[..., None], axis=-1)[..., 0],
        alone=np.take_along_axis(variance, largest, axis=-1),
        doubt=None if doubt is None else np.einsum("...s,us,gs->...ug", weight, member, doubt),
    )


def _constrained(
    w0: Float, w1: Float, c: Float, s0: Float, f0: Float, s1: Float, f1: Float
) -> tuple[Float, Float]:
    """Most likely shares p0 and p1 with ``w1 p1 - w0 p0 = c``, given successes and failures of both.

    With y = w0 p0 the likelihood's slope is s0 / y - f0 / (w0 - y) + s1 / (c + y) - f1 / (w1 - c - y): a
    cubic whose roots lie between its four poles, the one that is sought between the second and the third.
    """
    low, high = np.maximum(0.0, -c), np.minimum(w0, w1 - c)
    # Poles at 0, -c, w0 and w1 - c; scaled, so that coefficients are of a size.
    a, b, d = c, w0, w1 - c
    cube = np.maximum(s0 + f0 + s1 + f1, 1e-300)
    square = -(s0 * (b + d - a) + s1 * (b + d) + f0 * (d - a) + f1 * (b - a))
    line = s0 * (b * d - a * b - a * d) + s1 * b * d - f0 * a * d - f1 * a * b
    rest = s0 * a * b * d
    p, q, r = (v / cube for v in (square, line, rest))
    third = p / 3
    width = np.sqrt(np.maximum(third * third - q / 3, 0.0))
    turn = third**3 - third * q / 2 + r / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        angle = np.arccos(np.clip(np.where(width > 0, turn / width**3, 0.0), -1.0, 1.0))
    y = np.clip(-2 * width * np.cos((angle - 2 * np.pi) / 3) - third, low, np.maximum(high, low))
    with np.errstate(invalid="ignore", divide="ignore"):
        p0, p1 = np.where(w0 > 0, y / w0, s0 / (s0 + f0)), np.where(w1 > 0, (y + c) / w1, s1 / (s1 + f1))
    return np.clip(p0, 0.0, 1.0), np.clip(p1, 0.0, 1.0)


def _beyond(zero: Mass, one: Mass, m: Float, z: Float, between: bool) -> tuple[Float, Float]:
    """Score statistic of "the rate is m", without its sign, and the limit that it may not reach."""
    w0, w1 = m * zero.weight, (1 - m) * one.weight
    c = m * zero.base - (1 - m) * one.base
    scale = np.maximum(np.maximum(np.maximum(w0, w1), np.abs(c)), 1e-300)
    w0, w1, c = w0 / scale, w1 / scale, c / scale
    hits = zero.share * zero.labels, one.share * one.labels
    p0, p1 = _constrained(w0, w1, c, hits[0], zero.labels - hits[0], hits[1], one.labels - hits[1])
    p0, p1 = np.clip(p0, zero.least, zero.most), np.clip(p1, one.least, one.most)
    contrast = w1 * one.share - w0 * zero.share - c
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(w1 > 0, w1 * w1 * one.variance(p1), 0.0)
        variance = variance + np.where(w0 > 0, w0 * w0 * zero.variance(p0), 0.0)
        if between:
            total = zero.weight + one.weight
            spread = (1 - m) * p1 + m * p0
            variance = variance + (zero.weight / scale) * (one.weight / total) / scale * spread * spread
        if zero.doubt is not None and one.doubt is not None:
            # The share of wrong labels is the same whatever the decision: both parts move together.
            moved = ((1 - m)[..., None] * one.doubt - m[..., None] * zero.doubt) / scale[..., None]
            variance = variance + (moved**2).sum(axis=-1)
        variance = np.maximum(variance, 1e-300)
        found = np.abs(contrast) / np.sqrt(variance)
        skew = w1**3 * one.skew * p1 * (1 - p1) - w0**3 * zero.skew * p0 * (1 - p0)
        # Cornish and Fisher: a skewed statistic passes its normal quantile more often on its long side.
        long = np.maximum(np.sign(contrast) * skew, 0.0) / variance**1.5
    never = (c > w1 + 1e-12) | (c < -w0 - 1e-12)
    return np.where(never, np.inf, found), z + np.minimum(long, 3.0) * np.maximum(z * z - 1, 0.0) / 6


def score_limits(
    zero: Mass, one: Mass, rate: Float, z: Float, *, population: bool = False
) -> tuple[Float, Float]:
    """Limits of the rates ``one / (zero + one)`` at ``z`` standard errors.

    With ``population`` the rows are a sample too: the sizes of the strata are random.

    Examples
    --------
    >>> one, none = np.ones((1, 1)), np.zeros(1)
    >>> zero = collapse(np.array([600.0]), np.array([5.0]), np.array([50.0]), one, none, population=True)
    >>> ones = collapse(np.array([400.0]), np.array([30.0]), np.array([50.0]), one, none, population=True)
    >>> [round(float(v[0]), 3) for v in score_limits(zero, ones, np.array([0.8]), np.array([1.645]))]
    [0.669, 0.898]
    """
    unknown = np.isnan(rate) | (zero.labels <= 0) | (one.labels <= 0)
    point = np.where(unknown, 0.5, rate)
    ends = np.stack([np.zeros_like(point), np.ones_like(point)])
    # Both limits at once: of few audits, calls cost more than arithmetic.
    inside, outside = np.stack([point, point]), ends
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        within = np.less(*_beyond(zero, one, middle, z, population))
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    at_end = np.less(*_beyond(zero, one, ends, z, population))
    low, high = np.where(at_end | unknown, ends, outside)
    return low, high
