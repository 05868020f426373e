"""How many labels a reference needs for what a method has: the number, its limits, and a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairask.metrics import Float, Int


@dataclass(frozen=True)
class LabelSaving:
    """Labels that a reference needs for what a method has at its end; inf: more than the reference had.

    ``low`` and ``high`` are the 5th and 95th percentile over bootstrap resamples of the trials, NaN where
    there is one trial.
    """

    labels: int
    needed: float
    low: float
    high: float
    limit: int  #: labels that the reference was given

    @property
    def has_interval(self) -> bool:
        """Whether there were several trials, and so an interval."""
        return not np.isnan(self.low)

    def count(self, value: float) -> str:
        """Return a number of labels in words.

        Examples
        --------
        >>> LabelSaving(100, 150.0, 120.0, np.inf, 300).count(np.inf)
        'more than 300'
        """
        return f"{value:,.0f}" if np.isfinite(value) else f"more than {self.limit:,}"

    def sentence(self, method: str, accuracy: float, reference: str = "Passive sampling") -> str:
        """Say what the reference would need.

        Examples
        --------
        >>> print(LabelSaving(100, 150.0, 120.0, np.inf, 300).sentence("FARE", 0.8))
        Passive sampling reaches FARE's accuracy at 100 labels (0.800), as fairly, with 150 labels (90 %
        interval: 120 to more than 300): 50 more.
        """
        goal = f"{method}'s accuracy at {self.labels:,} labels ({accuracy:.3f}), as fairly,"
        limits = f" (90 % interval: {self.count(self.low)} to {self.count(self.high)})"
        if not self.has_interval:
            limits = " (one run: no interval)"
        if not np.isfinite(self.needed):
            return f"{reference}: {goal} is not reached within {self.limit:,} labels{limits}."
        more = self.needed - self.labels
        words = f"{more:,.0f} more" if more > 0 else f"{method} saves none here"
        return f"{reference} reaches {goal} with {self.needed:,.0f} labels{limits}: {words}."


def label_saving(
    spent: int,
    goal: Float,
    labels: Int,
    accuracy: Float,
    violation: Float,
    limit: float,
    resamples: int = 1000,
    seed: int = 0,
) -> LabelSaving:
    """Find the labels at which a reference has a method's final mean accuracy, with an interval over trials.

    Curves are linear between rounds. Trials of both are resampled together, as they share their splits.

    Parameters
    ----------
    spent : int
        Labels of the method.
    goal : ndarray of shape (trials,)
        Accuracy of the method at its end.
    labels : ndarray of shape (rounds,)
        Labels of the reference.
    accuracy, violation : ndarray of shape (trials, rounds)
        Of the reference.
    limit : float
        Largest mean violation of the reference that counts as fair.
    resamples, seed : int

    Examples
    --------
    >>> curve = np.array([[0.70, 0.80], [0.72, 0.82]])
    >>> label_saving(50, np.array([0.76, 0.76]), np.array([50, 150]), curve, np.zeros((2, 2)), 0.1).needed
    100.0
    """
    fine = np.arange(labels[0], labels[-1] + 1)

    def needed(rows: Int) -> float:
        # Rounding of the interpolation must not cost a label.
        there = np.interp(fine, labels, accuracy[rows].mean(axis=0)) >= goal[rows].mean() - 1e-12
        fair = np.interp(fine, labels, violation[rows].mean(axis=0)) <= limit
        enough = np.flatnonzero(there & fair)
        return float(fine[enough[0]]) if len(enough) else np.inf

    rng = np.random.default_rng(seed)
    n = len(goal)
    if n == 1:
        return LabelSaving(spent, needed(np.arange(n)), np.nan, np.nan, int(fine[-1]))
    draws = [needed(rng.integers(n, size=n)) for _ in range(resamples)]
    # "lower" and "higher" take a resample as it is: between a number and inf there is nothing.
    low = float(np.quantile(draws, 0.05, method="lower"))
    high = float(np.quantile(draws, 0.95, method="higher"))
    return LabelSaving(spent, needed(np.arange(n)), low, high, int(fine[-1]))
