"""Sub-pools: the rows of a large pool that a model which is costly per row gets to see."""

from __future__ import annotations

import numpy as np

from fairask.matrix import nth_left
from fairask.pools.base import Pool
from fairask.pools.memory import Pool as Pool

#: Rows of a sub-pool.
SUB_POOL = 1 << 16
#: Rows of a sub-pool per row of the batch that is drawn from it, at least.
_PER_DRAW = 100


def sub_pool_size(batch: int) -> int:
    """Rows of a sub-pool from which ``batch`` rows are drawn.

    Examples
    --------
    >>> sub_pool_size(25), sub_pool_size(1000)
    (65536, 100000)
    """
    return max(SUB_POOL, _PER_DRAW * batch)


def sub_pool_note(of: int, batch: int) -> str:
    """Say what drawing ``batch`` rows from a sub-pool of ``of`` rows costs.

    The mean over the draws estimates the mean over the sub-pool of n rows, which itself has the variance of
    one row times ``1 / n - 1 / of``. That is related to the variance of as many uniform draws from all rows.

    Examples
    --------
    >>> print(sub_pool_note(10**7, 25))
    batches of 25 rows are drawn from uniform sub-pools of 65,536 of the 10,000,000 rows: 0.04% more variance
    """
    size = min(sub_pool_size(batch), of)
    return (
        f"batches of {batch} rows are drawn from uniform sub-pools of {size:,} of the {of:,} rows: "
        f"{batch * (1.0 / size - 1.0 / of):.2%} more variance"
    )


class SubPool(Pool):
    """Rows of another pool, drawn uniformly without replacement from those available, and held in memory.

    Rows of a sub-pool are numbered anew. Which rows it has depends on the generator and the numbers of the
    available rows alone, so the same seed gives the same sub-pool wherever the rows are. The cost is one
    fetch of ``n`` rows. Numbers are drawn, not hashed: to hash every row takes time per row of the pool.

    Parameters
    ----------
    pool : Pool
    n : int
        Rows; all that are available if these are fewer.
    rng : Generator

    Attributes
    ----------
    drawn : ndarray
        Numbers of the rows in the other pool, ascending.
    of : int
        Rows that they were drawn from.

    Examples
    --------
    >>> whole = Pool(np.arange(8.0)[:, None], np.arange(8) % 2, 2).excluding([0, 1])
    >>> part = SubPool(whole, 3, np.random.default_rng(0))
    >>> len(part), part.of, bool((part.X[:, 0] == part.drawn).all())
    (3, 6, True)
    """

    def __init__(self, pool: Pool, n: int, rng: np.random.Generator) -> None:
        self.of = len(pool)
        ranks = rng.choice(self.of, min(n, self.of), replace=False, shuffle=False)
        self.drawn = nth_left(pool.excluded, np.sort(ranks))
        X, groups = pool.sample(self.drawn)
        super().__init__(X, groups, pool.n_groups, group_values=pool.group_values)
