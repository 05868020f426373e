"""Uncertainty (margin) sampling: the rows the current fair model is least sure of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit

from fairask.metrics import Float, Int, Matrix
from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.rules import GroupLinearRule, LinearRule, Rule, by_row
from fairask.sampling import Proposal
from fairask.strategies.strategy import Strategy


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
        rules = [rule.cheapest() for rule in solution.members_]
        seed = int(rng.integers(2**63))

        def score(X: Matrix, groups: Int) -> Float:
            return _distance_to_half(rules, solution.weights_, X, groups)

        return Proposal(pool.everything(), ranking=lambda n: pool.lowest(score, n, seed))


def _distance_to_half(
    rules: Sequence[Rule], weights: Sequence[float] | Float, X: Matrix, groups: Int
) -> Float:
    """``|p(x) - 1/2|``; for thresholds by group, p is one half at the group's own threshold."""
    p = np.zeros(len(groups))
    for rule, weight in zip(rules, weights, strict=True):
        if isinstance(rule, LinearRule | GroupLinearRule) and (isinstance(X, np.ndarray) or issparse(X)):
            cut = rule.cuts[groups] if isinstance(rule, GroupLinearRule) else 0.0
            p += weight * expit(_linear_scores(rule.beta, X) - cut)
        else:
            p += weight * rule.proba(by_row(X), groups)
    return np.abs(p - 0.5)


def _linear_scores(beta: Float, X: Matrix) -> Float:
    """``X @ beta[:-1] + beta[-1]``, feature by feature: equal rows have equal scores, wherever they are."""
    if issparse(X):
        return np.asarray(X @ beta[:-1] + beta[-1], dtype=np.float64)
    total = np.full(len(X), beta[-1], dtype=np.float64)
    for column, weight in zip(X.T, beta[:-1], strict=True):
        total += weight * column.astype(np.float64)
    return total
