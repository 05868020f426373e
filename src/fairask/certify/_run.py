"""Many audits at once, on pools given by their strata."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairask.certify._design import Plan

Float = NDArray[np.float64]
Int = NDArray[np.int64]

__all__ = ["CERTIFIED", "REFUTED", "UNDECIDED", "run_audits"]

UNDECIDED, CERTIFIED, REFUTED = 0, 1, 2


def run_audits(size: Float, ones: Float, plan: Plan, rng: np.random.Generator) -> tuple[Int, Int]:
    """Run one audit for each pool given by its strata; return verdicts and labels used.

    Parameters
    ----------
    size, ones : ndarray of shape (audits, groups, 2)
        Rows and labels 1 of each stratum (group, prediction).
    plan : Plan
        The audits' plan.
    rng : Generator
        Source of the draws.

    Examples
    --------
    >>> size = np.full((100, 2, 2), 500.0)
    >>> plan = Plan((1,), 0.1, 0.05, (200, 400))
    >>> verdict, used = run_audits(size, np.zeros_like(size) + [50.0, 450.0], plan, np.random.default_rng(0))
    >>> bool(np.mean(verdict == CERTIFIED) > 0.9), int(used.max())
    (True, 400)
    """
    verdict, used = np.zeros(len(size), dtype=np.int64), np.zeros(len(size), dtype=np.int64)
    open_ = np.arange(len(size))
    found, labels = np.zeros_like(size), np.zeros_like(size)
    for look in range(len(plan.totals)):
        s, f, n = size[open_], found[open_], labels[open_]
        counts = plan.next_counts(s, f, n, look).astype(np.float64)
        good = (ones[open_] - f).astype(np.int64)
        f = f + rng.hypergeometric(good, (s - n).astype(np.int64) - good, (counts - n).astype(np.int64))
        found[open_], labels[open_] = f, counts
        used[open_] = counts.sum(axis=(1, 2)).astype(np.int64)
        bounds = plan.bounds(s, f, counts, look)
        certified, refuted = bounds.upper <= plan.alpha, bounds.lower > plan.alpha
        verdict[open_[certified]], verdict[open_[refuted & ~certified]] = CERTIFIED, REFUTED
        open_ = open_[~(certified | refuted)]
        if not len(open_):
            break
    return verdict, used
