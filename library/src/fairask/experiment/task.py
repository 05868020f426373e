"""What all methods of a comparison share, and when a run asks for and measures how much."""

from __future__ import annotations

from dataclasses import dataclass

from fairask.metrics import Metric
from fairask.stopping import StoppingRule


@dataclass(frozen=True)
class Task:
    """A fairness goal, a number of labels and a seed.

    Attributes
    ----------
    metric, tolerance
        As in the learner.
    budget, batch : int
        Labels per run and per batch.
    baseline_budget : int
        Labels for passive sampling, to see how many more it needs.
    seed : int
        Seed of all trials.
    blind : bool
        Whether calibrated models must decide without the group. The paper's never read it by itself.
    audited, audit : str, int
        The method whose model of trial 0 is audited, and the labels for that, besides the budget.
    stop : StoppingRule, optional
        A rule that does not end the runs; the labels at which it first says stop are recorded.
    device : str, optional
        Device of PyTorch that holds and counts the pools.
    """

    metric: Metric = "tprp"
    tolerance: float = 0.1
    budget: int = 700
    batch: int = 50
    baseline_budget: int = 0
    seed: int = 0
    blind: bool = False
    audited: str = ""
    audit: int = 0
    stop: StoppingRule | None = None
    device: str | None = None


@dataclass(frozen=True)
class BatchPlan:
    """Sizes of batches, and the labels at which a run is measured.

    Attributes
    ----------
    budget, batch : int
        Labels per run and per batch.
    reach : int
        Labels after the budget's end, if more than the budget.
    stride : int
        Labels per batch after the budget's end, if more than ``batch``: there a curve is only read off.
    first : int
        Labels of the first batch, if they differ.
    grid : int
        Batches end at multiples of it, and only there (and after the first batch and the budget) the model
        is measured; 0 measures after every batch.

    Examples
    --------
    >>> batches = BatchPlan(75, 10, first=30, grid=25)
    >>> [batches.size(spent) for spent in (0, 30, 40, 70)], batches.is_measured(40)
    ([30, 10, 10, 5], False)
    """

    budget: int
    batch: int
    reach: int = 0
    first: int = 0
    grid: int = 0
    stride: int = 0

    def size(self, spent: int) -> int:
        """Size of the batch after ``spent`` labels, before it is cut to the labels left."""
        if spent < self.first:
            return self.first
        if spent >= self.budget:
            return max(self.stride, self.batch)
        return min(self.batch, self.grid - spent % self.grid) if self.grid else self.batch

    def is_measured(self, spent: int) -> bool:
        """Whether the model of ``spent`` labels is measured."""
        return not self.grid or spent % self.grid == 0 or spent in (self.first, self.budget)
