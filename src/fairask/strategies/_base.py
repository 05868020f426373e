"""The contract between the learner and a strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from fairask.oracle import FairFit, Labelled
from fairask.pools import MemoryPool, Pool
from fairask.sampling import Proposal

__all__ = ["InMemoryStrategy", "Reads", "Strategy"]


#: See :attr:`Strategy.reads`.
Reads = Literal["groups", "predictions", "features"]


class Strategy(ABC):
    """Chooses which rows to label next. Strategies are immutable dataclasses of their settings.

    An object that has ``name`` and ``propose`` and does not inherit from this class serves as well.
    """

    name: ClassVar[str]

    @property
    def reads(self) -> Reads:
        """What it reads of a pool: groups alone, predictions on each row, or all features at once."""
        return "predictions"

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
    """A strategy that must see all rows at once; it implements :meth:`choose`.

    A learner gives it a pool in memory: of a pool that is streamed, a uniform sub-pool.
    """

    @property
    def reads(self) -> Reads:
        """See :class:`Strategy`."""
        return "features"

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        return self.choose(labelled, self.checked(pool), fit, rng)

    def checked(self, pool: Pool) -> MemoryPool:
        """Return ``pool`` if it is in memory, or raise."""
        if not isinstance(pool, MemoryPool):
            raise TypeError(
                f"strategy {self.name!r} must see all rows at once, and the pool is streamed: take "
                "another strategy, or pool.in_memory() if it fits (fairask new --copy)"
            )
        return pool

    @abstractmethod
    def choose(
        self, labelled: Labelled, pool: MemoryPool, fit: FairFit, rng: np.random.Generator
    ) -> Proposal:
        """See :meth:`Strategy.propose`."""
