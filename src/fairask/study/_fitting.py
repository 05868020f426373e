"""Fitting when it is due, and what is recorded of a model: history entry, estimates, rates, digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.learner import FairActiveLearner
from fairask.learner.log import ASKED
from fairask.study import _events
from fairask.study._errors import StudyError
from fairask.study._estimate import estimate, model_digest

if TYPE_CHECKING:
    from fairask.study.study import Study

__all__ = ["due", "fit_entry", "refit"]


def due(study: Study) -> bool:
    """See :meth:`Study.due`."""
    with study._lock:
        state = study.state()
        news = state.answered - (state.history[-1]["answered"] if state.history else 0)
        every = state.answered == len(state.log.entries)
        if state.audit is not None:
            return False  # its labels must not reach the model they judge
        enough = news >= state.config.batch_size or (news > 0 and every)
        return enough and state.answered > state.skipped


def refit(study: Study, force: bool) -> dict[str, Any] | None:
    """See :meth:`Study.refit`."""
    if not (study.due() or force):
        return None
    if study.state().audit is not None:
        raise StudyError("an audit is under way and its labels must not train; end the audit first")
    learner, seen = study._snapshot()
    if not learner._log.labelled():
        return None
    entry = fit_entry(learner) | {"seen": seen}
    with study._db.write() as connection:
        if any(event.kind == "fitted" for event in _events.read_after(connection, seen)):
            return None  # another process was faster
        _events.append(connection, "fairask", [("fitted", entry)])
    return entry


def fit_entry(learner: FairActiveLearner) -> dict[str, Any]:
    """Fit on all labels of ``learner`` and describe the model in plain values."""
    number = len(learner._history)
    learner._record()
    rates = learner.current_model().rates_
    return {name: _plain(value) for name, value in learner._history[-1].items()} | {
        "round": number,
        "answered": sum(entry.state != ASKED for entry in learner._log.entries),
        "digest": model_digest(learner),
        "rates": [
            {"condition": condition, "group": str(group), "rate": _plain(rate)}
            for (condition, group), rate in rates.items()
        ],
        "estimate": estimate(learner),
    }


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
