"""The sequential part of an audit: rows are asked for, told, skipped and revised, look by look."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.draws import SKIPPED, AuditDraws, AuditQuery
from fairask.audit.found import LookFound
from fairask.audit.plan import AuditPlan
from fairask.audit.strata import Strata
from fairask.checks import check_lengths
from fairask.errors import UserError
from fairask.metrics import binary_labels


class AuditSequence:
    """Which rows are to be labelled now, and what the looks so far have found."""

    def _begin(self, strata: Strata, plan: AuditPlan, classes: Sequence[object] | None) -> None:
        if len(strata.groups) < 2:
            raise ValueError(f"groups must hold at least two groups, got {strata.groups}")
        layout = strata.layout
        if not strata.sizes[~layout.known].sum():
            if layout.known.any():
                raise UserError(
                    "every row of the pool has a label already, so that nothing is left to ask for",
                    "the violation is known: fairask.violation(y, predictions, groups) computes it",
                )
            raise ValueError("the pool is empty: every row trained the model")
        cheapest = layout.cost[~layout.known & (strata.sizes > 0)].min()
        if cheapest > plan.budget:
            raise UserError(f"budget={plan.budget} buys no label", f"the cheapest one costs {cheapest:g}")
        self.plan, self.groups = plan, strata.groups
        self.classes = None if classes is None else list(classes)
        left = strata.sizes[~layout.known] @ layout.cost[~layout.known]
        self.schedule = plan.schedule(int(left), len(layout.decision))
        self._layout = dataclasses.replace(layout, rest=plan.compare == "rest")
        self._draws = AuditDraws(strata)
        self._found = self._at(0, None)

    def _at(self, look: int, before: LookFound | None) -> LookFound:
        return LookFound.at(look, self._draws, self.schedule, self._layout, before)

    @property
    def pool_size(self) -> int:
        """Rows of the audited pool."""
        return self._draws.pool_size

    @property
    def n_labels(self) -> int:
        """Labels told so far."""
        return len(self._draws.answers) - self._draws.asked_skipped

    @property
    def look(self) -> int:
        """Looks that are complete: what :meth:`certificate` is from."""
        return self._found.number

    @property
    def answered(self) -> Collection[int]:
        """Rows that were told or skipped."""
        return self._draws.answers.keys()

    @property
    def ready(self) -> bool:
        """Whether :meth:`ask` draws rows now: for the next look, or in place of skipped ones."""
        return not self.done and (not self._draws.waiting or self._draws.short)

    @property
    def done(self) -> bool:
        """Whether the audit is decided or its budget spent."""
        if not self.schedule.claims:
            return True
        last = self._draws.looks == len(self.schedule.totals)
        return self._draws.complete and (last or self._found.decides(self.plan))

    # -- asking and telling ---------------------------------------------------------------------

    def ask(self) -> AuditQuery:
        """Return the rows still to be labelled before the next look; the same ones until they are told.

        Examples
        --------
        >>> from fairask.audit import Audit
        >>> len(Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2).ask().indices)
        20
        """
        if self.done:
            raise ValueError("the audit is over: read certificate()")
        self._draw()
        return self._draws.query()

    def _draw(self) -> None:
        """Draw the rows that are due: for the open look, or for the next one."""
        self._draws.replace_skipped()
        while not self._draws.waiting and not self.done:
            self._draws.open_look(self.schedule)
            self._look()

    def record(self, look: int, rows: Sequence[int]) -> None:
        """Take note that these rows were asked for before a look, as :meth:`ask` answered at the time.

        For an audit that is replayed from a log: later corrections of labels do not change what was drawn.
        """
        self._draws.record(look, rows)
        self._look()

    def tell(self, indices: ArrayLike, labels: ArrayLike) -> None:
        """Record labels of rows that were asked for, all at once or in parts.

        A row nobody asked for, told twice, or a label that is not one of the classes raises and changes
        nothing.

        Examples
        --------
        >>> from fairask.audit import Audit
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 20)
        >>> audit.n_labels
        20
        """
        if self.done:
            raise ValueError("the audit is over: no label is awaited")
        rows, codes = np.atleast_1d(np.asarray(indices)).tolist(), self._codes(np.atleast_1d(labels))
        check_lengths(indices=len(rows), labels=len(codes))
        self._answer(rows, codes)

    def skip(self, indices: ArrayLike) -> None:
        """Say that rows cannot be labelled; others of their strata are asked for in their place.

        They stay in the pool: the bounds hold whatever their labels are, and the certificate names their
        number.

        Examples
        --------
        >>> from fairask.audit import Audit
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2)
        >>> row = audit.ask().indices[0]
        >>> audit.skip(row)
        >>> len(audit.ask().indices), row in audit.ask().indices
        (20, False)
        """
        rows = np.atleast_1d(np.asarray(indices)).tolist()
        self._answer(rows, [SKIPPED] * len(rows))

    def revise(self, index: int, label: object = None) -> None:
        """Change the label of a row that was told or skipped; without a label the row is awaited again.

        Rows that were drawn stay drawn. The bounds of the last look are computed again, and the certificate
        says how many labels were changed after a look had used them.

        Examples
        --------
        >>> from fairask.audit import Audit
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=1)
        >>> rows = audit.ask().indices
        >>> audit.tell(rows, [1] * 40)
        >>> audit.revise(rows[0], 0)
        >>> sum(audit.certificate().negatives)
        1
        """
        codes = None if label is None else self._codes(np.atleast_1d(np.asarray(label)))
        self._draws.withdraw(int(index))
        if codes is not None:
            self._draws.answer([int(index)], codes)
        self._look()

    def _codes(self, labels: Any) -> list[int]:
        if self.classes is None:
            return [int(value) for value in binary_labels(labels)]
        for value in labels.tolist():
            if value not in self.classes:
                raise ValueError(f"label {value!r} is not one of the classes {tuple(self.classes)!r}")
        return [int(value == self.classes[1]) for value in labels.tolist()]

    def _answer(self, rows: list[int], codes: list[int]) -> None:
        if any(row not in self._draws.waiting for row in rows):
            self._draw()
        self._draws.answer(rows, codes)
        # With many rows still waiting, nothing has changed unless a row of an earlier look was told again.
        if not self._draws.waiting or self._found.number < self._draws.looks - 1:
            self._look()

    def _look(self) -> None:
        """Compute the bounds at the last complete look."""
        complete = self._draws.complete_looks()
        self._found = self._at(complete, self._found)
