"""Water-filling: labels so far and coming labels together follow a design."""

from __future__ import annotations

import numpy as np

from fairask.metrics import Float
from fairask.pools import Cells


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
