"""What an audit needs of a pool: the size of each stratum, and its rows in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairask.metrics import Int
from fairask.pools.base import Pool

__all__ = ["AuditOrder", "audit_order"]


@dataclass(frozen=True)
class AuditOrder:
    """Strata ``2 * group + decision`` of a pool.

    Attributes
    ----------
    sizes : ndarray of shape (2 * groups,)
        Available rows of each stratum.
    queues : list of ndarray
        The first rows of each stratum in a random order, as many as an audit may ask for.
    """

    sizes: Int
    queues: list[Int]

    def stratum_of(self, rows: ArrayLike) -> Int:
        """Stratum of each of these rows, which must be queued.

        Examples
        --------
        >>> AuditOrder(np.array([1, 2]), [np.array([7]), np.array([4, 2])]).stratum_of([2, 7])
        array([1, 0])
        """
        stratum = {row: s for s, queue in enumerate(self.queues) for row in queue.tolist()}
        return np.array([stratum[row] for row in np.asarray(rows).tolist()], dtype=np.int64)


def audit_order(pool: Pool, model: Any, budget: int, seed: int) -> AuditOrder:
    """Sizes of the strata (group, decision) and at most ``budget`` rows of each, in random order.

    An audit asks for the next rows of each stratum's queue; it never needs more than its budget of any.
    Two passes: one counts, one reads only blocks that hold a queued row. The decisions of a randomised
    model are drawn once, by the seed.

    Examples
    --------
    >>> from fairask.pools import MemoryPool
    >>> from fairask.rules import LinearRule
    >>> pool = MemoryPool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
    >>> order = audit_order(pool, LinearRule(np.array([1.0, 0.0])), budget=2, seed=0)
    >>> order.sizes.tolist(), [queue.tolist() for queue in order.queues]
    ([1, 1, 0, 1], [[0], [1], [], [2]])
    """
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise ValueError(f"budget={budget!r} must be a whole number, 1 or more")
    cells = pool.by_decision(model, seed)
    sizes = np.zeros(2 * pool.n_groups, dtype=np.int64)
    stratum = 2 * cells.groups + cells.patterns[0]
    sizes[stratum] = cells.counts
    rng = np.random.default_rng(seed)
    ranks = [
        rng.choice(int(count), size=int(min(count, budget)), replace=False, shuffle=True)
        for count in cells.counts
    ]
    which = np.repeat(np.arange(len(ranks)), [len(r) for r in ranks])
    rows = cells.locate(which, np.concatenate([*ranks, np.zeros(0, dtype=np.int64)]))
    queues = [np.zeros(0, dtype=np.int64) for _ in sizes]
    for cell, s in enumerate(stratum):
        queues[int(s)] = rows[which == cell]
    return AuditOrder(sizes, queues)
