"""The unlabelled pool and its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.metrics import Int
from fairask.oracle import decide

__all__ = ["Cells", "Pool"]

#: Rows whose predictions are held at a time; a block's predictions then stay in the cache.
_BLOCK = 1 << 15
_LARGEST_TABLE = 1 << 20


@dataclass(frozen=True)
class Cells:
    """Available rows sorted into cells of exchangeable rows.

    Attributes
    ----------
    counts, groups : ndarray of shape (cells,)
        Rows in each cell, and their group's code.
    patterns : bool ndarray of shape (k, cells)
        The classifiers' predictions in each cell, up to complement.
    rows : ndarray
        Indices of the available rows, ascending.
    code_of_row : ndarray
        Cell of each available row.
    """

    counts: Int
    groups: Int
    patterns: NDArray[np.bool_]
    rows: Int
    code_of_row: NDArray[Any]

    def locate(self, cells: Int, ranks: Int) -> Int:
        """Row indices of the ``ranks``-th rows of ``cells``, ranks counted in row order.

        Examples
        --------
        >>> cells = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group()
        >>> cells.locate(np.array([0, 1]), np.array([1, 0])).tolist()
        [2, 1]
        """
        found = np.empty(len(cells), dtype=np.int64)
        for cell in np.unique(cells):
            wanted = cells == cell
            members = self.rows[np.flatnonzero(self.code_of_row == cell)]
            found[wanted] = members[ranks[wanted]]
        return found


class Pool:
    """Features and group codes of all rows, and which of them may still be asked for.

    Parameters
    ----------
    X : array-like of shape (rows, features)
    groups : int array of shape (rows,)
        Codes 0 .. n_groups - 1.
    n_groups : int
    available : bool array, optional
        False for rows already asked for, labelled or skipped.
    """

    def __init__(
        self, X: Any, groups: Int, n_groups: int, available: NDArray[np.bool_] | None = None
    ) -> None:
        self.X, self.groups, self.n_groups = X, groups, n_groups
        self.rows = np.arange(len(groups)) if available is None else np.flatnonzero(available)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Int) -> Any:
        """Features of these rows."""
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def everything(self) -> Cells:
        """All available rows as one cell."""
        n = len(self.rows)
        one = np.zeros(1, dtype=np.int64)
        return Cells(np.array([n]), one, np.zeros((0, 1), bool), self.rows, np.zeros(n, dtype=np.uint8))

    def by_group(self) -> Cells:
        """One cell a group."""
        return self._cells(np.zeros(len(self.rows), dtype=np.uint64), 1)

    def by_prediction(self, rules: Sequence[Any]) -> Cells:
        """One cell for each group and pattern of the rules' predictions, up to complement.

        Examples
        --------
        >>> from fairask.oracle._learners import LinearRule
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> rules = [LinearRule(np.array([1.0, 0.0])), LinearRule(np.array([1.0, -1.0]))]
        >>> cells = pool.by_prediction(rules)
        >>> cells.counts.tolist(), cells.patterns.tolist()
        ([1, 1, 1], [[False, False, False], [False, True, False]])
        """
        if not 2 <= len(rules) <= 64:
            raise ValueError(f"2 to 64 classifiers are compared, got {len(rules)}")
        codes = np.empty(len(self.rows), dtype=np.uint64 if len(rules) > 32 else np.uint32)
        for start in range(0, len(self.rows), _BLOCK):
            block = self.rows[start : start + _BLOCK]
            whole = len(block) and block[-1] - block[0] + 1 == len(block)
            X = (
                self.X[block[0] : block[-1] + 1]
                if whole and not hasattr(self.X, "iloc")
                else self.take(block)
            )
            codes[start : start + len(block)] = _pattern_codes(
                decide(rules, X, self.groups[block]), codes.dtype
            )
        return self._cells(codes, len(rules))

    def _cells(self, codes: NDArray[Any], k: int) -> Cells:
        width = 1 << (k - 1) if k - 1 < 60 else 0
        groups = self.groups[self.rows]
        if width and width * self.n_groups <= _LARGEST_TABLE:
            joint = codes.astype(np.int64) + width * groups
            histogram = np.bincount(joint, minlength=width * self.n_groups)
            used = np.flatnonzero(histogram)
            renumber = np.zeros(len(histogram), dtype=np.uint32)
            renumber[used] = np.arange(len(used))
            cell_groups, cell_codes, counts, of_row = (
                used // width,
                used % width,
                histogram[used],
                renumber[joint],
            )
        else:
            keys = np.stack([groups.astype(np.uint64), codes.astype(np.uint64)])
            unique, inverse, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
            cell_groups, cell_codes, of_row = unique[0].astype(np.int64), unique[1], inverse.ravel()
        bits = [
            (cell_codes >> type(cell_codes.flat[0])(i)) & type(cell_codes.flat[0])(1) for i in range(k - 1)
        ]
        patterns = np.array([np.zeros(len(counts), dtype=np.int64), *bits]).astype(bool)
        return Cells(counts, cell_groups, patterns, self.rows, of_row)


def _pattern_codes(predictions: NDArray[np.bool_], dtype: Any) -> NDArray[Any]:
    """Bit i - 1 says whether rule i differs from rule 0: complements share their code."""
    codes = np.zeros(predictions.shape[1], dtype=dtype)
    for i in range(1, len(predictions)):
        codes |= (predictions[i] ^ predictions[0]).astype(dtype) << dtype.type(i - 1)
    return codes
