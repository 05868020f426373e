"""The best fair rule for known probabilities: closed form for any multipliers, with or without the group.

On rows whose label is 1 with probability p, the Lagrangian's cost of predicting 1 is linear in p within
each group: ``a_g + b_g p``. The best rule that sees the group predicts 1 where that is negative; the
best that does not averages the cost over the group's probability given the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.metrics import METRICS, Float, Int, Metric
from fairask.oracle.base import Labelled
from fairask.rules import PlugInRule

__all__ = ["GapCorrection", "PlugInLearner", "gap_corrections"]


class PlugInLearner:
    """The exact base learner of the dual search on a calibrated pool.

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
        inside = {1: p, 0: 1.0 - p, None: np.ones_like(p)}
        totals = [np.bincount(codes, weights=inside[z], minlength=n_groups) for z in METRICS[metric]]
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


#: Prior standard deviation of a calibrated plug-in's gap: a calibrated model is still
#: miscalibrated within groups by a few points.
PRIOR = 0.04


@dataclass(frozen=True)
class GapCorrection:
    """For each ordered pair of rates: the shrunken bias and its posterior standard deviation."""

    bias: Float
    deviation: Float
    shrinkage: Float


def gap_corrections(
    labelled: Labelled,
    p: Float,
    decisions: Float,
    metric: Metric,
    pairs: list[tuple[int, int]],
    prior: float = PRIOR,
) -> GapCorrection:
    """Estimate how far a plug-in gap is off: compare rates by label and by probability on the labelled rows.

    On labelled rows a rule's rate can be estimated from the labels and from out-of-fold probabilities. The
    difference estimates the plug-in's bias. It is unbiased but noisy, and noisier than its own variance
    estimate says where weights are uneven, so it is shrunk by a prior of fixed width.

    Parameters
    ----------
    p : ndarray
        Out-of-fold probabilities of the labelled rows.
    decisions : ndarray
        Probability that the rule predicts 1 on them, from ``p``.

    Examples
    --------
    >>> y, groups = np.array([1.0, 0.0] * 20), np.repeat([0, 1], 20)
    >>> rows = Labelled.of(np.zeros((40, 1)), y, groups, ["a", "b"])
    >>> gap_corrections(rows, np.full(40, 0.5), y, "tprp", [(0, 1), (1, 0)]).bias.round(6).tolist()
    [0.0, 0.0]
    """
    y, bias, variance = labelled.y, [], []
    for label in METRICS[metric]:
        truth = {1: y, 0: 1.0 - y, None: np.ones_like(y)}[label]
        soft = {1: p, 0: 1.0 - p, None: np.ones_like(p)}[label]
        for g in range(labelled.n_groups):
            inside = labelled.fairness_weights * (labelled.groups == g)
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
