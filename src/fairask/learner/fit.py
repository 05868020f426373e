"""Fitting the learner's oracle on the labels so far, for the learner and for its strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairask.metrics import Float
from fairask.oracle import FairOracle, PerturbedModel

if TYPE_CHECKING:
    from fairask.learner.learner import FairActiveLearner

__all__ = ["Fit"]


class Fit:
    """What a strategy may fit: see :class:`fairask.strategies.FairFit`."""

    def __init__(self, learner: FairActiveLearner) -> None:
        self._learner = learner

    @property
    def model(self) -> FairOracle:
        """The fair model fitted on all labels so far."""
        return self._learner.current_model()

    def __call__(self, labels: Float | None = None, weights: Float | None = None) -> list[PerturbedModel]:
        """Fit the oracle on other labels or weights of the labelled rows."""
        return self.model.perturbed(self._learner.labelled(), labels, weights)
