"""Uncertainty (margin) sampling: the rows the current fair model is least sure of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.oracle import FairFit, Labelled
from fairask.pools import Pool
from fairask.pools.scores import DistanceToHalf
from fairask.sampling import Proposal
from fairask.strategies.strategy import Strategy

__all__ = ["DistanceToHalf", "Uncertainty"]


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
        return Proposal(pool.everything(), ranking=lambda n: pool.lowest(score, n, seed))
