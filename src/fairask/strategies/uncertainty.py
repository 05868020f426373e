"""Uncertainty (margin) sampling: the rows the current fair model is least sure of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.pool import Pool
from fairask.sampling import Proposal
from fairask.strategies._base import FairFit, Labelled

__all__ = ["Uncertainty"]


@dataclass(frozen=True)
class Uncertainty:
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
        rules, weights = solution.members
        X = pool.take(pool.rows)
        p = sum(w * rule.proba(X) for rule, w in zip(rules, weights, strict=True))
        # Ties are broken at random, not by position in the table.
        order = np.lexsort((rng.random(len(pool)), np.abs(np.asarray(p) - 0.5)))
        return Proposal(pool.everything(), ranking=pool.rows[order])
