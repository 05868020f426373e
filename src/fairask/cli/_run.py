"""The end of a run of a comparison: its record, and the audit of its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairask.certify import Certificate
from fairask.learner import FairActiveLearner
from fairask.report import Method, Run, Snapshot

__all__ = ["audit_model", "record_run"]


def record_run(
    method: Method,
    trial: int,
    learner: FairActiveLearner,
    scores: Sequence[tuple[int, float, float]],
    spend: Mapping[str, Mapping[str, int]],
    rates: Mapping[str, Any],
    *,
    snapshot: Snapshot | None = None,
    certificate: Certificate | None = None,
    stopped: int | None = None,
) -> Run:
    """What a report needs of a run; ``scores`` are labels, accuracy and violation after every batch."""
    history = learner.history_
    noted = {
        "InterpolationWarning": int(history["interpolates"].sum()),
        "InfeasibleWarning": int((~history["feasible"].astype(bool)).sum()),
    }
    labels, accuracy, violation = zip(*scores, strict=True)
    return Run(
        method=method.key,
        trial=trial,
        labels=np.array(labels, dtype=np.int64),
        accuracy=np.array(accuracy),
        violation=np.array(violation),
        spend={name: dict(counts) for name, counts in spend.items()},
        rates={name: rates[name] for name in ("tpr", "fpr", "selection_rate")},
        warnings={name: n for name, n in noted.items() if n},
        snapshot=snapshot,
        certificate=certificate,
        stopped=stopped,
    )


def audit_model(learner: FairActiveLearner, budget: int, labels_of: Callable[[Any], Any]) -> Certificate:
    """Audit the final model with fresh labels from the rest of the pool, as its owner would."""
    audit = learner.audit(budget)
    while not audit.done:
        rows = audit.ask().indices
        audit.tell(rows, labels_of(rows))
    return audit.certificate()
