"""Rows of a trial: those to ask for, and those to test on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fairask.metrics import Float, Int, Matrix
from fairask.pools import Pool

TRAIN_SHARE = 0.75

#: Features, labels and groups of the rows that models are tested on.
TestRows = tuple[Matrix, Int, NDArray[np.str_]]


def pool_size(rows: int) -> int:
    """Rows of the pool (the rest are test rows) in a table of ``rows``.

    Examples
    --------
    >>> pool_size(1000)
    750
    """
    return int(TRAIN_SHARE * rows)


def split(
    rows: int, pool: int, seed: int | list[int], strata: NDArray[np.generic] | None = None
) -> tuple[Int, Int]:
    """Split rows at random into ``pool`` rows to ask for and the rest to test on.

    Parameters
    ----------
    rows, pool : int
    seed : int or list of int
        The split depends on nothing else.
    strata : array of shape (rows,), optional
        Both parts get the same share of each stratum, for small tables.

    Examples
    --------
    >>> pool, test = split(8, 6, seed=0)
    >>> len(pool), sorted([*pool.tolist(), *test.tolist()])
    (6, [0, 1, 2, 3, 4, 5, 6, 7])
    """
    order = np.random.default_rng(seed).permutation(rows)
    if strata is not None:
        _, code = np.unique(strata, return_inverse=True)
        # The rank within the stratum as a share of the stratum: the smallest ranks take all strata alike.
        rank = np.empty(rows)
        for c in range(code.max() + 1):
            members = order[code[order] == c]
            rank[members] = (np.arange(len(members)) + 0.5) / len(members)
        order = order[np.argsort(rank[order], kind="stable")]
    return order[:pool], order[pool:]


class Split(ABC):
    """The rows of one trial.

    Attributes
    ----------
    rows : int
        Rows of the pool.
    test : tuple of ndarray
        Features, labels (0 or 1) and groups of the test rows.
    test_by_column : dict of str to ndarray of str
        Groups of the test rows by each protected column alone, if there are several.
    base_rate : float
        Share of positive labels in the whole table: every split has the same constant answer.
    """

    rows: int
    base_rate: float
    test: TestRows
    test_by_column: dict[str, NDArray[np.str_]]

    @abstractmethod
    def pool(self) -> tuple[Float | Pool, NDArray[np.str_] | None]:
        """What a learner is made of: features and groups, or a pool that knows its groups."""

    @abstractmethod
    def labels_of(self, rows: Int) -> Int:
        """Labels of rows of the pool, 0 or 1."""

    @abstractmethod
    def groups_of(self, rows: Int) -> NDArray[np.str_]:
        """Groups of rows of the pool."""


class MemorySplit(Split):
    """A split of a table in memory.

    Parameters
    ----------
    X, y, groups : ndarray
        The whole table.
    parts : pair of ndarray
        Rows of the pool and rows to test on.
    by_column : mapping of str to ndarray, optional
        Groups by each protected column alone.
    """

    def __init__(
        self,
        X: Float,
        y: Int,
        groups: NDArray[np.str_],
        parts: tuple[Int, Int],
        by_column: Mapping[str, NDArray[np.str_]] | None = None,
    ) -> None:
        self.X, self.y, self.groups, self.parts = X, y, groups, parts
        pool, test = parts
        self.rows, self.test = len(pool), (X[test], y[test], groups[test])
        self.base_rate = float(y.mean())
        self.test_by_column = {column: alone[test] for column, alone in (by_column or {}).items()}

    def pool(self) -> tuple[Float, NDArray[np.str_]]:
        """Features and groups of the pool."""
        return self.X[self.parts[0]], self.groups[self.parts[0]]

    def labels_of(self, rows: Int) -> Int:
        """Labels of rows of the pool."""
        return self.y[self.parts[0][rows]]

    def groups_of(self, rows: Int) -> NDArray[np.str_]:
        """Groups of rows of the pool."""
        return self.groups[self.parts[0][rows]]
