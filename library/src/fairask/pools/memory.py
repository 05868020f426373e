"""The pool: rows in memory, some of which may still be asked for, and their cells of exchangeable rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from fairask.classifiers import Classifier
from fairask.matrix import row_set, sparse_bytes, take_rows, tie_breakers, uniforms
from fairask.metrics import Bool, Float, Int, Matrix
from fairask.rules import Rule, RuleMixture, as_rule, decide
from fairask.tables.frames import FrameColumns

#: A code has one bit per rule but the first.
MOST_RULES = 64
#: Rows predicted at a time: their features and predictions fit in the cache.
_SLICE = 1 << 14


#: What can decide: a rule, a fair oracle (a mixture of rules), or a classifier of 0 and 1.
Model: TypeAlias = Rule | RuleMixture | Classifier


def is_randomised(model: Model) -> bool:
    """Whether the model may decide a row either way.

    >>> from fairask.rules import ConstantRule
    >>> is_randomised(ConstantRule(True))
    False
    """
    return isinstance(model, RuleMixture) and len(model.used_members()[0]) > 1


@dataclass(frozen=True)
class Cells:
    """Available rows sorted into cells of exchangeable rows, in the order of group, then pattern.

    Attributes
    ----------
    counts, groups : ndarray of shape (cells,)
        Rows in each cell, and the code of their group.
    patterns : bool ndarray of shape (k, cells)
        Predictions of the k classifiers in each cell, up to complement.
    rows, cell : ndarray of shape (rows,)
        Numbers of the available rows, ascending, and the cell of each.
    """

    counts: Int
    groups: Int
    patterns: Bool
    rows: Int
    cell: Int

    @classmethod
    def of(cls, rows: Int, groups: Int, codes: NDArray[np.unsignedinteger], k: int) -> Cells:
        """Sort rows by group and code."""
        values, dense = np.unique(codes, return_inverse=True)
        keys, cell, counts = np.unique(
            groups.astype(np.int64) * max(len(values), 1) + dense, return_inverse=True, return_counts=True
        )
        group, code = np.divmod(keys, max(len(values), 1))
        bits = [(values[code] >> np.uint64(i)) & np.uint64(1) for i in range(k - 1)]
        patterns = np.array([np.zeros(len(keys), dtype=np.uint64), *bits]).astype(bool)
        return cls(counts, group, patterns, rows, cell)

    @classmethod
    def one_per_row(cls, rows: Int, groups: Int) -> Cells:
        """One cell per row, for methods that score every row by itself."""
        n = len(rows)
        return cls(np.ones(n, dtype=np.int64), groups, np.zeros((0, n), dtype=bool), rows, np.arange(n))

    def locate(self, cells: ArrayLike, ranks: ArrayLike) -> Int:
        """Row numbers of the ``ranks``-th rows of ``cells``; ranks count in row order from 0.

        >>> cells = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group()
        >>> cells.locate(np.array([0, 1]), np.array([1, 0])).tolist()
        [2, 1]
        """
        which, rank = np.asarray(cells, dtype=np.int64), np.asarray(ranks, dtype=np.int64)
        if len(which) and ((rank < 0) | (rank >= self.counts[which])).any():
            raise ValueError("ranks must be from 0 to the cell's count, less one")
        order = np.argsort(self.cell, kind="stable")
        starts = np.cumsum(self.counts) - self.counts
        return np.asarray(self.rows[order[starts[which] + rank]])


class Pool:
    """Unlabelled rows in memory, some of which may still be asked for.

    Rows are numbered 0 to ``n_rows - 1``. A pool never changes: :meth:`excluding` returns another pool over
    the same rows. :func:`open_pool` makes one of a table that is too large to hold.

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
    keys : int array of shape (rows,), optional
        The number or key of each row in the table that the pool was made of.
    of : int, optional
        Rows of that table.
    columns : FrameColumns, optional
        How the table's columns became features and groups.

    Attributes
    ----------
    n_rows, n_groups, of : int
    excluded : ndarray
        Rows that may not be asked for, sorted.

    Examples
    --------
    >>> pool = Pool(np.zeros((4, 1)), np.array([0, 1, 0, 0]), 2, group_values=["f", "m"]).excluding([0])
    >>> len(pool), pool.by_group().counts.tolist()
    (3, [2, 1])
    """

    def __init__(
        self,
        X: Matrix,
        groups: Int,
        n_groups: int,
        available: Bool | None = None,
        *,
        group_values: Sequence[object] | None = None,
        keys: Int | None = None,
        of: int | None = None,
        columns: FrameColumns | None = None,
    ) -> None:
        self.X, self.groups = X, groups
        self.n_rows, self.n_groups = len(groups), n_groups
        self.group_values = list(range(n_groups) if group_values is None else group_values)
        self.excluded: Int = np.zeros(0, dtype=np.int64)
        if available is not None:
            self.excluded = np.flatnonzero(~np.asarray(available))
        self.keys, self.of, self.columns = keys, len(groups) if of is None else of, columns

    def __len__(self) -> int:
        """Rows that may still be asked for."""
        return self.n_rows - len(self.excluded)

    def __repr__(self) -> str:
        sampled = f", a uniform sample of {self.of:,}" if self.of > self.n_rows else ""
        return f"<Pool {self.n_rows:,} rows{sampled}, {self.n_groups} groups>"

    @property
    def rows(self) -> Int:
        """Numbers of the available rows."""
        left = np.ones(self.n_rows, dtype=bool)
        left[self.excluded] = False
        return np.flatnonzero(left)

    def take(self, rows: Int) -> Matrix:
        """Features of these rows, in this order."""
        return take_rows(self.X, rows)

    def groups_of(self, rows: Int) -> Int:
        """Group codes of these rows."""
        return np.asarray(self.groups[rows], dtype=np.int64)

    def excluding(self, rows: ArrayLike) -> Self:
        """The same pool without these rows (and without those it had excluded); nothing is copied.

        Examples
        --------
        >>> Pool(np.zeros((4, 1)), np.zeros(4, int), 1).excluding([1, 2]).rows.tolist()
        [0, 3]
        """
        other = copy(self)
        other.excluded = np.union1d(self.excluded, row_set(rows, self.n_rows))
        return other

    def fingerprint(self) -> str:
        """A text that changes when the rows do: digest of shape and values."""
        if issparse(self.X):
            shape, content = self.X.shape, memoryview(sparse_bytes(self.X))
        else:
            array = np.asarray(self.X)
            # hashlib reads an array in place; objects have no bytes of their own.
            plain = array.dtype != object
            shape = array.shape
            content = np.ascontiguousarray(array).data if plain else memoryview(repr(array.tolist()).encode())
        digest = hashlib.sha256(repr((shape, self.n_groups)).encode())
        for part in (content, np.ascontiguousarray(self.groups, dtype=np.int64).data):
            digest.update(part)
        return digest.hexdigest()

    # -- cells ----------------------------------------------------------------------------------

    def everything(self) -> Cells:
        """All available rows as one cell."""
        rows, zero = self.rows, np.zeros(1, dtype=np.int64)
        return Cells(
            np.array([len(rows)]), zero, np.zeros((0, 1), bool), rows, np.zeros(len(rows), dtype=np.int64)
        )

    def by_group(self) -> Cells:
        """One cell per group."""
        return self._cells(np.zeros(self.n_rows, dtype=np.uint64), 1)

    def by_prediction(self, rules: Sequence[Rule]) -> Cells:
        """One cell per group and pattern of the rules' predictions, up to complement.

        Examples
        --------
        >>> from fairask.rules import LinearRule
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> rules = [LinearRule(np.array([1.0, 0.0])), LinearRule(np.array([1.0, -1.0]))]
        >>> cells = pool.by_prediction(rules)
        >>> cells.counts.tolist(), cells.patterns.tolist()
        ([1, 1, 1], [[False, False, False], [False, True, False]])
        """
        if not 2 <= len(rules) <= MOST_RULES:
            raise ValueError(f"2 to {MOST_RULES} classifiers are compared, got {len(rules)}")
        plain = [rule.cheapest() for rule in rules]
        codes = np.zeros(self.n_rows, dtype=np.uint64)
        for at in self._slices():
            decided = decide(plain, take_rows(self.X, at), self.groups[at])
            # Bit i - 1 says whether rule i differs from rule 0, so that complements share a code.
            for i in range(1, len(plain)):
                codes[at] |= (decided[i] ^ decided[0]).astype(np.uint64) << np.uint64(i - 1)
        return self._cells(codes, len(rules))

    def by_decision(self, model: Model, seed: int = 0) -> Cells:
        """One cell per group and decision of one model: what an audit draws from.

        Parameters
        ----------
        model : Rule, fair oracle or classifier of 0 and 1
            Its decision must depend on the features (and the group) of the row alone.
        seed : int
            The decisions of a randomised model are drawn once, by this seed and the row's number.

        Examples
        --------
        >>> from fairask.rules import LinearRule
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> cells = pool.by_decision(LinearRule(np.array([1.0, 0.0])))
        >>> cells.groups.tolist(), cells.patterns.tolist(), cells.counts.tolist()
        ([0, 0, 1], [[False, True, True]], [1, 1, 1])
        """
        chance = np.zeros(self.n_rows)
        if isinstance(model, RuleMixture):
            members, weights = model.used_members()
        else:
            members, weights = [as_rule(model)], [1.0]
        plain = [rule.cheapest() for rule in members]
        for at in self._slices():
            decided = decide(plain, take_rows(self.X, at), self.groups[at])
            for weight, one in zip(weights, decided, strict=True):
                chance[at] += weight * one
            chance[at][decided.all(axis=0)] = 1.0  # the weights may add up to a little less
        drawn = uniforms(np.arange(self.n_rows), seed) < chance
        cells = self._cells(drawn.astype(np.uint64), 2)
        return Cells(cells.counts, cells.groups, cells.patterns[1:], cells.rows, cells.cell)

    def lowest(self, score: Callable[[Matrix, Int], Float], n: int, seed: int) -> Int:
        """The n available rows with the lowest ``score(X, groups)``, lowest first.

        Ties are broken by row number and seed.

        Examples
        --------
        >>> pool = Pool(np.array([[3.0], [1.0], [2.0]]), np.zeros(3, int), 1)
        >>> pool.lowest(lambda X, groups: X[:, 0], 2, seed=0).tolist()
        [1, 2]
        """
        if not 1 <= n <= len(self):
            raise ValueError(f"n={n} rows were asked for, but the pool has {len(self)} left")
        value = np.concatenate([score(take_rows(self.X, at), self.groups[at]) for at in self._slices()])
        rows = self.rows
        return np.asarray(rows[np.lexsort((tie_breakers(rows, seed), value[rows]))[:n]])

    def _slices(self) -> list[slice]:
        return [slice(start, min(start + _SLICE, self.n_rows)) for start in range(0, self.n_rows, _SLICE)]

    def _cells(self, codes: NDArray[np.uint64], k: int) -> Cells:
        if not self.n_rows:
            raise ValueError("the pool has no rows")
        rows = self.rows
        return Cells.of(rows, self.groups[rows], codes[rows], k)
