"""Fit a model, and describe it for the log: history entry, estimates, rates, digest."""

from __future__ import annotations

import numpy as np

from fairask.learner import FairActiveLearner
from fairask.learner.state import ASKED
from fairask.study.estimating import estimate, model_digest
from fairask.study.events import Document

__all__ = ["fit_entry"]


def fit_entry(learner: FairActiveLearner) -> Document:
    """Fit on all labels of ``learner`` and describe the model in plain values."""
    entry = learner.record_round()
    rates = learner.current_model().rates_
    return {name: _plain(value) for name, value in entry.items()} | {
        "answered": sum(drawn.state != ASKED for drawn in learner.state.log.entries),
        "digest": model_digest(learner),
        "rates": [
            {"condition": condition, "group": str(group), "rate": _plain(rate)}
            for (condition, group), rate in rates.items()
        ],
        "estimate": estimate(learner),
    }


def _plain(value: object) -> object:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
