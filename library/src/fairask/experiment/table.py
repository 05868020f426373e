"""Labelled tables: rows with features, groups and labels, and their splits into a pool and test rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairask.datasets.dataset import Dataset
from fairask.metrics import Float, Int, Matrix
from fairask.pools.source import open_table, read_rows, table_digest
from fairask.report.words import leaks_sentence
from fairask.tables import TableFormat, TextColumns
from fairask.tables.arrow import Arrow
from fairask.tables.groups import MissingGroups, as_specs
from fairask.tables.labels import prepare
from fairask.tables.leaks import columns_that_tell

#: Share of the rows that may be asked for; the rest are test rows.
TRAIN_SHARE = 0.75

#: Features, labels and groups of the rows that models are tested on.
TestRows = tuple[Matrix, Int, NDArray[np.str_]]


def pool_size(rows: int) -> int:
    """Rows of the pool (the rest are test rows) in a table of ``rows``.

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


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Rows with features, groups and labels 0 or 1, and what to call them.

    Attributes
    ----------
    X, y, groups : ndarray
    title, target, protected : str
        The table, what is predicted, and what the groups are.
    answers : pair of str
        The negative and the positive label, as people say them.
    stratify : bool
        Split each (group, label) stratum alike, for small tables; the paper splits all rows at random.
    by_column : dict of str to ndarray
        Groups by each protected column alone, if there are several.
    notes : list of str
        What was done to the table that its owner should know.
    digest : str
        sha256 of what the table was made from.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> LabelledTable.from_dataset(load("german")).size()
    '1,000 rows, 48 features, 70.0 % positive'
    """

    X: Float
    y: Int
    groups: NDArray[np.str_]
    title: str = "table"
    target: str = ""
    protected: str = ""
    answers: tuple[str, str] = ("no", "yes")
    stratify: bool = False
    by_column: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    digest: str = ""

    @classmethod
    def from_dataset(cls, data: Dataset) -> LabelledTable:
        """Take a dataset of the package."""
        made = cls(data.X, data.y, data.groups, data.name, data.target, data.protected)
        object.__setattr__(made, "digest", made.fingerprint)
        return made

    @classmethod
    def open(
        cls,
        place: str,
        *,
        label: str,
        protected: str | Sequence[str],
        positive: str | Sequence[str] | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        use_protected: bool = False,
        text: TextColumns | None = None,
        missing_groups: MissingGroups | None = None,
        form: TableFormat | None = None,
    ) -> LabelledTable:
        """Read a file, a folder of Parquet files, a URL, or a table of a database by its address.

        A table of more than 65,536 rows in files or in a database is sampled once, uniformly.

        Parameters
        ----------
        place : str
        label, protected, positive, drop, keep, use_protected, text, missing_groups
            As in :func:`fairask.tables.labels.prepare`.
        form : TableFormat, optional
            How the file is written; what is not said is recognised.
        """
        raw, digest, notes = read_place(place, form)
        data = prepare(
            raw,
            label=label,
            protected=protected,
            positive=positive,
            drop=drop,
            keep=keep,
            use_protected=use_protected,
            text=text,
            missing_groups=missing_groups,
        )
        telling = columns_that_tell(data.X, data.y, data.feature_names)
        return cls(
            data.X,
            data.y,
            data.groups,
            title=place.rstrip("/").rpartition("/")[2] or place,
            target=f"{label} = {data.positive}",
            protected=", ".join(as_specs(protected)),
            answers=(data.negative, data.positive),
            stratify=True,
            by_column=data.by_column,
            notes=[*notes, *data.notes, *([leaks_sentence(telling)] if telling else [])],
            digest=digest,
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @cached_property
    def base_rate(self) -> float:
        """Share of positive labels."""
        return float(self.y.mean())

    @cached_property
    def group_shares(self) -> dict[str, float]:
        """Share of each group, in sorted order."""
        names, counts = np.unique(self.groups, return_counts=True)
        return {str(name): float(n) / self.rows for name, n in zip(names, counts, strict=True)}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the encoded rows: results of a table that has changed lie elsewhere."""
        digest = hashlib.sha256()
        for part in (np.ascontiguousarray(self.X, dtype="<f8"), np.ascontiguousarray(self.y, dtype="<i8")):
            digest.update(repr(part.shape).encode() + part.tobytes())
        digest.update("\0".join(map(str, self.groups)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def split(self, seed: int, trial: int) -> Split:
        """Pool and test rows of a trial; they depend on seed and trial alone."""
        strata = np.char.add(self.groups.astype(str), self.y.astype(str)) if self.stratify else None
        return Split(self, *split(self.rows, pool_size(self.rows), [seed, trial], strata))

    def size(self) -> str:
        """Rows, features and base rate in words."""
        return f"{self.rows:,} rows, {self.X.shape[1]:,} features, {100 * self.base_rate:.1f} % positive"

    def describe(self) -> dict[str, str]:
        """The table and its splits in words, for a report."""
        pool = pool_size(self.rows)
        how = "within each group and label" if self.stratify else "at random"
        return {
            "table": self.size(),
            "split": f"{pool:,} rows for the pool, {self.rows - pool:,} for testing, {how}, "
            "anew in every run",
            "sha256 of the data": self.digest,
        }


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of one trial: numbers of the rows to ask for, and of those to test on."""

    table: LabelledTable
    pool: Int
    held_out: Int

    @cached_property
    def test(self) -> TestRows:
        """Features, labels (0 or 1) and groups of the test rows."""
        rows = self.held_out
        return self.table.X[rows], self.table.y[rows], self.table.groups[rows]

    @property
    def test_by_column(self) -> dict[str, NDArray[np.str_]]:
        """Groups of the test rows by each protected column alone, if there are several."""
        return {column: alone[self.held_out] for column, alone in self.table.by_column.items()}

    def labels_of(self, rows: Int) -> Int:
        """Labels of rows of the pool, 0 or 1."""
        return self.table.y[self.pool[rows]]


def read_place(place: str, form: TableFormat | None) -> tuple[Arrow, str, Sequence[str]]:
    """Return the cells of a table, the digest of where they are from, and notes on how they were read.

    Of more rows than a sample has, a uniform sample is read.
    """
    source, notes = open_table(place, form)
    with closing(source):
        drawn, found = read_rows(source, form)
        digest = table_digest(place, source)
    rows = len(drawn.keys)
    sampled = [f"a uniform sample of {rows:,} of {drawn.of:,} rows was read"] if rows < drawn.of else []
    return drawn.table, digest, [*sampled, *notes, *found]
