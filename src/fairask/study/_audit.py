"""An audit inside a study: rows drawn uniformly within groups to judge a model that is held still."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairask.learner import FairActiveLearner
from fairask.study._errors import StudyError
from fairask.study.state import AUDIT, OpenAudit, State

__all__ = ["audit_sample", "check_audit"]


def check_audit(state: State, labels: int) -> None:
    """Raise StudyError where an audit of so many labels cannot begin."""
    left = state.config.rows - len(state.log.entries)
    if not state.history:
        raise StudyError("there is no model to audit yet; label a batch first")
    if state.audit is not None:
        raise StudyError("an audit is under way already")
    if not 1 <= labels <= left:
        raise StudyError(f"labels={labels} must be from 1 to the {left} rows that are left in the pool")


def audit_sample(audit: OpenAudit, trained: FairActiveLearner, now: FairActiveLearner) -> dict[str, Any]:
    """The audit's labels, with the predictions of the model as it was ``trained`` before them."""
    entries = [e for e in now.state.log.labelled() if e.component == AUDIT and e.batch >= audit.batch]
    rows = np.array([entry.index for entry in entries], dtype=np.int64)
    predicted = np.zeros(0)
    if len(rows):
        predicted = trained.current_model().predict_proba(trained.pool.take(rows))[:, 1]
    return {
        "y": np.array([entry.label for entry in entries], dtype=np.int64),
        "pred": predicted,
        "groups": [now.groups_[code] for code in now.pool.groups_of(rows)],
        "indices": rows,
        "trained_on": trained.labelled_indices_,
    }
