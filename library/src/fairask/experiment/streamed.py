"""A labelled table that is streamed: a round is a pass, and only drawn rows are held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairask.experiment.split import Split
from fairask.experiment.story import columns_sentence
from fairask.experiment.table import LabelledTable, TableColumns
from fairask.metrics import Int
from fairask.pools import Pool, StreamedPool
from fairask.pools.open import Look
from fairask.pools.runners import ProgressCallback, Threads
from fairask.pools.sources.base import AnyTable
from fairask.pools.sources.complete import CompleteTable
from fairask.pools.sources.place import PlacedTable
from fairask.tables.cells import texts
from fairask.tables.groups import as_specs, groups_by_column, protected_columns
from fairask.tables.labels import LabelFacts, check_labels, feature_columns
from fairask.tables.leaks import columns_that_tell

#: Most rows that accuracy and violation are measured on; more would not change their third digit.
MOST_TEST = 20_000


class StreamedTable(LabelledTable):
    """A labelled table in Parquet files, read block by block.

    Parameters
    ----------
    pool : StreamedPool
        All rows of the table.
    label : str
        The column of labels.
    facts : LabelFacts
        What was found of the labels.
    notes, digest
        As in :class:`LabelledTable`.
    """

    parallel = False

    def __init__(
        self,
        pool: StreamedPool,
        label: str,
        facts: LabelFacts,
        notes: Sequence[str],
        digest: str,
    ) -> None:
        self.pool, self.label, self.positives = pool, label, facts.positives_named
        self.positive, self.negative = facts.positive, facts.negative
        self.base_rate, self.notes, self.digest = facts.positives / pool.n_rows, notes, digest
        self.rows, self.n_features = pool.n_rows, len(pool.feature_names)
        self.group_shares: dict[str, float] = {}

    @property
    def test_rows(self) -> int:
        """Rows kept for testing in every run."""
        return min(self.rows // 4, MOST_TEST)

    def report_passes(self, progress: ProgressCallback | None) -> None:
        """Call ``progress`` during passes."""
        self.pool.progress = progress

    def labels_of(self, rows: Int) -> Int:
        """1 where the label is positive."""
        found = texts(self.pool.table(rows, [self.label]).column(self.label))
        return np.array([value in self.positives for value in found], dtype=np.int64)

    def groups_of(self, rows: Int) -> NDArray[np.str_]:
        """Groups, as text."""
        return np.array(self.pool.protected.names)[self.pool.groups_of(rows)]

    def split(self, seed: int, trial: int) -> StreamedSplit:
        """Draw the test rows; all others may be asked for."""
        rng = np.random.default_rng([seed, trial])
        made = StreamedSplit(self, np.sort(rng.choice(self.rows, self.test_rows, replace=False)))
        if trial == 0 and (telling := columns_that_tell(*made.test[:2], self.pool.feature_names)):
            self.notes = [*self.notes, columns_sentence(telling)]
        return made

    def describe(self) -> dict[str, str]:
        """The table and its splits in words."""
        return {
            "table": f"{self.size()}, streamed",
            "split": f"{self.test_rows:,} rows for testing, drawn anew in every run; the rest to ask for",
            "sha256 of the row groups": self.digest,
        }

    @classmethod
    def open(
        cls, files: PlacedTable, columns: TableColumns, progress: ProgressCallback | None = None
    ) -> StreamedTable:
        """Look through a table once: its features, groups and labels."""
        label, protected = columns.label, as_specs(columns.protected)
        names = files.schema.names
        features = feature_columns(names, label, protected, columns.drop, use_protected=columns.use_protected)
        runner = Threads()
        rows: AnyTable = files
        found, sizes = Look(runner, rows, progress).all(features, [*protected, label])
        facts = check_labels(label, protected, found.groups, columns.positive)
        if facts.missing:
            rows = CompleteTable(files, label)
            found, sizes = Look(runner, rows, progress).all(features, list(protected))
        encoder = found.encoder(features, f"all {found.n_rows:,} rows", text=columns.text)
        groups = facts.columns
        pool = StreamedPool(rows, sizes, runner, encoder, groups, progress)
        notes = [*facts.notes, *encoder.notes(), "the table was streamed"]
        table = cls(pool, label, facts, notes, files.digest)
        counts = dict(zip(groups.names, (facts.groups[value] for value in groups.values), strict=True))
        table.group_shares = {name: counts[name] / pool.n_rows for name in sorted(counts)}
        return table


class StreamedSplit(Split):
    """A split of a streamed table: the rows that are not ``tested`` can be asked for."""

    def __init__(self, table: StreamedTable, tested: Int) -> None:
        self.table, self.tested = table, tested
        self.rows, self.base_rate = table.rows - len(tested), table.base_rate
        self.test = (table.pool.take(tested), table.labels_of(tested), table.groups_of(tested))
        specs = table.pool.protected.columns
        names = protected_columns(specs, table.pool.column_names)
        several = len(specs) > 1
        self.test_by_column = groups_by_column(table.pool.table(tested, names), specs) if several else {}

    def pool(self) -> tuple[Pool, None]:
        """The table's pool without the test rows."""
        return self.table.pool.excluding(self.tested), None

    def labels_of(self, rows: Int) -> Int:
        """Labels of rows of the table."""
        return self.table.labels_of(rows)

    def groups_of(self, rows: Int) -> NDArray[np.str_]:
        """Groups of rows of the table."""
        return self.table.groups_of(rows)
