"""Pools of arrays: in memory, or memory-mapped from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from scipy.sparse import issparse

from fairask.matrix import sparse_bytes, take_rows
from fairask.metrics import Bool, Int, Matrix
from fairask.pools.base import Pool
from fairask.pools.runners import ProgressCallback, Threads
from fairask.pools.sources.array import ArraySource

#: Rows hashed at a time.
_HASHED = 1 << 18


class MemoryPool(Pool):
    """Features and group codes of all rows, and which of them may still be asked for.

    Parameters
    ----------
    X : array-like of shape (rows, features)
        An array, a memory map, a data frame or a sparse CSR matrix; it is read in place.
    groups : int array of shape (rows,)
        Codes 0 .. n_groups - 1.
    n_groups : int
    available : bool array, optional
        False for rows already asked for, labelled or skipped.
    group_values : list, optional
        What each code stands for; the codes themselves by default.
    workers : int, optional
        Threads; one per core by default.
    progress : callable, optional
        Called with a :class:`PassProgress` after every block of a pass.
    """

    def __init__(
        self,
        X: Matrix,
        groups: Int,
        n_groups: int,
        available: Bool | None = None,
        *,
        group_values: Sequence[object] | None = None,
        workers: int | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        source = ArraySource(X, groups, Threads(workers))
        super().__init__(
            source, len(groups), range(n_groups) if group_values is None else group_values, progress
        )
        self.X, self.groups = X, groups
        if available is not None:
            self.excluded = np.flatnonzero(~np.asarray(available))

    def take(self, rows: Int) -> Matrix:
        """See :class:`Pool`."""
        return take_rows(self.X, rows)

    def groups_of(self, rows: Int) -> Int:
        """See :class:`Pool`."""
        return np.asarray(self.groups[rows], dtype=np.int64)

    def fingerprint(self) -> str:
        """Digest of shape and values.

        Examples
        --------
        >>> same = [MemoryPool(np.ones((2, 1)), np.array([0, 1]), 2).fingerprint() for _ in range(2)]
        >>> same[0] == same[1]
        True
        """
        if issparse(self.X):
            content = sparse_bytes(self.X) + np.ascontiguousarray(self.groups).tobytes()
            return hashlib.sha256(repr((self.X.shape, self.n_groups)).encode() + content).hexdigest()
        array = np.asarray(self.X)
        digest = hashlib.sha256(repr((array.shape, self.n_groups)).encode())
        for start in range(0, self.n_rows, _HASHED):
            part = array[start : start + _HASHED]
            digest.update(
                repr(part.tolist()).encode() if part.dtype == object else np.ascontiguousarray(part).data
            )
            digest.update(np.ascontiguousarray(self.groups[start : start + _HASHED]).data)
        return digest.hexdigest()
