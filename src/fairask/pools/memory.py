"""Pools of arrays: in memory, or memory-mapped from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.metrics import Int
from fairask.pools._tasks import Chunk
from fairask.pools.base import Pool
from fairask.pools.runners import ProgressCallback, Threads, tracked

__all__ = ["MemoryPool"]

#: Rows a thread works on at a time.
_BLOCK = 1 << 18


class MemoryPool(Pool):
    """Features and group codes of all rows, and which of them may still be asked for.

    Parameters
    ----------
    X : array-like of shape (rows, features)
        An array, a memory map or a data frame; it is read in place.
    groups : int array of shape (rows,)
        Codes 0 .. n_groups - 1.
    n_groups : int
    available : bool array, optional
        False for rows already asked for, labelled or skipped.
    group_values : list, optional
        What each code stands for; the codes themselves by default.
    workers : int, optional
        Threads; one a core by default.
    progress : callable, optional
        Called with a :class:`PassProgress` after every block of a pass.
    """

    def __init__(
        self,
        X: Any,
        groups: Int,
        n_groups: int,
        available: NDArray[np.bool_] | None = None,
        *,
        group_values: list[Any] | None = None,
        workers: int | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.X, self.groups, self.n_groups = X, groups, n_groups
        self.n_rows = len(groups)
        self.group_values = list(range(n_groups)) if group_values is None else list(group_values)
        self.excluded = (
            np.zeros(0, dtype=np.int64) if available is None else np.flatnonzero(~np.asarray(available))
        )
        self.progress = progress
        self._runner = Threads(workers)
        self._block_rows = _BLOCK
        self._sizes = [min(_BLOCK, self.n_rows - start) for start in range(0, self.n_rows, _BLOCK)]

    @property
    def n_blocks(self) -> int:
        """Blocks the pool is made of."""
        return len(self._sizes)

    def take(self, rows: Int) -> Any:
        """Features of these rows."""
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def groups_of(self, rows: Int) -> Int:
        """Group codes of these rows."""
        return np.asarray(self.groups[rows], dtype=np.int64)

    def fingerprint(self) -> str:
        """Digest of shape and values.

        Examples
        --------
        >>> same = [MemoryPool(np.ones((2, 1)), np.array([0, 1]), 2).fingerprint() for _ in range(2)]
        >>> same[0] == same[1]
        True
        """
        array = np.asarray(self.X)
        digest = hashlib.sha256(repr((array.shape, self.n_groups)).encode())
        for start in range(0, self.n_rows, _BLOCK):
            part = array[start : start + _BLOCK]
            digest.update(
                repr(part.tolist()).encode() if part.dtype == object else np.ascontiguousarray(part).data
            )
            digest.update(np.ascontiguousarray(self.groups[start : start + _BLOCK]).data)
        return digest.hexdigest()

    def _run(self, task: Any, jobs: Mapping[int, Any], stage: str) -> dict[int, Any]:
        blocks = list(jobs)
        results = self._runner.run(self._one, task, [(b, jobs[b]) for b in blocks], threads=task.threads)
        found = tracked(results, [self._sizes[b] for b in blocks], stage, self.progress)
        return {blocks[position]: result for position, result in found.items()}

    def _one(self, task: Any, block: int, job: Any) -> Any:
        start, stop = self._span(block)
        table = self.X.iloc if hasattr(self.X, "iloc") else self.X
        first, last = np.searchsorted(self.excluded, [start, stop])
        chunk = Chunk(
            start,
            self.groups[start:stop],
            lambda rows: table[start:stop] if rows is None else table[start + rows],
        )
        return task([chunk], self.excluded[first:last], job)

    def _span(self, block: int) -> tuple[int, int]:
        return block * self._block_rows, block * self._block_rows + self._sizes[block]
