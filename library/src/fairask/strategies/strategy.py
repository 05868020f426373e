"""The contract between the learner and a strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.sampling import UNIFORM, Proposal


def uniform_proposal(pool: Pool) -> Proposal:
    """Every available row with the same probability.

    Examples
    --------
    >>> uniform_proposal(Pool(np.zeros((4, 1)), np.zeros(4, int), 1)).components
    {'uniform': array([0.25])}
    """
    return Proposal(pool.everything(), {UNIFORM: np.array([1.0 / len(pool)])}, {UNIFORM: 1.0})


class Strategy(ABC):
    """Chooses which rows to label next. Strategies are immutable dataclasses of their settings.

    An object that has ``name`` and ``propose`` can be used without inheriting from this class.
    """

    name: ClassVar[str]

    @abstractmethod
    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """Return a sampling distribution over the pool's available rows, or a ranking of them.

        Parameters
        ----------
        labelled : Labelled
            Never empty: the first batch is uniform.
        pool : Pool
        fit : FairFit
            Fits fair models as the learner does; ``fit()`` is the current model.
        rng : Generator
            The only source of randomness.
        """


class InMemoryStrategy(Strategy):
    """A strategy that reads all features; its first ``pretrain`` labels are drawn uniformly.

    Subclasses implement :meth:`choose`.
    """

    pretrain: int = 0

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        if len(labelled) < self.pretrain:
            return uniform_proposal(pool)
        return self.choose(labelled, pool, fit, rng)

    @abstractmethod
    def choose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :meth:`Strategy.propose`."""
