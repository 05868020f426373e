"""Summaries over trials: means, standard errors, shares above the tolerance, labels saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats as distributions

from fairask.experiment import comparison
from fairask.metrics import Float, Int
from fairask.report.figures import mean_and_error
from fairask.report.words import LabelSaving
from paper.reported import Reported
from paper.store import Curves

__all__ = [
    "Summary",
    "Verdict",
    "apart",
    "holm",
    "judge_means",
    "label_saving",
    "mean_and_error",
    "summarize",
]


@dataclass(frozen=True)
class Summary:
    """The end of a method's curves: accuracy in per cent, as in the paper.

    Trials whose strategy did not converge are counted in ``failed`` and nowhere else.
    """

    trials: int
    labels: int
    accuracy: float
    accuracy_se: float
    gap: float
    gap_se: float
    above: float  #: share of trials whose gap exceeds the tolerance
    failed: int = 0
    #: share of trials that said "infeasible with these labels", and of those above that did not; NaN: unknown
    infeasible: float = float("nan")
    broken: float = float("nan")

    def met(self, tolerance: float) -> bool:
        """Whether the mean is within the tolerance, which is what the paper means by fair."""
        return self.gap <= tolerance


def summarize(curves: Curves, tolerance: float) -> Summary:
    """Summarise the last round of the trials that converged."""
    failed, curves = curves.failed, curves.of_converged()
    if not len(curves):
        nan = float("nan")
        return Summary(0, int(curves.labels[-1]), nan, nan, nan, nan, nan, failed)
    accuracy, accuracy_se = mean_and_error(100.0 * curves.accuracy[:, -1])
    gap, gap_se = mean_and_error(curves.gap[:, -1])
    above = curves.gap[:, -1] > tolerance
    known = curves.feasible is not None
    feasible = curves.feasible[:, -1] if curves.feasible is not None else np.ones(len(curves), dtype=bool)
    return Summary(
        trials=len(curves),
        labels=int(curves.labels[-1]),
        accuracy=float(accuracy),
        accuracy_se=float(accuracy_se),
        gap=float(gap),
        gap_se=float(gap_se),
        above=float(above.mean()),
        failed=failed,
        infeasible=float((~feasible).mean()) if known else float("nan"),
        broken=float((above & feasible).mean()) if known else float("nan"),
    )


def apart(
    accuracy: float, accuracy_se: float, gap: float, gap_se: float, paper: Reported
) -> tuple[float, float]:
    """How far accuracy and gap are from the paper's, in joint standard errors.

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
        float((gap - paper.gap) / np.hypot(gap_se, paper.gap_se)),
    )


def holm(p: Float) -> Float:
    """Adjust p-values for testing all of them, by Holm's step-down method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


@dataclass(frozen=True)
class Verdict:
    """Whether a mean is above a limit, within it, or undecided, with its adjusted p-value."""

    p: float
    verdict: str


def judge_means(means: Float, errors: Float, trials: Int, limit: float, level: float = 0.05) -> list[Verdict]:
    """Test each mean against a limit, all of them together.

    Student's t-test in both directions, so that "within" is as much of a finding as "above"; the p-values
    are adjusted by Holm's method, so that the chance of a single wrong verdict among all is at most
    ``level`` (as far as means over that many trials are normal).

    Parameters
    ----------
    means, errors : ndarray
        Means over trials and their standard errors.
    trials : ndarray of int
        How many trials each mean is over; 2 or more.
    limit : float
        What the means are compared with.
    level : float
        Chance of any wrong verdict.

    Examples
    --------
    >>> found = judge_means(np.array([0.3, 0.11, 0.05]), np.array([0.02, 0.01, 0.005]), np.full(3, 20), 0.1)
    >>> [v.verdict for v in found]
    ['above', 'undecided', 'within']
    """
    if (np.asarray(trials) < 2).any():
        raise ValueError(
            f"trials={np.asarray(trials).tolist()} must all be 2 or more: one trial has no error"
        )
    # Trials that all agree have no error; the distance alone decides.
    t = (means - limit) / np.maximum(errors, 1e-12)
    p = holm(2.0 * distributions.t.sf(np.abs(t), np.asarray(trials) - 1))
    side = np.where(means > limit, "above", "within")
    return [
        Verdict(float(at), str(of) if at <= level else "undecided") for at, of in zip(p, side, strict=True)
    ]


def label_saving(method: Curves, reference: Curves, tolerance: float, resamples: int = 1000) -> LabelSaving:
    """Labels at which ``reference`` has the method's final mean accuracy, and a mean gap in bounds."""
    shared, mine, theirs = np.intersect1d(method.trials, reference.trials, return_indices=True)
    if not len(shared):
        raise ValueError(
            f"{method.method} and {reference.method} have no trial of {method.problem} in common"
        )
    return comparison.label_saving(
        int(method.labels[-1]), method.accuracy[mine, -1], reference.labels, reference.accuracy[theirs],
        reference.gap[theirs], tolerance, resamples,
    )  # fmt: skip
