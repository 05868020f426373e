"""FARE: fair active randomised exploration (Algorithm 1 of the paper)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.design import disagreement_design, group_design
from fairask.exceptions import NoDisagreementWarning
from fairask.pool import Pool
from fairask.sampling import Proposal
from fairask.strategies._base import FairFit, Labelled
from fairask.strategies._checks import check_whole
from fairask.strategies._filling import fill

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
    water_filling : bool
        Choose the lambda_diff part so that all labels so far together with the coming ``horizon`` follow the
        current design, not only the coming ones (after ACED, Katz-Samuels et al. 2021).
    horizon : int
        Labels over which water-filling evens out; the batch size is a good choice.

    Examples
    --------
    >>> Fare(diff_share=1.0).k
    10
    """

    k: int = 10
    sigma: float = 0.1
    diff_share: float = 0.5
    water_filling: bool = False
    horizon: int = 25
    name: ClassVar[str] = "fare"

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or not 2 <= self.k <= 64:
            raise ValueError(f"k={self.k!r} must be a whole number from 2 to 64")
        for name in ("sigma", "diff_share"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ValueError(f"{name}={value!r} must be in [0, 1]")
        if not isinstance(self.water_filling, bool):
            raise ValueError(f"water_filling={self.water_filling!r} must be True or False")
        check_whole(self.horizon, "horizon", 1)

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        flips = rng.random((self.k, len(labelled))) < self.sigma
        solutions = fit(np.where(flips, 1.0 - labelled.y, labelled.y))
        rules = [solution.sample(rng) for solution in solutions]
        cells = pool.by_prediction(rules)
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
        diff = design.per_row
        if self.water_filling and self.diff_share > 0:
            spent = Pool(labelled.X, labelled.groups, pool.n_groups).by_prediction(rules)
            diff = fill(cells, spent, diff, fair, self.diff_share, self.horizon)
        return Proposal(
            cells,
            {"diff": diff, "fair": fair},
            {"diff": self.diff_share, "fair": 1.0 - self.diff_share},
            info={"design_gap": design.gap},
        )
