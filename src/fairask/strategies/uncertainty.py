"""Uncertainty (margin) sampling: the rows the current fair model is least sure of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from fairask.metrics import Float, Int, Matrix
from fairask.oracle import FairFit, Labelled
from fairask.pools import Pool
from fairask.pools.codes import linear_scores
from fairask.rules import GroupLinearRule, LinearRule, Rule
from fairask.sampling import Proposal
from fairask.strategies._base import Strategy

__all__ = ["DistanceToHalf", "Uncertainty"]


@dataclass(frozen=True)
class DistanceToHalf:
    """``|p(x) - 1/2|``, p averaged over the members of a mixture.

    For thresholds by group, p is one half at the group's own threshold.

    Examples
    --------
    >>> DistanceToHalf([LinearRule(np.array([1.0, 0.0]))], [1.0])(np.array([[0.0]]))
    array([0.])
    """

    rules: Sequence[Rule]
    weights: Sequence[float] | Float

    @property
    def threads(self) -> bool:
        """Whether it may be called from several threads."""
        return all(rule.thread_safe for rule in self.rules)

    def __call__(self, X: Matrix, groups: Int | None = None) -> Float:
        """Return one number per row; it does not depend on the block that the row is in."""
        p = np.zeros(len(X))
        for rule, weight in zip(self.rules, self.weights, strict=True):
            p += weight * _proba(rule, X, groups)
        return np.asarray(np.abs(p - 0.5))


def _proba(rule: Rule, X: Matrix, groups: Int | None) -> Float:
    if isinstance(rule, LinearRule | GroupLinearRule) and isinstance(X, np.ndarray):
        cut = rule.cuts[groups] if isinstance(rule, GroupLinearRule) else 0.0
        return np.asarray(expit(linear_scores(rule.beta, X) - cut))
    return rule.proba(X, groups)


@dataclass(frozen=True)
class Uncertainty(Strategy):
    """Rank rows by ``|p(x) - 1/2|``, p averaged over the mixture's members.

    The choice is deterministic, so its rows have no propensity and weight 1.

    Examples
    --------
    >>> Uncertainty().name
    'uncertainty'
    """

    name: ClassVar[str] = "uncertainty"

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        (solution,) = fit()
        # Ties are broken at random, not by position in the table.
        rules = [rule.for_blocks() for rule in solution.members_]
        score, seed = DistanceToHalf(rules, solution.weights_), int(rng.integers(2**63))
        return Proposal(
            pool.everything(), ranking=lambda n: pool.lowest(score, n, seed, threads=score.threads)
        )
