"""FARE: fair active randomised exploration (Algorithm 1 of the paper)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairask.checks import check_choice, check_count
from fairask.design import disagreement_design, group_design
from fairask.errors import NoDisagreementWarning
from fairask.metrics import Float
from fairask.oracle import Labelled, PerturbedModel
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.pools.memory import Cells
from fairask.sampling import Proposal
from fairask.strategies.strategy import Strategy

#: Limits of the adaptive share: neither kind of exploration is ever dropped.
ADAPTIVE_RANGE = (0.5, 0.8)


@dataclass(frozen=True)
class Fare(Strategy):
    """Sample where k perturbed fair classifiers disagree, and all groups alike.

    Parameters
    ----------
    k : int
        Classifiers per round.
    sigma : float
        Probability with which each label is flipped for each of them.
    diff_share : float or "adaptive"
        Share of lambda_diff; the rest is lambda_fair. Algorithm 1 has 1/2; 1 is the paper's ablation
        without lambda_fair. "adaptive" weighs, each round, the error that an uncertain boundary costs
        against the error that an uncertain gap costs, and needs an oracle that estimates both
        (:class:`fairask.CalibratedFairOracle`).
    perturbation : {"flip", "bootstrap"}
        Flip labels (the paper), or weight the labelled rows by exponential draws (the Bayesian
        bootstrap), which follows the posterior where features are many.
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
    diff_share: float | str = 0.5
    perturbation: str = "flip"
    water_filling: bool = False
    horizon: int = 25
    name: ClassVar[str] = "fare"

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or not 2 <= self.k <= 64:
            raise ValueError(f"k={self.k!r} must be a whole number from 2 to 64")
        check_choice(self.perturbation, "perturbation", ("flip", "bootstrap"))
        if not 0 <= self.sigma <= 1:
            raise ValueError(f"sigma={self.sigma!r} must be in [0, 1]")
        share = self.diff_share
        if share != "adaptive" and (isinstance(share, str) or not 0 <= share <= 1):
            raise ValueError(f"diff_share={share!r} must be in [0, 1] or 'adaptive'")
        if not isinstance(self.water_filling, bool):
            raise ValueError(f"water_filling={self.water_filling!r} must be True or False")
        check_count(self.horizon, "horizon")

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`."""
        n = len(labelled)
        if self.perturbation == "flip":
            flips = rng.random((self.k, n)) < self.sigma
            solutions = fit(np.where(flips, 1.0 - labelled.y, labelled.y))
        else:
            solutions = fit(np.tile(labelled.y, (self.k, 1)), rng.exponential(size=(self.k, n)))
        rules = [solution.sample(rng) for solution in solutions]
        cells = pool.by_prediction(rules)
        fair = group_design(cells.groups, cells.counts)
        design = disagreement_design(cells.patterns, cells.counts)
        if design is None:
            warnings.warn(
                f"the {self.k} perturbed classifiers agree on all {len(pool)} rows of the pool: this batch "
                f"comes from lambda_fair alone; a larger {self._more()} may bring disagreement",
                NoDisagreementWarning,
                stacklevel=2,
            )
            return Proposal(cells, {"fair": fair}, {"fair": 1.0})
        share, diff = self._share(solutions, fit), design.per_row
        if self.water_filling and share > 0:
            spent = Pool(labelled.X, labelled.groups, pool.n_groups).by_prediction(rules)
            diff = fill(cells, spent, diff, fair, share, self.horizon)
        return Proposal(
            cells,
            {"diff": diff, "fair": fair},
            {"diff": share, "fair": 1.0 - share},
            info={"design_gap": design.gap, "diff_share": share},
        )

    def _more(self) -> str:
        """Settings of which more makes the classifiers differ more."""
        return "sigma or k" if self.perturbation == "flip" else "k"

    def _share(self, solutions: list[PerturbedModel], fit: FairFit) -> float:
        """Share of lambda_diff, by what limits the model now: the boundary, or the gap.

        The first costs what the perturbed models lose against the current one. The second costs the
        margin: its width times the price of the constraint. Both are errors on the pool.
        """
        if not isinstance(self.diff_share, str):
            return self.diff_share
        model = fit.model
        if not model.estimates_margin:
            raise ValueError(
                "diff_share='adaptive' needs an oracle that estimates its own errors: CalibratedFairOracle"
            )
        boundary = max(float(np.mean([s.error for s in solutions])) - model.error_, 0.0)
        gap = model.price_ * model.margin_
        low, high = ADAPTIVE_RANGE
        return float(np.clip(boundary / max(boundary + gap, 1e-12), low, high))


def water_level(target: Float, ground: Float, volume: float) -> Float:
    """Return ``max(0, level * target - ground)`` with the level at which it sums to ``volume``.

    Parameters
    ----------
    target : ndarray
        Non-negative, not all 0: how fast each cell fills as the level rises.
    ground : ndarray
        Non-negative: what each cell holds already.
    volume : float
        Positive.

    Examples
    --------
    Two equal targets, one of which holds 3 already: 4 more make both 3.5.

    >>> water_level(np.array([0.5, 0.5]), np.array([3.0, 0.0]), 4.0).tolist()
    [0.5, 3.5]
    """
    open_ = np.flatnonzero(target > 0)
    thresholds = ground[open_] / target[open_]  # the level at which each cell starts to fill
    order = np.argsort(thresholds, kind="stable")
    t, g = np.cumsum(target[open_][order]), np.cumsum(ground[open_][order])
    levels = (volume + g) / t
    # The level that j cells share is right if it is not above the threshold of the next.
    following = np.append(thresholds[order][1:], np.inf)
    level = levels[int(np.argmax(levels <= following))]
    out = np.zeros(len(target))
    out[open_] = np.maximum(level * target[open_] - ground[open_], 0.0)
    return out


def fill(cells: Cells, spent: Cells, diff: Float, fair: Float, diff_share: float, horizon: int) -> Float:
    """Probability per row for the part of lambda_diff that fills the mixture up.

    The lambda_fair part keeps its share, so every row has a positive probability. The other part corrects for
    the labels that each cell already has from earlier designs.

    Parameters
    ----------
    cells, spent : Cells
        Available and labelled rows, sorted by the same classifiers.
    diff, fair : ndarray of shape (cells,)
        Probability per row of each design.
    diff_share : float
        Share of lambda_diff, above 0.
    horizon : int
        Coming labels to plan for.
    """
    columns = zip(spent.groups, spent.patterns.T, spent.counts, strict=True)
    held = {(int(g), p.tobytes()): int(n) for g, p, n in columns}
    already = np.array(
        [held.get((int(g), p.tobytes()), 0) for g, p in zip(cells.groups, cells.patterns.T, strict=True)],
        dtype=np.float64,
    )
    wanted = cells.counts * (diff_share * diff + (1.0 - diff_share) * fair)
    coming = horizon * (1.0 - diff_share) * cells.counts * fair
    mass = water_level(wanted, already + coming, horizon * diff_share)
    return np.asarray(mass / mass.sum() / np.maximum(cells.counts, 1))
