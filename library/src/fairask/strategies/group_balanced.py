"""Group-balanced sampling: lambda_fair alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.design import group_design
from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies.strategy import Strategy


@dataclass(frozen=True)
class GroupBalanced(Strategy):
    """Every group equally likely, rows uniform within groups: what FARE is without lambda_diff.

    Examples
    --------
    >>> GroupBalanced().name
    'group_balanced'
    """

    name: ClassVar[str] = "group_balanced"

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        cells = pool.by_group()
        return Proposal(cells, {"fair": group_design(cells.groups, cells.counts)}, {"fair": 1.0})
