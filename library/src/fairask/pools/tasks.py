"""Tasks: what is done to one block of a pool, wherever the block is: here, in a thread, or on a worker.

A task is a small object that travels to the block. The block is read as chunks, in row order. A histogram or
the rows that were asked for come back, never the block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairask.matrix import tie_breakers, within
from fairask.metrics import Float, Int, Matrix
from fairask.pools.cells import BlockCounts, Codes, cell_keys, count_block, merge_counts
from fairask.pools.coders import Chunk, Coder

J = TypeVar("J", contravariant=True)
R = TypeVar("R", covariant=True)

#: Maps features and group codes to one number per row.
Score = Callable[[Matrix, Int], Float]


class BlockTask(ABC, Generic[J, R]):
    """Work on one block: ``J`` is what is asked of the block, ``R`` what comes back."""

    #: Whether chunks must hold features.
    needs_features: bool = True
    #: Whether blocks may be worked on at the same time in one process.
    threads: bool = True

    @abstractmethod
    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: J) -> R:
        """Work on a block; ``excluded`` are the numbers of rows that may not be asked for."""


class Counted(NamedTuple):
    """Counts of a block, and what is kept of it until rows are drawn: keys, and features by chunk."""

    counts: BlockCounts
    keys: Codes | None
    features: list[Matrix]


class CountCells(BlockTask[None, Counted]):
    """Count the available rows in each cell of a block.

    With ``keep``, the keys of all rows are returned too; with ``features`` also the features that the coder
    read. Both are for blocks in this process.
    """

    def __init__(self, coder: Coder, n_groups: int, keep: bool = False, features: bool = False) -> None:
        self.coder, self.n_groups, self.keep, self.features = coder, n_groups, keep, features
        self.needs_features, self.threads = coder.needs_features, coder.threads

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: None) -> Counted:
        """See :class:`BlockTask`."""
        parts: list[BlockCounts] = []
        kept: list[Codes] = []
        features: list[Matrix] = []
        k = self.coder.k
        for chunk in chunks:
            codes = self.coder.codes(chunk)
            keys = cell_keys(codes, chunk.groups, self.n_groups, k)
            # Count all rows first, then subtract the few excluded ones: no row is copied.
            parts.append(count_block(codes, chunk.groups, self.n_groups, k, keys))
            out = within(excluded, chunk.first, chunk.first + len(codes))
            if len(out):
                less = count_block(codes[out], chunk.groups[out], self.n_groups, k)
                parts.append(BlockCounts(less.groups, less.codes, -less.counts))
            if self.keep and keys is not None:
                kept.append(keys)
                if self.features and self.needs_features:
                    features.append(chunk.X)
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return Counted(BlockCounts(none, none.astype(np.uint64), none), None, [])
        total = parts[0] if len(parts) == 1 else merge_counts(parts)[0]
        return Counted(total, np.concatenate(kept) if kept else None, features)


class Found(NamedTuple):
    """Numbers of rows, with their features and group codes."""

    rows: Int
    X: Matrix
    groups: Int


class CellRanks(NamedTuple):
    """Rows to find in a block: the rank of each within its group and code, counted in row order."""

    groups: Int
    codes: NDArray[np.uint64]
    ranks: Int


class FindRows(BlockTask[CellRanks, Found]):
    """Find rows of a block by group, code and rank, and return their features too."""

    def __init__(self, coder: Coder) -> None:
        self.coder, self.threads = coder, coder.threads

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: CellRanks) -> Found:
        """See :class:`BlockTask`."""
        groups, codes, ranks = job
        left, rows = ranks.copy(), np.full(len(ranks), -1, dtype=np.int64)
        features: list[Matrix] = [None] * len(ranks)
        wanted = sorted(set(zip(groups.tolist(), codes.tolist(), strict=True)))
        for chunk in chunks:
            here = self.coder.codes(chunk)
            out = within(excluded, chunk.first, chunk.first + len(here))
            for group, code in wanted:
                hit = here == here.dtype.type(code)
                hit &= chunk.groups == group
                hit[out] = False
                members = np.flatnonzero(hit)
                which = np.flatnonzero((groups == group) & (codes == np.uint64(code)) & (rows < 0))
                inside = which[left[which] < len(members)]
                rows[inside] = chunk.first + members[left[inside]]
                for i, x in zip(inside, chunk.take(members[left[inside]]), strict=True):
                    features[i] = x
                left[which] -= len(members)
            if (rows >= 0).all():
                break
        return Found(rows, np.array(features), groups)


def find_kept(keys: Codes, excluded: Int, wanted: Codes, ranks: Int) -> Int:
    """Positions in a block of the ``ranks``-th rows with the ``wanted`` keys; ``excluded`` are positions.

    Examples
    --------
    >>> keys = np.array([3, 1, 3, 3], dtype=np.uint8)
    >>> find_kept(keys, np.array([0]), np.array([3, 1]), np.array([1, 0])).tolist()
    [3, 1]
    """
    found = np.empty(len(ranks), dtype=np.int64)
    for key in np.unique(wanted):
        hit = keys == key
        hit[excluded] = False
        found[wanted == key] = np.flatnonzero(hit)[ranks[wanted == key]]
    return found


class Fetch(BlockTask[Int, Found]):
    """Fetch rows of a block; the job is their numbers, sorted."""

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: Int) -> Found:
        """See :class:`BlockTask`."""
        parts: list[Matrix] = []
        groups: list[Int] = []
        for chunk in chunks:
            at = within(job, chunk.first, chunk.first + len(chunk))
            if len(at):
                parts.append(chunk.take(at))
                groups.append(chunk.groups[at].astype(np.int64))
            if chunk.first + len(chunk) > job[-1]:
                break
        return Found(job, np.concatenate(parts), np.concatenate(groups))


class Read(BlockTask[None, Found]):
    """Read a whole block."""

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: None) -> Found:
        """See :class:`BlockTask`."""
        parts = [(chunk.first, chunk.X, chunk.groups) for chunk in chunks]
        groups = np.concatenate([part[2] for part in parts]).astype(np.int64)
        rows = np.arange(parts[0][0], parts[0][0] + len(groups))
        X = parts[0][1] if len(parts) == 1 else np.concatenate([part[1] for part in parts])
        return Found(rows, X, groups)


class Ranked(NamedTuple):
    """Rows with their scores and tie breakers."""

    score: Float
    tie: NDArray[np.uint64]
    row: Int


class Lowest(BlockTask[None, Ranked]):
    """The n available rows of a block with the lowest scores; ties are broken by row and seed."""

    def __init__(self, score: Score, n: int, seed: int, threads: bool) -> None:
        self.score, self.n, self.seed, self.threads = score, n, seed, threads

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: None) -> Ranked:
        """See :class:`BlockTask`."""
        none = np.zeros(0)
        best = Ranked(none, none.astype(np.uint64), none.astype(np.int64))
        for chunk in chunks:
            value = np.asarray(self.score(chunk.X, chunk.groups), dtype=np.float64)
            keep = np.ones(len(value), dtype=bool)
            keep[within(excluded, chunk.first, chunk.first + len(value))] = False
            at = np.flatnonzero(keep)
            if len(at) > self.n:
                at = at[value[at] <= np.partition(value[at], self.n - 1)[self.n - 1]]
            rows = chunk.first + at
            best = lowest([best, Ranked(value[at], tie_breakers(rows, self.seed), rows)], self.n)
        return best


def lowest(parts: Sequence[Ranked], n: int) -> Ranked:
    """The n lowest of several lists, in order.

    Examples
    --------
    >>> lowest([Ranked(np.array([0.2, 0.1]), np.array([0, 0], dtype=np.uint64), np.array([3, 4]))], 1).row
    array([4])
    """
    score, tie, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((tie, score))[:n]
    return Ranked(score[order], tie[order], row[order])
