"""Bins of a score within each group and decision."""

from __future__ import annotations

import numpy as np

from fairask.metrics import Bool, Float, Int

#: Labels of the pilot that a stratum should have, and rows that a bin should have.
_PILOT, _ROWS = 3, 20


def bins_for(labels: int, strata: int, most: int = 4) -> int:
    """Bins per group and decision that a pilot of so many labels can bear.

    Examples
    --------
    >>> bins_for(100, 4), bins_for(30, 4), bins_for(20, 4)
    (4, 2, 1)
    """
    return max(1, min(most, labels // (_PILOT * max(strata, 1))))


def bin_rows(parent: Int, score: Float | None, rows: Bool, bins: int) -> Int:
    """Return the bin of each row: about as many expected labels 1 as 0 differ in each.

    A score from 0 to 1 is cut where the root of its variance adds up to equal parts; any other column into
    bins of as many rows. Rows without a score are in the first bin.

    Examples
    --------
    >>> score = np.arange(90.0)
    >>> np.bincount(bin_rows(np.zeros(90, int), score, np.ones(90, bool), 3)).tolist()
    [30, 30, 30]
    """
    cut = np.zeros(len(parent), dtype=np.int64)
    if score is None or bins == 1:
        return cut
    known = rows & ~np.isnan(score)
    chance = bool(known.any() and score[known].min() >= 0 and score[known].max() <= 1)
    for value in np.unique(parent[known]):
        mine = np.flatnonzero(known & (parent == value))
        here = min(bins, len(mine) // _ROWS)
        if here < 2:
            continue
        order = mine[np.argsort(score[mine], kind="stable")]
        weight = np.ones(len(order))
        if chance:
            p = np.clip(score[order], 0.01, 0.99)
            weight = np.sqrt(p * (1 - p))
        reached = np.cumsum(weight) / weight.sum()
        cut[order] = np.minimum((reached * here - 1e-9).astype(np.int64), here - 1)
    return cut
