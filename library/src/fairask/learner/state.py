"""What a learner has done so far: the log of draws and answers, and the history of its models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairask.learner.card import query_card
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
        return query_card(self)


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


@dataclass
class DrawLog:
    """What was asked, in which order, with which probability, and what was answered."""

    n_pool: int
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

    def label(self, rows: Sequence[int], labels: Sequence[int]) -> set[int]:
        """Label rows that were asked for; return their batches. All or none are labelled."""
        entries = [self._in_state(row, ASKED) for row in rows]
        for entry, label in zip(entries, labels, strict=True):
            entry.state, entry.label = LABELLED, label
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
        self._in_state(row, LABELLED).label = label
        self.version += 1

    def _in_state(self, row: int, state: str) -> DrawnRow:
        if row not in self.position:
            known = 0 <= row < self.n_pool
            raise ValueError(f"row {row} was never asked for" if known else f"no row {row}")
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
            DrawnRow(e.index, e.batch, e.propensity, e.component, e.pool_size, e.state, e.label)
            for e in self.log.entries
        ]
        log = replace(self.log, entries=entries, position={**self.log.position})
        return LearnerState(log, self.batches, [dict(row) for row in self.history])


class LearnerRecord:
    """What a learner has done so far, as arrays; the part of it that only reads."""

    state: LearnerState
    classes: tuple[object, object]
    risk_weights: str
    fairness_weights: str

    @property
    def history_(self) -> dict[str, NDArray[Any]]:
        """One entry for each answered batch, by column; any data-frame library reads it."""
        history = self.state.history
        return {name: np.array([row[name] for row in history]) for name in (history[0] if history else ())}

    @property
    def labelled_indices_(self) -> Int:
        """Labelled rows in draw order; the arrays below are aligned with it."""
        return self.state.log.arrays()[0]

    @property
    def labels_(self) -> NDArray[Any]:
        """Labels, as values of ``classes``."""
        return np.asarray(np.array(self.classes)[self.state.log.arrays()[1].astype(int)])

    @property
    def propensities_(self) -> Float:
        """Probability of each labelled row when it was drawn."""
        return self.state.log.arrays()[2]

    @property
    def components_(self) -> list[str]:
        """Component that drew each labelled row."""
        return [entry.component for entry in self.state.log.labelled()]

    @property
    def risk_weights_(self) -> Float:
        """Importance weights in the error."""
        return self.state.log.weights(self.risk_weights)

    @property
    def fairness_weights_(self) -> Float:
        """Importance weights in the rates."""
        return self.state.log.weights(self.fairness_weights)

    @property
    def pending_indices_(self) -> Int:
        """Rows asked for and not answered yet."""
        return np.array(self.state.log.open_rows(), dtype=np.int64)
