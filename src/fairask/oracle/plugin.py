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
from scipy.special import expit, logit

from fairask.metrics import METRICS, Float, Int
from fairask.oracle._probability import CLIP, LinearProbability
from fairask.oracle.learners import GroupLinearRule

__all__ = ["PlugInLearner", "PlugInRule"]


@dataclass(frozen=True)
class PlugInRule:
    """Predict 1 where the Lagrangian's expected cost is negative.

    Attributes
    ----------
    intercept, slope : ndarray of shape (groups,)
        The cost ``intercept + slope * p`` of predicting 1 in each group.
    probability : object with ``proba(X)``
    group_model : object with ``predict_proba(X)``, or None when the group is given
    """

    intercept: Float
    slope: Float
    probability: Any = None
    group_model: Any = None

    @property
    def aware(self) -> bool:
        """Whether the rule reads the group."""
        return self.group_model is None

    def costs(self, p: Float, groups: Any) -> Float:
        """Expected cost of predicting 1.

        ``groups`` are codes and ``p`` the rows' probabilities; or, when the group is not seen, ``groups``
        are its probabilities (rows, groups) and ``p`` the probabilities of 1 under each group.
        """
        if groups.ndim == 1:
            return np.asarray(self.intercept[groups] + self.slope[groups] * p)
        return np.asarray((groups * (self.intercept + self.slope * p)).sum(axis=1))

    def decide(self, X: Any, groups: Int | None = None) -> Any:
        """Whether each row is predicted 1."""
        if self.group_model is not None:
            return self.costs(self.probability.proba(X, None), self.group_model.predict_proba(X)) < 0
        if groups is None:
            raise ValueError("sensitive_features are needed to predict: thresholds differ by group")
        return self.costs(self.probability.proba(X, groups), groups) < 0

    def proba(self, X: Any, groups: Int | None = None) -> Float:
        """How surely each row is predicted 1: one half where its cost is nil."""
        if self.group_model is not None:
            costs = self.costs(self.probability.proba(X, None), self.group_model.predict_proba(X))
        elif groups is None:
            raise ValueError("sensitive_features are needed: thresholds differ by group")
        else:
            costs = self.costs(self.probability.proba(X, groups), groups)
        return np.asarray(expit(-costs))

    def linear(self) -> GroupLinearRule | None:
        """The same rule as a cut by group on a linear score; None where it is no such thing.

        Examples
        --------
        >>> from fairask.oracle._probability import LinearProbability, Scaling
        >>> p = LinearProbability(np.array([1.0, 0.0]), Scaling(np.ones(2), np.zeros(2)))
        >>> PlugInRule(np.array([1.0, 0.5]), np.array([-2.0, -2.0]), p).linear().cuts.round(2)
        array([ 0. , -1.1])
        """
        model = self.probability
        if self.group_model is not None or not isinstance(model, LinearProbability):
            return None
        if ((self.slope >= 0) & (self.intercept < 0)).any():
            return None  # predicts 1 *below* a cut
        scale = model.scaling
        with np.errstate(divide="ignore"):
            cuts = (logit(self.thresholds()) - scale.shift) / scale.scale
        # Margins are clipped, so a cut beyond the clip is never, or always, passed.
        cuts = np.where(cuts >= CLIP, np.inf, np.where(cuts < -CLIP, -np.inf, cuts))
        return GroupLinearRule(model.beta, np.where(self.slope >= 0, np.inf, cuts))

    def thresholds(self) -> Float:
        """Smallest p that is predicted 1 in each group."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(np.clip(-self.intercept / self.slope, 0.0, 1.0))


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

    def __init__(self, p: Float, codes: Int, seen: tuple[Float, Any], n_groups: int, metric: str) -> None:
        self.p, self.seen, self.metric, self.n_groups = p, seen, metric, n_groups
        inside = {1: p, 0: 1.0 - p, None: np.ones_like(p)}
        totals = [np.bincount(codes, weights=inside[z], minlength=n_groups) for z in METRICS[metric]]
        self.per_row = len(p) / np.maximum(np.concatenate(totals), 1e-12)

    def fit(self, costs: Float, multipliers: Float, starts: Sequence[Any] | None) -> tuple[list[Any], Float]:
        """See :class:`BaseLearner`; the rule follows from the multipliers alone."""
        rules = [self.rule(m) for m in multipliers]
        return rules, np.array([rule.costs(*self.seen) < 0 for rule in rules], dtype=np.float64)

    def rule(self, multipliers: Float) -> PlugInRule:
        """The rule for one multiplier a cell."""
        intercept, slope = np.full(self.n_groups, 1.0), np.full(self.n_groups, -2.0)
        price = (multipliers * self.per_row).reshape(-1, self.n_groups)
        for z, label in enumerate(METRICS[self.metric]):
            # An expected cost of price * p, price * (1 - p) or price.
            intercept = intercept + (0.0 if label == 1 else price[z])
            slope = slope + {1: price[z], 0: -price[z], None: 0.0}[label]
        return PlugInRule(intercept, slope)
