"""Fitting the learner's oracle on the labels so far, for the learner and for its strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from fairask.metrics import Float
from fairask.oracle import Solution
from fairask.strategies import Labelled

if TYPE_CHECKING:
    from fairask.learner.learner import FairActiveLearner

__all__ = ["Fit"]

#: Streams of random numbers beside those of the batches, which are numbered from 0: the last two numbers
#: that a seed sequence takes as one word, so that no batch ever reaches them.
ORACLE_STREAM, SAMPLE_STREAM = 2**32 - 1, 2**32 - 2


class Fit:
    """What a strategy may fit: see :class:`fairask.strategies.FairFit`."""

    def __init__(self, learner: FairActiveLearner) -> None:
        self._learner = learner

    @property
    def model(self) -> Any:
        """The fair model fitted on all labels so far."""
        return self._learner.current_model()

    def __call__(self, labels: Float | None = None, weights: Float | None = None) -> list[Solution]:
        """Fit the oracle on other labels or weights of the labelled rows."""
        learner, rows = self._learner, self._learner.labelled()
        factor = 1.0 if weights is None else weights
        solutions: list[Solution] = self.model.solve_many(
            rows.X,
            rows.y[None, :] if labels is None else labels,
            rows.groups,
            len(learner.groups_),
            factor * rows.risk_weights,
            factor * rows.fairness_weights,
            pool=learner.background(),
        )
        return solutions


def fit_oracle(learner: FairActiveLearner, rows: Labelled) -> Any:
    """Fit a new oracle on these labelled rows, at the tolerance that the number of all labels allows."""
    seed = int(np.random.default_rng([learner.random_state, ORACLE_STREAM]).integers(2**31))
    oracle = clone(learner.template).set_params(tolerance=learner.effective_tolerance_, random_state=seed)
    oracle.classes_ = np.array(learner.classes)
    return oracle.fit_codes(
        rows.X,
        rows.y,
        rows.groups,
        learner.groups_,
        rows.risk_weights,
        rows.fairness_weights,
        pool=learner.background(),
    )
