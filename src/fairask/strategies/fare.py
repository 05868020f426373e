"""FARE: fair active randomised exploration (Algorithm 1 of the paper)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.design import disagreement_design, group_design
from fairask.exceptions import NoDisagreementWarning
from fairask.pool import AnyPool
from fairask.sampling import Proposal
from fairask.strategies._base import FairFit, Labelled

__all__ = ["Fare"]


@dataclass(frozen=True)
class Fare:
    """Sample where k perturbed fair classifiers disagree, and all groups alike.

    Parameters
    ----------
    k : int
        Classifiers a round.
    sigma : float
        Probability with which each label is flipped for each of them.
    diff_share : float
        Share of lambda_diff; the rest is lambda_fair. Algorithm 1 has 1/2; 1 is the paper's ablation
        without lambda_fair.

    Examples
    --------
    >>> Fare(diff_share=1.0)
    Fare(k=10, sigma=0.1, diff_share=1.0)
    """

    k: int = 10
    sigma: float = 0.1
    diff_share: float = 0.5
    name: ClassVar[str] = "fare"

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or not 2 <= self.k <= 64:
            raise ValueError(f"k={self.k!r} must be a whole number from 2 to 64")
        for name in ("sigma", "diff_share"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ValueError(f"{name}={value!r} must be in [0, 1]")

    def propose(self, labelled: Labelled, pool: AnyPool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        flips = rng.random((self.k, len(labelled))) < self.sigma
        solutions = fit(np.where(flips, 1.0 - labelled.y, labelled.y))
        cells = pool.by_prediction([solution.sample(rng) for solution in solutions])
        fair = group_design(cells.groups, cells.counts)
        design = disagreement_design(cells.patterns, cells.counts)
        if design is None:
            warnings.warn(
                f"the {self.k} perturbed classifiers agree on all {len(pool)} rows of the pool: this batch "
                "comes from lambda_fair alone; a larger sigma or k may bring disagreement",
                NoDisagreementWarning,
                stacklevel=2,
            )
            return Proposal(cells, {"fair": fair}, {"fair": 1.0})
        return Proposal(
            cells,
            {"diff": design.per_row, "fair": fair},
            {"diff": self.diff_share, "fair": 1.0 - self.diff_share},
            info={"design_gap": design.gap},
        )
