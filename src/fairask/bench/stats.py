"""Summaries over trials: means, standard errors, shares above the tolerance, labels saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairask.bench.paper import Reported
from fairask.bench.store import Curves
from fairask.metrics import Float, Int

__all__ = ["Saving", "Summary", "apart", "label_saving", "mean_and_error", "summarize"]


@dataclass(frozen=True)
class Summary:
    """The end of a method's curves: accuracy in per cent, as in the paper."""

    trials: int
    labels: int
    accuracy: float
    accuracy_se: float
    violation: float
    violation_se: float
    above: float  #: share of trials whose violation exceeds the tolerance

    def met(self, tolerance: float) -> bool:
        """Whether the mean is within the tolerance, which is what the paper means by fair."""
        return self.violation <= tolerance


def mean_and_error(values: Float) -> tuple[Float, Float]:
    """Mean over trials (the first axis) and its standard error.

    Examples
    --------
    >>> mean_and_error(np.array([[1.0], [3.0]]))
    (array([2.]), array([1.]))
    """
    if len(values) < 2:
        return values.mean(axis=0), np.full(values.shape[1:], np.nan)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def summarize(curves: Curves, tolerance: float) -> Summary:
    """Summarise the last round."""
    accuracy, accuracy_se = mean_and_error(100.0 * curves.accuracy[:, -1])
    violation, violation_se = mean_and_error(curves.violation[:, -1])
    return Summary(
        trials=len(curves),
        labels=int(curves.labels[-1]),
        accuracy=float(accuracy),
        accuracy_se=float(accuracy_se),
        violation=float(violation),
        violation_se=float(violation_se),
        above=float((curves.violation[:, -1] > tolerance).mean()),
    )


def apart(
    accuracy: float, accuracy_se: float, violation: float, violation_se: float, paper: Reported
) -> tuple[float, float]:
    """How far accuracy and violation are from the paper's, in joint standard errors.

    The paper prints accuracies to 0.1, so a standard error printed as 0.0 counts as the largest that
    rounds to it, 0.05.

    Examples
    --------
    >>> by = apart(80.0, 0.3, 0.1, 0.01, Reported(81.0, 0.4, 0.1, 0.01))
    >>> round(by[0], 3), by[1]
    (-2.0, 0.0)
    """
    return (
        float((accuracy - paper.accuracy) / np.hypot(accuracy_se, max(paper.accuracy_se, 0.05))),
        float((violation - paper.violation) / np.hypot(violation_se, paper.violation_se)),
    )


@dataclass(frozen=True)
class Saving:
    """Labels that a reference needs for what a method has at its end; inf: more than were run.

    ``low`` and ``high`` are the 5th and 95th percentile over bootstrap resamples of the trials.
    """

    labels: int
    needed: float
    low: float
    high: float
    limit: int  #: labels the reference was run for


def label_saving(
    method: Curves, reference: Curves, tolerance: float, resamples: int = 1000, seed: int = 0
) -> Saving:
    """Labels at which ``reference`` has the method's final mean accuracy with a mean violation within bounds.

    Curves are linear between rounds. Trials of both are resampled together, as they share their splits.
    """
    shared, mine, theirs = np.intersect1d(method.trials, reference.trials, return_indices=True)
    if not len(shared):
        raise ValueError(
            f"{method.method} and {reference.method} have no trial of {method.problem} in common"
        )
    fine = np.arange(reference.labels[0], reference.labels[-1] + 1)

    def needed(rows: Int) -> float:
        target = method.accuracy[mine[rows], -1].mean()
        accuracy = np.interp(fine, reference.labels, reference.accuracy[theirs[rows]].mean(axis=0))
        violation = np.interp(fine, reference.labels, reference.violation[theirs[rows]].mean(axis=0))
        # Rounding of the interpolation must not cost a label.
        enough = np.flatnonzero((accuracy >= target - 1e-12) & (violation <= tolerance))
        return float(fine[enough[0]]) if len(enough) else np.inf

    rng = np.random.default_rng(seed)
    draws = [needed(rng.integers(len(shared), size=len(shared))) for _ in range(resamples)]
    # "lower" and "higher" take a resample as it is: between a number and inf there is nothing.
    low = float(np.quantile(draws, 0.05, method="lower"))
    high = float(np.quantile(draws, 0.95, method="higher"))
    return Saving(int(method.labels[-1]), needed(np.arange(len(shared))), low, high, int(fine[-1]))
