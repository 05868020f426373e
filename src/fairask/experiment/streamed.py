"""A labelled table that is streamed: a round is a pass, and only drawn rows are held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairask.experiment.split import Split
from fairask.experiment.table import LabelledTable, TableColumns
from fairask.metrics import Int
from fairask.pools import Encoder, Pool, StreamedPool
from fairask.pools.groups import GroupColumns
from fairask.pools.open import Look
from fairask.pools.runners import ProgressCallback, Threads
from fairask.pools.sources.parquet import ParquetFiles
from fairask.pools.survey import is_number, is_text
from fairask.tables import TableProblem
from fairask.tables.columns import texts
from fairask.tables.prepare import SMALLEST_CELL, _check_groups, _columns_hint, _positive

__all__ = ["STREAMED", "StreamedTable"]

#: Strategies that never need all rows at once.
STREAMED = ("fare", "passive", "group_balanced", "uncertainty")
#: Most rows that accuracy and violation are measured on; more would not change their third digit.
MOST_TEST = 20_000


class StreamedTable(LabelledTable):
    """A labelled table in Parquet files, read block by block.

    Parameters
    ----------
    pool : StreamedPool
        All rows of the table.
    label, positive : str
        The column of labels, and the value that counts as 1.
    base_rate, notes, digest
        As in :class:`LabelledTable`.
    """

    parallel = False

    def __init__(
        self,
        pool: StreamedPool,
        label: str,
        positive: str,
        base_rate: float,
        notes: Sequence[str],
        digest: str,
    ) -> None:
        self.pool, self.label, self.positive = pool, label, positive
        self.base_rate, self.notes, self.digest = base_rate, notes, digest
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
        return np.array([value == self.positive for value in found], dtype=np.int64)

    def groups_of(self, rows: Int) -> NDArray[np.str_]:
        """Groups, as text."""
        names = np.array([str(value) for value in self.pool.group_values])
        return np.asarray(names[self.pool.groups_of(rows)])

    def split(self, seed: int, trial: int) -> StreamedSplit:
        """Draw the test rows; all others may be asked for."""
        rng = np.random.default_rng([seed, trial])
        return StreamedSplit(self, np.sort(rng.choice(self.rows, self.test_rows, replace=False)))

    def describe(self) -> dict[str, str]:
        """The table and its splits in words."""
        return {
            "table": f"{self.size()}, streamed",
            "split": f"{self.test_rows:,} rows for testing, drawn anew in every run; the rest to ask for",
            "sha256 of the row groups": self.digest,
        }

    @classmethod
    def open(
        cls, files: ParquetFiles, columns: TableColumns, progress: ProgressCallback | None = None
    ) -> StreamedTable:
        """Look through a table once: its features, groups and labels."""
        label, protected = columns.label, columns.protected
        names = list(files.schema.names)
        drop = [d for given in columns.drop for d in ([given] if given in names else given.split(","))]
        for option, name in (("label", label), ("protected", protected), *(("drop", d) for d in drop)):
            if name not in names:
                raise TableProblem(f"--{option}: no column {name!r}", _columns_hint(name, names))
        if label == protected:
            raise TableProblem(f"--label and --protected are both {label!r}", "Name two different columns")
        left_out = {label, *drop, *(() if columns.use_protected else (protected,))}
        features = [name for name in names if name not in left_out]
        for name in features:
            kind = files.schema.field(name).type
            if not (is_number(kind) or is_text(kind)):
                raise TableProblem(f"column {name!r} has type {kind}", f"Leave it out: --drop {name}")
        runner = Threads()
        try:
            found, sizes = Look(runner, files, progress).all(features, [protected, label])
        except ValueError as error:
            words = str(error).replace("protected column", "column")
            raise TableProblem(words, "Leave it out with --drop, or mend the table") from error
        shares: Counter[Hashable] = Counter()
        for (group, _), rows in found.groups.items():
            shares[group] += rows
        _check_groups(protected, {str(group) for group in shares})
        notes: list[str] = []
        value = {answer: _text(answer) for _, answer in found.groups}
        chosen = _positive(label, list(value.values()), columns.positive, notes)
        counts: Counter[tuple[Hashable, bool]] = Counter()
        for (group, answer), rows in found.groups.items():
            counts[group, value[answer] == chosen] += rows
        for group in shares:
            for one in (True, False):
                if counts[group, one] < SMALLEST_CELL:
                    what = f"label {chosen!r}" if one else f"a label other than {chosen!r}"
                    raise TableProblem(
                        f"group {str(group)!r} of {protected!r} has {counts[group, one]} rows with {what}",
                        f"{SMALLEST_CELL} or more are needed, to train and to test: merge groups or add rows",
                    )
        encoder = Encoder.fit(found, features, f"all {found.n_rows:,} rows")
        pool = StreamedPool(files, sizes, runner, encoder, GroupColumns.of([protected], shares), progress)
        notes.append("the table was streamed: missing numbers are means, missing texts have no level")
        positives = sum(rows for (_, one), rows in counts.items() if one)
        table = cls(pool, label, chosen, positives / pool.n_rows, notes, files.digest)
        ordered = sorted(shares.items(), key=lambda item: str(item[0]))
        table.group_shares = {str(group): rows / pool.n_rows for group, rows in ordered}
        return table


class StreamedSplit(Split):
    """A split of a streamed table: the rows that are not ``tested`` can be asked for."""

    def __init__(self, table: StreamedTable, tested: Int) -> None:
        self.table, self.tested = table, tested
        self.rows = table.rows - len(tested)
        self.test = (table.pool.take(tested), table.labels_of(tested), table.groups_of(tested))

    def pool(self) -> tuple[Pool, None]:
        """The table's pool without the test rows."""
        return self.table.pool.excluding(self.tested), None

    def labels_of(self, rows: Int) -> Int:
        """Labels of rows of the table."""
        return self.table.labels_of(rows)

    def groups_of(self, rows: Int) -> NDArray[np.str_]:
        """Groups of rows of the table."""
        return self.table.groups_of(rows)


def _text(value: Hashable) -> str:
    import pyarrow as pa

    (text,) = texts(pa.chunked_array([[value]]))
    return str(text)
