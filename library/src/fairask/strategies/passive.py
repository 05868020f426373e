"""Passive sampling: every row has the same probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies.strategy import Strategy, uniform_proposal


@dataclass(frozen=True)
class Passive(Strategy):
    """Uniform sampling; with the fair oracle it is the paper's passive baseline.

    Examples
    --------
    >>> Passive().name
    'passive'
    """

    name: ClassVar[str] = "passive"

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        return uniform_proposal(pool)
