"""The contract between the learner and a strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairask.metrics import Bool, Float, Int
from fairask.oracle import Solution
from fairask.pools import Pool
from fairask.rules import take_rows
from fairask.sampling import Proposal

__all__ = ["FairFit", "Labelled", "Strategy"]


@dataclass(frozen=True)
class Labelled:
    """The labelled rows, in draw order.

    Attributes
    ----------
    X : array or data frame of shape (n, d)
    y : ndarray of 0.0 and 1.0
    groups : ndarray of group codes
    risk_weights, fairness_weights : ndarray
    indices : ndarray
        Their rows in the pool.
    """

    X: Any
    y: Float
    groups: Int
    risk_weights: Float
    fairness_weights: Float
    indices: Int

    def __len__(self) -> int:
        return len(self.y)

    def where(self, mask: Bool) -> Labelled:
        """The labelled rows for which ``mask`` is true."""
        return Labelled(
            take_rows(self.X, mask),
            self.y[mask],
            self.groups[mask],
            self.risk_weights[mask],
            self.fairness_weights[mask],
            self.indices[mask],
        )


class FairFit(Protocol):
    """How the learner fits fair models: its oracle, metric, tolerance, margin and weights."""

    @property
    def model(self) -> Any:
        """The current fair model."""
        ...

    def __call__(self, labels: Float | None = None, weights: Float | None = None) -> list[Solution]:
        """Fit on the labelled rows with other labels (k, n) or with weights (k, n) times their own."""
        ...


class Strategy(Protocol):
    """Chooses which rows to label next. Strategies are immutable dataclasses of their settings."""

    name: str

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
        ...
