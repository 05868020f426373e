"""Labelled tables: what a comparison needs of one, wherever its rows are."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairask.datasets import Dataset
from fairask.experiment.split import MemorySplit, Split, pool_size, split
from fairask.metrics import Float, Int
from fairask.pools.runners import ProgressCallback
from fairask.tables import TextColumns


@dataclass(frozen=True)
class TableColumns:
    """Which columns of a file are what: arguments of :func:`fairask.tables.prepare`."""

    label: str
    protected: str | Sequence[str]
    positive: str | Sequence[str] | None = None
    drop: Sequence[str] = ()
    use_protected: bool = False
    text: TextColumns | None = None


class LabelledTable(ABC):
    """Rows with features, groups and labels 0 or 1.

    Attributes
    ----------
    rows, n_features : int
    base_rate : float
        Share of positive labels.
    group_shares : dict of str to float
        Share of each group, in sorted order.
    positive, negative : str
        The label that counts as 1, and the other, in words.
    notes : sequence of str
        What was done to the table that its owner should know.
    digest : str
        sha256 of what the table was made from.
    parallel : bool
        Whether trials run side by side. Passes over a streamed table use all cores by themselves.
    """

    rows: int
    n_features: int
    base_rate: float
    group_shares: dict[str, float]
    positive: str
    negative: str
    notes: Sequence[str]
    digest: str
    parallel: bool

    @abstractmethod
    def split(self, seed: int, trial: int) -> Split:
        """Pool and test rows of a trial; they depend on seed and trial alone."""

    def report_passes(self, progress: ProgressCallback | None) -> None:
        """Call ``progress`` during passes; a table in memory has none."""
        return

    def size(self) -> str:
        """Rows, features and base rate in words."""
        return f"{self.rows:,} rows, {self.n_features:,} features, {100 * self.base_rate:.1f} % positive"

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """The table and its splits in words, for a report."""


class MemoryTable(LabelledTable):
    """A table in memory.

    Parameters
    ----------
    X, y, groups : ndarray
    stratify : bool
        Split each (group, label) stratum alike, for small tables; the paper splits all rows at random.
    labels : pair of str
        The negative and the positive label in words.
    notes, digest
        As in :class:`LabelledTable`.
    by_column : mapping of str to ndarray, optional
        Groups by each protected column alone, if there are several.
    """

    parallel = True

    def __init__(
        self,
        X: Float,
        y: Int,
        groups: NDArray[np.str_],
        *,
        stratify: bool = False,
        labels: tuple[str, str] = ("no", "yes"),
        notes: Sequence[str] = (),
        digest: str = "",
        by_column: Mapping[str, NDArray[np.str_]] | None = None,
    ) -> None:
        self.by_column = by_column
        self.X, self.y, self.groups, self.stratify = X, y, groups, stratify
        self.negative, self.positive = labels
        self.notes, self.digest = notes, digest
        self.rows, self.n_features = X.shape
        self.base_rate = float(y.mean())
        names, counts = np.unique(groups, return_counts=True)
        self.group_shares = {str(g): float(n) / len(y) for g, n in zip(names, counts, strict=True)}

    @classmethod
    def from_dataset(cls, data: Dataset) -> MemoryTable:
        """Take a dataset of the package.

        Examples
        --------
        >>> from fairask.datasets import load
        >>> MemoryTable.from_dataset(load("german")).rows
        1000
        """
        return cls(data.X, data.y, data.groups, digest=_digest(data.X, data.y, data.groups))

    def split(self, seed: int, trial: int) -> MemorySplit:
        """Pool and test rows of a trial."""
        strata = np.char.add(self.groups.astype(str), self.y.astype(str)) if self.stratify else None
        parts = split(self.rows, pool_size(self.rows), [seed, trial], strata)
        return MemorySplit(self.X, self.y, self.groups, parts, self.by_column)

    def describe(self) -> dict[str, str]:
        """The table and its splits in words."""
        pool = pool_size(self.rows)
        how = "within each group and label" if self.stratify else "at random"
        return {
            "table": self.size(),
            "split": f"{pool:,} rows for the pool, {self.rows - pool:,} for testing, {how}, "
            "anew in every run",
            "sha256 of the data": self.digest,
        }


def _digest(X: Float, y: Int, groups: Sequence[str] | NDArray[np.str_]) -> str:
    """Return the sha256 of an encoded table.

    Examples
    --------
    >>> X, y = np.zeros((2, 1)), np.array([0, 1])
    >>> _digest(X, y, ["a", "b"]) == _digest(X, y, ["a", "c"])
    False
    """
    digest = hashlib.sha256()
    for part in (np.ascontiguousarray(X, dtype="<f8"), np.ascontiguousarray(y, dtype="<i8")):
        digest.update(repr(part.shape).encode() + part.tobytes())
    digest.update("\0".join(map(str, groups)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
