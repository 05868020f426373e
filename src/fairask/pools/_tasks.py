"""What is done to one block of a pool, wherever the block is: here, in a thread, or on a worker.

A task is a small frozen object that travels to the block; a block is read as chunks, in row order. What
comes back is a histogram, or the rows that were asked for, never the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairask.metrics import Float, Int
from fairask.pools._cells import BlockCounts, cell_keys, count_block, merge_counts
from fairask.pools.codes import decisions, pattern_codes
from fairask.pools.rows import tie_breakers, uniforms, within
from fairask.rules import Rule

__all__ = [
    "Chance",
    "Chunk",
    "CountCells",
    "Decision",
    "DrawnDecision",
    "Fetch",
    "FindRows",
    "Found",
    "Group",
    "Lowest",
    "Predictions",
    "find_kept",
]


class Chunk:
    """Some consecutive rows of a block; features are made when they are asked for.

    Parameters
    ----------
    first : int
        Number of the first row.
    groups : ndarray
    features : callable
        ``features(rows)`` with positions in the chunk, or None for all of them.
    """

    def __init__(
        self, first: int, groups: NDArray[Any], features: Callable[[NDArray[Any] | None], Any]
    ) -> None:
        self.first, self.groups, self._features = first, groups, features

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def X(self) -> Any:
        """Features of all rows of the chunk."""
        return self._features(None)

    def take(self, rows: NDArray[Any]) -> Any:
        """Features of some rows, by position, each row's values next to each other."""
        return np.ascontiguousarray(self._features(rows))


class Coder(Protocol):
    """What sorts the rows of a group into cells."""

    k: int
    needs_features: bool
    threads: bool

    def codes(self, chunk: Chunk) -> NDArray[Any]:
        """One code a row, below ``2 ** (k - 1)``."""
        ...


@dataclass(frozen=True)
class Group:
    """One cell a group."""

    k: int = 1
    needs_features: bool = False
    threads: bool = True

    def codes(self, chunk: Chunk) -> NDArray[Any]:
        """See :class:`Coder`."""
        return np.zeros(len(chunk.groups), dtype=np.uint8)


class Predictions:
    """One cell for each group and pattern of the rules' predictions, up to complement."""

    needs_features = True

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules, self.k = [rule.for_blocks() for rule in rules], len(rules)
        self.threads = all(rule.thread_safe for rule in self.rules)

    def codes(self, chunk: Chunk) -> NDArray[Any]:
        """See :class:`Coder`."""
        return pattern_codes(self.rules, chunk.X, chunk.groups)


class Decision:
    """One cell for each group and decision of one model."""

    needs_features, k = True, 2

    def __init__(self, rule: Rule) -> None:
        self.rule = rule.for_blocks()
        self.threads = self.rule.thread_safe

    def codes(self, chunk: Chunk) -> NDArray[Any]:
        """See :class:`Coder`."""
        return np.asarray(decisions([self.rule], chunk.X, chunk.groups)[0], dtype=np.uint8)


class Chance:
    """One cell for each group and decision of a model that says how probable a positive one is.

    The decision is drawn once for each row, by its number and the seed; 0 and 1 are certain.
    """

    needs_features, k = True, 2

    def __init__(self, model: Any, seed: int) -> None:
        self.model, self.seed, self.threads = model, seed, bool(getattr(model, "threads", False))

    def codes(self, chunk: Chunk) -> NDArray[Any]:
        """See :class:`Coder`."""
        chance = np.asarray(self.model.chance(chunk.X), dtype=np.float64)
        rows = np.arange(chunk.first, chunk.first + len(chance))
        return np.asarray(uniforms(rows, self.seed) < chance, dtype=np.uint8)


class DrawnDecision:
    """One cell for each group and decision of a mixture of rules, drawn once for each row.

    Rule i has the probability ``weights[i]``. The draw depends on the row's number and the seed alone.
    """

    needs_features, k = True, 2

    def __init__(self, rules: Sequence[Rule], weights: Sequence[float], seed: int) -> None:
        self.rules = [rule.for_blocks() for rule in rules]
        self.weights, self.seed = [float(w) for w in weights], seed
        self.threads = all(rule.thread_safe for rule in self.rules)

    def codes(self, chunk: Chunk) -> NDArray[Any]:
        """See :class:`Coder`."""
        said = decisions(self.rules, chunk.X, chunk.groups)
        chance = np.zeros(said.shape[1])
        # Added up rule by rule: a product could round differently in a block of another shape.
        for weight, one in zip(self.weights, said, strict=True):
            chance += weight * one
        drawn = uniforms(np.arange(chunk.first, chunk.first + len(chance)), self.seed) < chance
        return np.asarray(drawn | said.all(axis=0), dtype=np.uint8)


class Counted(NamedTuple):
    """Counts of a block, and what is kept of it until rows are drawn: keys, and features by chunk."""

    counts: BlockCounts
    keys: NDArray[Any] | None
    features: list[Any]


@dataclass(frozen=True)
class CountCells:
    """Count the available rows in each cell of a block; with ``keep``, also return the rows' keys.

    With ``features``, the features that the coder read come along too, where blocks are in this process.
    """

    coder: Any
    n_groups: int
    keep: bool = False
    features: bool = False

    @property
    def needs_features(self) -> bool:
        """Whether chunks must hold features."""
        return bool(self.coder.needs_features)

    @property
    def threads(self) -> bool:
        """Whether blocks may be worked on at the same time in one process."""
        return bool(self.coder.threads)

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: Any) -> Counted:
        """Work on one block; ``excluded`` are row numbers."""
        parts, kept, features, k = [], [], [], self.coder.k
        for chunk in chunks:
            codes = self.coder.codes(chunk)
            keys = cell_keys(codes, chunk.groups, self.n_groups, k)
            # All rows are counted where they lie, then the few that are out are taken off again.
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
    """Rows that were asked for, with their features and groups."""

    rows: Int
    X: Any
    groups: Int


@dataclass(frozen=True)
class FindRows:
    """Find rows of a block by group, code and rank, and bring their features along."""

    coder: Any
    needs_features: bool = True

    @property
    def threads(self) -> bool:
        """Whether blocks may be worked on at the same time in one process."""
        return bool(self.coder.threads)

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: tuple[Int, Any, Int]) -> Found:
        """Work on one block; the job is groups, codes and ranks."""
        groups, codes, ranks = job
        left, rows = ranks.copy(), np.full(len(ranks), -1, dtype=np.int64)
        features: list[Any] = [None] * len(ranks)
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


def find_kept(keys: NDArray[Any], excluded: Int, wanted: NDArray[Any], ranks: Int) -> Int:
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


@dataclass(frozen=True)
class Fetch:
    """Bring rows of a block, given by number."""

    needs_features: bool = True
    threads: bool = True

    def __call__(self, chunks: Iterable[Chunk], excluded: Int, job: Int) -> Found:
        """Work on one block; the job is sorted row numbers."""
        parts, groups = [], []
        for chunk in chunks:
            at = within(job, chunk.first, chunk.first + len(chunk))
            if len(at):
                parts.append(chunk.take(at))
                groups.append(chunk.groups[at].astype(np.int64))
            if chunk.first + len(chunk) > job[-1]:
                break
        return Found(job, np.concatenate(parts), np.concatenate(groups))


@dataclass(frozen=True)
class Lowest:
    """The n available rows of a block with the lowest scores; ties are broken by row and seed."""

    score: Callable[..., Float]
    n: int
    seed: int
    needs_features: bool = True
    threads: bool = True

    def __call__(
        self, chunks: Iterable[Chunk], excluded: Int, job: Any
    ) -> tuple[Float, NDArray[np.uint64], Int]:
        """Work on one block: scores, tie breakers and row numbers of the best."""
        best: tuple[Float, NDArray[np.uint64], Int] | None = None
        for chunk in chunks:
            seen = (chunk.X, chunk.groups) if getattr(self.score, "aware", False) else (chunk.X,)
            value = np.asarray(self.score(*seen), dtype=np.float64)
            keep = np.ones(len(value), dtype=bool)
            keep[within(excluded, chunk.first, chunk.first + len(value))] = False
            at = np.flatnonzero(keep)
            if len(at) > self.n:
                at = at[value[at] <= np.partition(value[at], self.n - 1)[self.n - 1]]
            rows = chunk.first + at
            found = (value[at], tie_breakers(rows, self.seed), rows)
            best = lowest([found] if best is None else [best, found], self.n)
        none = np.zeros(0)
        return (none, none.astype(np.uint64), none.astype(np.int64)) if best is None else best


def lowest(parts: Sequence[tuple[Float, NDArray[np.uint64], Int]], n: int) -> Any:
    """The n lowest of several lists, in order.

    Examples
    --------
    >>> rows = [(np.array([0.2, 0.1]), np.array([0, 0], dtype=np.uint64), np.array([3, 4]))]
    >>> lowest(rows, 1)[2]
    array([4])
    """
    score, tie, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((tie, score))[:n]
    return score[order], tie[order], row[order]
