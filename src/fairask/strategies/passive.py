"""Passive sampling: every row is as likely as any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.oracle import FairFit, Labelled
from fairask.pools import Pool
from fairask.sampling import UNIFORM, Proposal
from fairask.strategies._base import Reads, Strategy

__all__ = ["Passive", "uniform_proposal"]


def uniform_proposal(pool: Pool) -> Proposal:
    """Every available row with the same probability.

    Examples
    --------
    >>> from fairask.pools import MemoryPool
    >>> uniform_proposal(MemoryPool(np.zeros((4, 1)), np.zeros(4, int), 1)).components
    {'uniform': array([0.25])}
    """
    return Proposal(pool.everything(), {UNIFORM: np.array([1.0 / len(pool)])}, {UNIFORM: 1.0})


@dataclass(frozen=True)
class Passive(Strategy):
    """Uniform sampling; with the fair oracle it is the paper's passive baseline.

    Examples
    --------
    >>> Passive().name
    'passive'
    """

    name: ClassVar[str] = "passive"

    @property
    def reads(self) -> Reads:
        """See :class:`Strategy`."""
        return "groups"

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        return uniform_proposal(pool)
