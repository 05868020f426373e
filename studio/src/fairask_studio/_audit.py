"""An audit inside a study: certify's :class:`~fairask.audit.Audit`, stored as events and rebuilt from them.

The event "audit" that begins one holds the audit whole (plan and strata), so that neither the pool nor the
model is needed to replay it. Each "proposed" event with the component "audit" names the look its rows were
drawn for. Answers, skips and corrections are those of the study, and an "audit" event of size 0 ends it.

Version 0.1.0 wrote events of size alone: it drew so many rows uniformly within groups, and certified them at
the end. Such studies open, and their rows can be answered, but an audit of that kind is only ended, not
continued; its labels then train.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairask.audit import Audit, AuditPlan
from fairask.learner import FairActiveLearner
from fairask.log import SKIPPED, DrawnRow, Query
from fairask_studio._errors import StudyError
from fairask_studio.events import AuditChanged, Document, RowsDrawn

if TYPE_CHECKING:
    from fairask_studio._rows import StudyRows
    from fairask_studio.state import State

#: Component of rows drawn to judge a model; they train nothing while the audit lasts.
AUDIT = "audit"
#: Looks at most, and labels that a look is worth.
_LOOKS, _LABELS_PER_LOOK = 5, 40


@dataclass
class OpenAudit:
    """An audit under way."""

    size: int
    seen: int  #: the event up to which the model was trained
    batch: int  #: its first batch
    audit: Audit | None = None  #: None if version 0.1.0 began it
    drawn: int = 0  #: rows drawn and not skipped

    @property
    def left(self) -> int:
        """Rows that may be drawn now; none while labels of the open look are missing."""
        return self.size - self.drawn if self.audit is not None and self.audit.ready else 0

    @property
    def done(self) -> bool:
        """Whether the certificate can be issued."""
        return self.audit is not None and self.audit.done

    def settle(self, entry: DrawnRow) -> None:
        """Tell the audit what became of one of its rows."""
        if self.audit is None or entry.batch < self.batch:
            return
        if entry.index in self.audit.answered:
            self.audit.revise(entry.index, entry.label)
        elif entry.label is not None:
            self.audit.tell(entry.index, entry.label)
        if entry.state == SKIPPED:
            self.audit.skip(entry.index)

    def to_dict(self) -> Document:
        """Return where the audit stands, in plain values."""
        audit = self.audit
        look = 0 if audit is None else audit.look
        found = audit.certificate() if audit is not None and look else None
        return {
            "size": self.size,
            "seen": self.seen,
            "drawn": self.drawn,
            "labels": self.drawn if audit is None else audit.n_labels,
            "looks": 1 if audit is None else len(audit.schedule.totals),
            "look": look,
            "found": None
            if found is None
            else {
                "headline": found.headline(),
                "verdict": found.verdict,
                "lower": found.lower,
                "upper": found.upper,
                "corrected": found.corrected,
            },
            "done": self.done,
        }


def begin_audit(state: State, trained: FairActiveLearner, labels: int) -> AuditChanged:
    """Describe the beginning of an audit of the model ``trained``, or raise StudyError."""
    left = state.config.rows - len(state.log.entries)
    if not 1 <= labels <= left:
        raise StudyError(f"labels={labels} must be from 1 to the {left} rows that are left in the pool")
    config = state.config.learner
    plan = AuditPlan(
        metric=config.metric,
        tolerance=config.tolerance,
        budget=labels,
        looks=min(_LOOKS, max(1, labels // _LABELS_PER_LOOK)),
        # Another seed for each audit of a study: its last event. What a connector notes does not count, so
        # that the same labels are audited with the same rows wherever people gave them.
        random_state=(trained.random_state + state.last - state.outside.noted) % 2**32,
    )
    # Rows that trained the model count whole; those without a label, at their worst.
    known = {entry.index: entry.label for entry in state.log.entries}
    audit = Audit.of_pool(trained.pool, trained.current_model(), plan, known=known)
    return AuditChanged(labels, dict(audit.to_dict(whole=True)))


def propose_audit(state: State, rows: StudyRows) -> tuple[Query, RowsDrawn] | None:
    """Draw the rows that the audit under way asks for now; None if it waits for labels or is over."""
    if state.audit is None or state.audit.audit is None or not state.audit.audit.ready:
        return None
    asked = copy.deepcopy(state.audit.audit).ask()  # the state changes by events only
    new = np.array([row not in state.log.position for row in asked.indices.tolist()], dtype=bool)
    query = Query(state.batches, asked.indices[new], asked.propensities[new], [AUDIT] * int(new.sum()))
    left, drawn = state.config.rows - len(state.log.entries), query.indices.tolist()
    columns, cells = rows.cells_of(drawn) or (None, None)
    return query, RowsDrawn(
        batch=query.batch_id,
        rows=drawn,
        propensities=query.propensities.tolist(),
        components=query.components,
        pool_sizes=[left - i for i in range(len(drawn))],
        warnings=[],
        columns=columns,
        cells=cells,
        look=asked.look,
    )


def certificate_of(state: State, digested: list[int] | None) -> Document:
    """Return the certificate of the audit under way, with the model that it is about, or raise StudyError.

    ``digested`` are the rows on which the model's digest was made; None for the whole pool.
    """
    audit = state.audit
    if audit is None:
        raise StudyError("no audit is under way; start one first")
    if audit.audit is None:
        raise StudyError(
            "this audit was begun by version 0.1.0 and cannot be continued",
            "End it, which keeps its labels for training, and start another",
        )
    if not audit.done:
        told = f"{audit.audit.n_labels} of at most {audit.size} are there"
        raise StudyError(f"the audit waits for labels; {told}")
    entry = next(entry for entry in state.history if entry["seen"] == audit.seen)
    return {
        **audit.audit.certificate().to_dict(),
        "model": {
            **{name: entry[name] for name in ("round", "labels", "digest", "seen")},
            "protected": state.config.protected,
            "pool_sha256": state.config.pool_sha256,
            "digest_of_rows": digested,
        },
    }
