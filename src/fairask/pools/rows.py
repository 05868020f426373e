"""Sets of row numbers, and random numbers that depend on the row number and a seed alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.matrix import hash_numbers, to_uniforms
from fairask.metrics import Int


def row_set(rows: ArrayLike, n_rows: int) -> Int:
    """Row numbers sorted and without repeats: eight bytes per row in the set.

    Examples
    --------
    >>> row_set([5, 1, 5], 10).tolist()
    [1, 5]
    """
    given = np.asarray(rows)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"rows must be whole numbers, got {given.dtype}")
    found = np.unique(given.astype(np.int64))
    if len(found) and (found[0] < 0 or found[-1] >= n_rows):
        bad = found[0] if found[0] < 0 else found[-1]
        raise ValueError(f"no row {bad}: the pool has rows 0 to {n_rows - 1}")
    return found


def within(rows: Int, start: int, stop: int) -> Int:
    """The part of a row set from ``start`` up to ``stop``, counted from ``start``.

    Examples
    --------
    >>> within(np.array([1, 5, 9]), 4, 9).tolist()
    [1]
    """
    first, last = np.searchsorted(rows, [start, stop])
    return np.asarray(rows[first:last] - start)


def nth_left(excluded: Int, ranks: Int) -> Int:
    """Row numbers of the ``ranks``-th rows that are not in a row set.

    Examples
    --------
    >>> nth_left(np.array([0, 2]), np.array([0, 1])).tolist()
    [1, 3]
    """
    return np.asarray(ranks + np.searchsorted(excluded - np.arange(len(excluded)), ranks, side="right"))


def tie_breakers(rows: Int, seed: int) -> NDArray[np.uint64]:
    """One number per row that depends on its row number and the seed alone.

    The hash is one to one: no two rows tie.

    Examples
    --------
    >>> whole, part = tie_breakers(np.arange(4), 7), tie_breakers(np.arange(2, 4), 7)
    >>> bool((whole[2:] == part).all())
    True
    """
    return hash_numbers(rows.astype(np.uint64) + hash_numbers(np.uint64(seed)))


def uniforms(rows: Int, seed: int) -> NDArray[np.float64]:
    """One number in [0, 1) per row that depends on its row number and the seed alone.

    Examples
    --------
    >>> whole, part = uniforms(np.arange(4), 7), uniforms(np.arange(2, 4), 7)
    >>> bool((whole[2:] == part).all()), bool((whole < 1).all())
    (True, True)
    """
    return to_uniforms(tie_breakers(rows, seed))
