"""Cells: classes of exchangeable rows with the same group and prediction pattern, counted block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Bool, Int

#: Codes of predictions, or keys of cells, in the smallest type that holds them.
Codes = NDArray[np.unsignedinteger]

#: Cells up to which a block is counted in a table with one entry per possible cell.
_LARGEST_TABLE = 1 << 18


@dataclass(frozen=True)
class Cells:
    """Available rows sorted into cells of exchangeable rows, in the order of group, then code.

    Attributes
    ----------
    counts, groups : ndarray of shape (cells,)
        Rows in each cell, and the code of their group.
    patterns : bool ndarray of shape (k, cells)
        Predictions of the k classifiers in each cell, up to complement.
    finder : callable
        ``finder(cells, ranks)`` returns row indices; see :meth:`locate`.
    """

    counts: Int
    groups: Int
    patterns: Bool
    finder: Callable[[Int, Int], Int]

    def locate(self, cells: ArrayLike, ranks: ArrayLike) -> Int:
        """Row indices of the ``ranks``-th rows of ``cells``; ranks count in row order from 0.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> cells = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group()
        >>> cells.locate(np.array([0, 1]), np.array([1, 0])).tolist()
        [2, 1]
        """
        which, rank = np.asarray(cells, dtype=np.int64), np.asarray(ranks, dtype=np.int64)
        if len(which) and ((rank < 0) | (rank >= self.counts[which])).any():
            raise ValueError("ranks must be from 0 to the cell's count, less one")
        return self.finder(which, rank)

    def unfold(self) -> tuple[Int, Int]:
        """All rows, ascending, and the cell of each; holds every row number in memory.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> rows, cells = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group().unfold()
        >>> rows.tolist(), cells.tolist()
        ([0, 1, 2], [0, 1, 0])
        """
        cells = np.repeat(np.arange(len(self.counts)), self.counts)
        ranks = np.concatenate([np.arange(n) for n in self.counts.tolist()])
        rows = self.locate(cells, ranks)
        order = np.argsort(rows)
        return rows[order], cells[order]

    @classmethod
    def one_per_row(cls, rows: Int, groups: Int) -> Cells:
        """One cell per row, for methods that score every row by itself.

        Examples
        --------
        >>> Cells.one_per_row(np.array([4, 7]), np.array([0, 1])).locate([1], [0]).tolist()
        [7]
        """
        one, none = np.ones(len(rows), dtype=np.int64), np.zeros((0, len(rows)), dtype=bool)
        return cls(one, groups, none, lambda cells, _: rows[cells])


@dataclass(frozen=True)
class BlockCounts:
    """Available rows of one block by cell, without empty cells, sorted by group, then code."""

    groups: Int
    codes: NDArray[np.uint64]
    counts: Int


def cell_keys(codes: Codes, groups: Int, n_groups: int, k: int) -> Codes | None:
    """``group * 2^(k - 1) + code`` in the smallest unsigned type; None if 64 bits do not hold it.

    Examples
    --------
    >>> cell_keys(np.array([1, 0], dtype=np.uint8), np.array([0, 1]), 2, k=2)
    array([1, 2], dtype=uint8)
    """
    width = 1 << (k - 1)
    if width * n_groups > 1 << 64:
        return None
    dtype = np.min_scalar_type(width * n_groups - 1)
    keys: Codes = groups.astype(dtype)
    keys *= dtype.type(width) if width <= np.iinfo(dtype).max else dtype.type(0)
    keys |= codes
    return keys


def count_block(codes: Codes, groups: Int, n_groups: int, k: int, keys: Codes | None = None) -> BlockCounts:
    """Count the rows of each (group, code); ``keys`` are the result of :func:`cell_keys`, if known.

    Examples
    --------
    >>> count_block(np.array([1, 0, 1], dtype=np.uint8), np.array([0, 0, 0]), 1, k=2).counts.tolist()
    [1, 2]
    """
    width = 1 << (k - 1)
    if width * n_groups <= _LARGEST_TABLE:
        keys = cell_keys(codes, groups, n_groups, k) if keys is None else keys
        assert keys is not None  # a small table's keys fit a small type
        table = np.bincount(keys, minlength=width * n_groups)
        used = np.flatnonzero(table)
        return BlockCounts(used // width, (used % width).astype(np.uint64), table[used])
    found = [np.unique(codes[groups == g], return_counts=True) for g in range(n_groups)]
    return BlockCounts(
        np.repeat(np.arange(n_groups), [len(values) for values, _ in found]),
        np.concatenate([values for values, _ in found]).astype(np.uint64),
        np.concatenate([counts for _, counts in found]).astype(np.int64),
    )


def merge_counts(parts: Sequence[BlockCounts]) -> tuple[BlockCounts, Int]:
    """Add up counts; also return the cell of each entry of the parts, in their order.

    Counts may be negative (excluded rows). Cells with a total of zero are left out; their entries get -1.
    """
    groups = np.concatenate([p.groups for p in parts])
    codes = np.concatenate([p.codes for p in parts])
    counts = np.concatenate([p.counts for p in parts])
    order = np.lexsort((codes, groups))
    g, c = groups[order], codes[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (g[1:] != g[:-1]) | (c[1:] != c[:-1])
    starts = np.flatnonzero(first)
    sums = np.add.reduceat(counts[order], starts) if len(starts) else counts
    kept = sums > 0
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    cell = np.empty(len(order), dtype=np.int64)
    cell[order] = number[np.cumsum(first) - 1]
    return BlockCounts(g[starts][kept], c[starts][kept], sums[kept]), cell


class CellIndex:
    """Rows of each cell in each block: turns a rank in a cell into a block and a rank within the block.

    Parameters
    ----------
    parts : sequence of BlockCounts
        One per block.

    Examples
    --------
    >>> blocks = [count_block(np.array(c, np.uint8), np.zeros(len(c), int), 1, k=2) for c in ([0, 1, 1], [1])]
    >>> index = CellIndex(blocks)
    >>> index.total.counts.tolist(), index.block_of(1, np.array([2]))
    ([1, 3], (array([1]), array([0])))
    """

    def __init__(self, parts: Sequence[BlockCounts]) -> None:
        self.total, cell = merge_counts(parts)
        block = np.repeat(np.arange(len(parts)), [len(p.counts) for p in parts])
        counts = np.concatenate([p.counts for p in parts])
        order = np.argsort(cell, kind="stable")  # within a cell blocks stay in row order
        order = order[np.searchsorted(cell[order], 0) :]
        self._block, self._counts = block[order], counts[order]
        self._starts = np.searchsorted(cell[order], np.arange(len(self.total.counts) + 1))

    def block_of(self, cell: int, ranks: Int) -> tuple[Int, Int]:
        """Block of each rank in a cell, and the rank within it."""
        at = slice(self._starts[cell], self._starts[cell + 1])
        ends = np.cumsum(self._counts[at])
        which = np.searchsorted(ends, ranks, side="right")
        return self._block[at][which], ranks - (ends - self._counts[at])[which]


def patterns_of(codes: NDArray[np.uint64], k: int) -> Bool:
    """Predictions of k rules in each cell, (k, cells); those of the first rule are False.

    Examples
    --------
    >>> patterns_of(np.array([2], dtype=np.uint64), 3).ravel().tolist()
    [False, False, True]
    """
    bits = [(codes >> np.uint64(i)) & np.uint64(1) for i in range(k - 1)]
    return np.array([np.zeros(len(codes), dtype=np.uint64), *bits]).astype(bool)
