"""What a strategy may fit: the learner's oracle, on the labels so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairask.metrics import Float
from fairask.oracle import Solution

if TYPE_CHECKING:
    from fairask.learner.learner import FairActiveLearner

__all__ = ["Fit"]


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
        learner, rows = self._learner, self._learner._labelled()
        factor = 1.0 if weights is None else weights
        solutions: list[Solution] = self.model.solve_many(
            rows.X,
            rows.y[None, :] if labels is None else labels,
            rows.groups,
            len(learner.groups_),
            factor * rows.risk_weights,
            factor * rows.fairness_weights,
            pool=learner._background(),
        )
        return solutions
