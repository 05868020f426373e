"""How far a plug-in gap is off, from the labels: an estimate, shrunk by its own variance.

On labelled rows the rate of a rule can be had twice: from the labels, and from out-of-fold probabilities.
The difference estimates the plug-in's bias, without bias but with noise, far more of it than its own
variance says where weights are uneven; so it is shrunk by a prior, which no estimate can widen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairask.metrics import METRICS, Float, Int, Metric

__all__ = ["GapCorrection", "gap_corrections"]

#: Prior standard deviation of a calibrated plug-in's gap: a calibrated model is still
#: miscalibrated within groups by a few points.
PRIOR = 0.04


@dataclass(frozen=True)
class GapCorrection:
    """For each ordered pair of cells: the shrunken bias and its posterior standard deviation."""

    bias: Float
    deviation: Float
    shrinkage: Float


def gap_corrections(
    y: Float,
    p: Float,
    decisions: Float,
    groups: Int,
    weight: Float,
    n_groups: int,
    metric: Metric,
    pairs: list[tuple[int, int]],
    prior: float = PRIOR,
) -> GapCorrection:
    """Compare rates by label and rates by probability on the labelled rows.

    Parameters
    ----------
    y, p : ndarray
        Labels, and out-of-fold probabilities, of the labelled rows.
    decisions : ndarray
        Probability that the rule predicts 1 on them, from ``p``.
    groups, weight : ndarray
        Group codes and importance weights.

    Examples
    --------
    >>> y, p = np.array([1.0, 0.0] * 20), np.full(40, 0.5)
    >>> groups = np.repeat([0, 1], 20)
    >>> c = gap_corrections(y, p, y, groups, np.ones(40), 2, "tprp", [(0, 1), (1, 0)])
    >>> c.bias.round(6).tolist()
    [0.0, 0.0]
    """
    bias, variance = [], []
    for label in METRICS[metric]:
        truth = {1: y, 0: 1.0 - y, None: np.ones_like(y)}[label]
        soft = {1: p, 0: 1.0 - p, None: np.ones_like(p)}[label]
        for g in range(n_groups):
            inside = weight * (groups == g)
            by_label, by_model = inside * truth, inside * soft
            if (by_label > 0).sum() < 3 or by_model.sum() <= 0:
                bias.append(0.0)
                variance.append(np.inf)
                continue
            rate, plug = by_label @ decisions / by_label.sum(), by_model @ decisions / by_model.sum()
            influence = by_label * (decisions - rate) / by_label.sum()
            influence -= by_model * (decisions - plug) / by_model.sum()
            bias.append(float(rate - plug))
            # One more observation at each end keeps rates of 0 and 1 from looking certain.
            floor = 0.5 / (by_label.sum() ** 2 / (by_label**2).sum() + 2.0) ** 2
            variance.append(float((influence**2).sum() + floor))
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    b, s2 = np.array(bias), np.array(variance)
    gap, noise = b[first] - b[second], s2[first] + s2[second]
    prior2 = np.full_like(noise, prior**2)
    with np.errstate(invalid="ignore"):
        shrinkage = np.where(np.isfinite(noise), prior2 / (prior2 + noise), 0.0)
        deviation = np.sqrt(np.where(np.isfinite(noise), shrinkage * noise, prior2))
    return GapCorrection(shrinkage * gap, deviation, shrinkage)
