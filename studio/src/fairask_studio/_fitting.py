"""Fit a model, and describe it for the log: history entry, estimates, rates, digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import issparse

from fairask.learner import FairActiveLearner
from fairask.log import ASKED
from fairask.tables.leaks import columns_that_tell
from fairask_studio._rows import StudyRows
from fairask_studio.config import NO_DEVICE, Config
from fairask_studio.estimating import estimate, model_digest
from fairask_studio.events import Document


def make_learner(rows: StudyRows, config: Config, device: str | None = None) -> FairActiveLearner:
    """Return the learner of a study, without labels; ``device`` replaces the study's own."""
    # The study keeps the budget and the stopping rule itself: its log knows of audits and of changed rules.
    X, groups = rows.given
    learner = FairActiveLearner(X, groups, **vars(replace(config.learner, budget=None, stopping=None)))
    where = device or config.device or NO_DEVICE
    return learner


def fit_entry(learner: FairActiveLearner, features: Sequence[str]) -> Document:
    """Fit on all labels of ``learner`` and describe the model in plain values.

    ``features`` are the names of the columns of its rows: those that give the label away are in the entry.
    """
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
        "telling": _telling(learner, features),
    }


def _telling(learner: FairActiveLearner, features: Sequence[str]) -> dict[str, float]:
    rows = learner.labelled()
    if issparse(rows.X):
        return {}
    return columns_that_tell(np.asarray(rows.X, np.float64), rows.y.astype(np.int64), features)


def _plain(value: object) -> object:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
