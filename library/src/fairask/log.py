"""What was asked and answered: queries, the log of drawn rows, and the history of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from fairask.cards import card
from fairask.metrics import Float, Int
from fairask.sampling import Draws, importance_weights

ASKED, LABELLED, SKIPPED = "asked", "labelled", "skipped"

#: One entry of a history: numbers by column.
HistoryRow: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Query:
    """Rows to label: ``indices`` into the pool, with the probability and component of each draw."""

    batch_id: int
    indices: Int
    propensities: Float
    components: list[str]

    def __len__(self) -> int:
        return len(self.indices)

    def _repr_html_(self) -> str:
        shown = ", ".join(str(row) for row in self.indices[:12]) + (", ..." if len(self) > 12 else "")
        known = self.propensities[~np.isnan(self.propensities)]
        facts = {"rows": shown}
        if len(known):
            facts["probability of each draw"] = f"{known.min():.2g} to {known.max():.2g}"
        drawn = Counter(self.components).most_common()
        facts["rows by component"] = ", ".join(f"{name} {count:,}" for name, count in drawn)
        return card(f"Batch {self.batch_id}", f"{len(self):,} rows to label", facts)


@dataclass(slots=True)
class DrawnRow:
    """One drawn row. Everything but ``state`` and ``label`` is fixed at the draw."""

    index: int
    batch: int
    propensity: float
    component: str
    pool_size: int
    state: str = ASKED
    label: int | None = None
    confidence: float = 1.0  #: the probability that the label is right; it weighs the row in fits


@dataclass
class DrawLog:
    """What was asked, in which order, with which probability, and what was answered."""

    n_pool: int  #: rows that could be asked for before the first draw
    entries: list[DrawnRow] = field(default_factory=list)
    position: dict[int, int] = field(default_factory=dict)
    version: int = 0  #: grows with every change of the labels

    def add(self, draws: Draws, batch: int) -> None:
        """Record a batch of drawn rows."""
        columns = (draws.indices, draws.propensities, draws.components, draws.pool_sizes)
        for i, q, c, n in zip(*columns, strict=True):
            self._append(DrawnRow(int(i), batch, float(q), c, int(n)))

    def _append(self, entry: DrawnRow) -> None:
        self.position[entry.index] = len(self.entries)
        self.entries.append(entry)

    def rows(self) -> Int:
        """All drawn rows, in draw order."""
        return np.fromiter(self.position, dtype=np.int64, count=len(self.position))

    def labelled(self) -> list[DrawnRow]:
        """Labelled entries, in draw order."""
        return [e for e in self.entries if e.state == LABELLED]

    def open_rows(self, batch: int | None = None) -> list[int]:
        """Rows asked for and not answered yet."""
        return [e.index for e in self.entries if e.state == ASKED and batch in (None, e.batch)]

    def label(
        self, rows: Sequence[int], labels: Sequence[int], confidence: Sequence[float] | None = None
    ) -> set[int]:
        """Label rows that were asked for; return their batches. All or none are labelled."""
        entries, sure = [self._in_state(row, ASKED) for row in rows], confidence or [1.0] * len(rows)
        for entry, label, chance in zip(entries, labels, sure, strict=True):
            entry.state, entry.label, entry.confidence = LABELLED, label, chance
        self.version += 1
        return {entry.batch for entry in entries}

    def skip(self, rows: Sequence[int]) -> set[int]:
        """Skip rows that were asked for; return their batches. All or none are skipped."""
        entries = [self._in_state(row, ASKED) for row in rows]
        for entry in entries:
            entry.state = SKIPPED
        return {entry.batch for entry in entries}

    def correct(self, row: int, label: int) -> None:
        """Replace the label of a labelled row."""
        entry = self._in_state(row, LABELLED)
        entry.label, entry.confidence = label, 1.0
        self.version += 1

    def _in_state(self, row: int, state: str) -> DrawnRow:
        if row not in self.position:
            raise ValueError(f"row {row} was never asked for")
        entry = self.entries[self.position[row]]
        if entry.state != state:
            hint = "; use correct() to change its label" if entry.state == LABELLED else ""
            raise ValueError(f"row {row} is {entry.state}, not {state}{hint}")
        return entry

    def arrays(self) -> tuple[Int, Float, Float, Int]:
        """Indices, labels, propensities and pool sizes of the labelled rows."""
        rows = self.labelled()
        return (
            np.array([e.index for e in rows], dtype=np.int64),
            np.array([e.label for e in rows], dtype=np.float64),
            np.array([e.propensity for e in rows], dtype=np.float64),
            np.array([e.pool_size for e in rows], dtype=np.int64),
        )

    def weights(self, kind: str) -> Float:
        """Importance weights of the labelled rows; skipped rows count as outside the pool."""
        _, _, propensities, sizes = self.arrays()
        skipped = sum(e.state == SKIPPED for e in self.entries)
        return importance_weights(kind, propensities, sizes, self.n_pool - skipped)

    def confidence(self) -> Float:
        """The probability that each label is right, as it was told."""
        return np.array([e.confidence for e in self.labelled()], dtype=np.float64)

    def to_list(self) -> list[dict[str, Any]]:
        """Plain values for JSON; a missing propensity is null."""
        rows = [asdict(e) for e in self.entries]
        for row in rows:
            row["propensity"] = None if np.isnan(row["propensity"]) else row["propensity"]
        return rows

    @classmethod
    def from_list(cls, n_pool: int, rows: Iterable[dict[str, Any]]) -> DrawLog:
        """Rebuild from :meth:`to_list`."""
        log = cls(n_pool, version=1)
        for row in rows:
            q = row["propensity"]
            log._append(DrawnRow(**{**row, "propensity": np.nan if q is None else q}))
        return log


@dataclass
class LearnerState:
    """All that a learner remembers. Its settings and its pool are fixed; models follow from the state.

    Attributes
    ----------
    log : DrawLog
    batches : int
        Batches asked for.
    history : list of dict
        One entry for each answered batch.

    Examples
    --------
    >>> from fairask import FairActiveLearner
    >>> learner = FairActiveLearner(np.eye(4), [0, 1, 0, 1], random_state=0)
    >>> before, query = learner.state.copy(), learner.ask(2)
    >>> learner.with_state(before).ask(2).indices.tolist() == query.indices.tolist()
    True
    """

    log: DrawLog
    batches: int = 0
    history: list[HistoryRow] = field(default_factory=list)

    def copy(self) -> LearnerState:
        """Return a state that shares nothing with this one."""
        # Written out: dataclasses.replace takes ten times as long, and logs have 100,000 rows.
        entries = [
            DrawnRow(e.index, e.batch, e.propensity, e.component, e.pool_size, e.state, e.label, e.confidence)
            for e in self.log.entries
        ]
        log = replace(self.log, entries=entries, position={**self.log.position})
        return LearnerState(log, self.batches, [dict(row) for row in self.history])
