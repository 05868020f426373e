"""What an audit asked for and what it was told: rows taken from the strata's queues, look by look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairask.audit.layout import Counts
from fairask.audit.schedule import Schedule
from fairask.audit.strata import Strata
from fairask.metrics import Float, Int

#: Code of a row that cannot be labelled.
SKIPPED = -1


@dataclass(frozen=True)
class AuditQuery:
    """Rows to label before the next look.

    Attributes
    ----------
    look : int
        The look these rows lead to, from 1.
    indices : ndarray
        Row numbers in the pool, ascending (nothing in their order hints at a prediction).
    propensities : ndarray
        Probability of each row at its draw: the share of its stratum in the look's labels over the rows left
        in the stratum.
    """

    look: int
    indices: Int
    propensities: Float


class AuditDraws:
    """The rows an audit drew, with their labels.

    Attributes
    ----------
    asked : list of (int, list of int)
        Draws in order: the look they were made for, from 1, and the rows.
    answers : dict
        Label (0 or 1) of each row told; ``SKIPPED`` for a row that cannot be labelled.
    waiting : dict
        Rows without an answer, with their propensities.
    looked_at : dict
        What was told at first of rows that were changed after a look had used them.
    looks : int
        Looks opened so far.
    """

    def __init__(self, strata: Strata) -> None:
        self.strata = strata
        self.asked: list[tuple[int, list[int]]] = []
        self.answers: dict[int, int] = {}
        self.waiting: dict[int, float] = {}
        self.looked_at: dict[int, int] = {}
        self.looks = 0
        self._left = np.array([len(queue) for queue in strata.queues], dtype=np.int64)
        self._taken, self._skipped, self._goal = (np.zeros_like(self._left) for _ in range(3))
        self._chance = np.zeros(len(self._left))

    @property
    def skipped(self) -> int:
        """Rows that could not be labelled, those known before the audit included."""
        return int(self._skipped.sum() + self.strata.known[2].sum())

    @property
    def asked_skipped(self) -> int:
        """Rows that the audit asked for and that could not be labelled."""
        return int(self._skipped.sum())

    @property
    def corrected(self) -> list[int]:
        """Rows whose label is not the one that a look had used."""
        return [row for row, code in self.looked_at.items() if self.answers.get(row, code) != code]

    @property
    def pool_size(self) -> int:
        """Rows of the pool."""
        return int(self.strata.sizes.sum())

    @property
    def short(self) -> bool:
        """Whether skipped rows are still to be replaced."""
        return bool(self._due().any())

    @property
    def complete(self) -> bool:
        """Whether a look is open and all its rows have labels."""
        return self.looks > 0 and not self.waiting and not self.short

    def _due(self) -> Int:
        """Rows of each stratum still to be drawn for the open look, in place of skipped ones."""
        missing = np.maximum(self._goal - (self._taken - self._skipped), 0)
        return np.asarray(np.minimum(missing, self._left - self._taken))

    def query(self) -> AuditQuery:
        """Return the rows without an answer."""
        waiting = sorted(self.waiting.items())
        rows = np.array([row for row, _ in waiting], dtype=np.int64)
        return AuditQuery(self.looks, rows, np.array([chance for _, chance in waiting]))

    def replace_skipped(self) -> None:
        """Draw rows in place of skipped ones."""
        if self.short:
            self._take(self._due())

    def open_look(self, schedule: Schedule) -> None:
        """Draw the rows of the next look."""
        found = self.counts()
        # Skipped rows cost no label: the totals of the schedule are about labels told.
        told = Counts(found.size, found.ones, found.zeros, np.zeros_like(found.skipped))
        goal = schedule.next_counts(told, self.strata.layout, self.looks)[0]
        have = np.where(self.strata.layout.known, 0, told.labels[0]).astype(np.int64)
        self._open(np.minimum(goal - have, self._left - self._taken))

    def record(self, look: int, rows: Sequence[int]) -> None:
        """Take note that these rows were drawn for a look."""
        counts = np.bincount(self.strata.of(rows), minlength=len(self._taken))
        queues = zip(self.strata.queues, self._taken, counts, strict=True)
        if {row for q, t, c in queues for row in q[t : t + c].tolist()} != set(rows):
            raise ValueError(f"the rows of look {look} were never asked for by this audit")
        if look > self.looks:
            self._open(counts)
        else:
            self._take(counts)

    def _open(self, counts: Int) -> None:
        self.looks += 1
        self._goal = self._taken - self._skipped + counts
        left = np.maximum(self.strata.sizes - self._taken, 1)
        self._chance = counts / max(int(counts.sum()), 1) / left
        self._take(self._due())

    def _take(self, counts: Int) -> None:
        drawn: list[int] = []
        for s in np.flatnonzero(counts):
            rows = self.strata.queues[s][self._taken[s] : self._taken[s] + counts[s]].tolist()
            self.waiting |= dict.fromkeys(rows, float(self._chance[s]))
            drawn += rows
        self._taken += counts
        self.asked.append((self.looks, drawn))

    def answer(self, rows: Sequence[int], codes: Sequence[int]) -> None:
        """Record labels of rows that wait for one, or ``SKIPPED``: all of them, or none and an error."""
        new = dict(zip(rows, codes, strict=True))
        for row in rows:
            if row not in self.waiting or len(new) < len(rows):
                twice = row in self.answers or row in self.waiting
                raise ValueError(f"row {row} {'was told already' if twice else 'was not asked for'}")
        for row, code in new.items():
            del self.waiting[row]
            self.answers[row] = code
            if code == SKIPPED:
                self._skipped[self.strata.of([row])] += 1

    def withdraw(self, row: int) -> None:
        """Forget what was told of a row; it waits for a label again."""
        if row not in self.answers:
            raise ValueError(f"row {row} was not told, so there is nothing to revise")
        if any(look <= self.complete_looks() for look, rows in self.asked if row in rows):
            self.looked_at.setdefault(row, self.answers[row])
        stratum = self.strata.of([row])[0]
        if self.answers.pop(row) == SKIPPED:
            self._skipped[stratum] -= 1
        self.waiting[row] = float(self._chance[stratum])

    def complete_looks(self) -> int:
        """Looks, from the first, whose rows all have labels."""
        waiting = [look for look, rows in self.asked if any(row in self.waiting for row in rows)]
        return min([self.looks - self.short, *(look - 1 for look in waiting)])

    def counts(self, looks: int | None = None) -> Counts:
        """What is known of the strata, of one audit; with ``looks``, from labels of the first looks only."""
        asked: Iterable[int] = (row for look, rows in self.asked if look <= (looks or 0) for row in rows)
        told = [(row, self.answers[row]) for row in (self.answers if looks is None else asked)
                if row in self.answers]  # fmt: skip
        stratum, k = self.strata.of([row for row, _ in told]), len(self._taken)
        codes = np.array([code for _, code in told], dtype=np.int64)
        zeros, ones, skipped = (
            np.bincount(stratum[codes == v], minlength=k) + known
            for v, known in zip((0, 1, SKIPPED), self.strata.known, strict=True)
        )
        size, ones, zeros, skipped = (
            np.asarray(v, dtype=np.float64)[None, :] for v in (self.strata.sizes, ones, zeros, skipped)
        )
        return Counts(size, ones, zeros, skipped)
