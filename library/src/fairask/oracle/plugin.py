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
from fairask.rules import PlugInRule


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


@dataclass(frozen=True)
class GapCorrection:
    """What model files of version 0.1.0 hold beside the rules; nothing makes it any more."""

    bias: Float
    deviation: Float
    shrinkage: Float
