"""Weighted (Hajek) rates: for labels drawn with known, unequal probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from fairask.audit.bounds.proportions import newcombe_upper
from fairask.audit.sample import Sample
from fairask.metrics import Float


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
    weight = np.ones(len(sample.codes)) if sample.weight is None else sample.weight
    if sample.propensities is not None:
        weight = weight / sample.propensities
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
