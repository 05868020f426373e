"""What a learner has done so far, read from its log and history."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.learner.log import DrawLog
from fairask.metrics import Float, Int

__all__ = ["LearnerRecord"]


class LearnerRecord:
    """The side of a learner that only reads: labels, weights and history, as arrays."""

    classes: tuple[Any, Any]
    risk_weights: str
    fairness_weights: str
    _log: DrawLog
    _history: list[dict[str, Any]]

    @property
    def history_(self) -> dict[str, NDArray[Any]]:
        """One entry for each answered batch, by column; any data-frame library reads it."""
        columns = self._history[0] if self._history else {}
        return {name: np.array([row[name] for row in self._history]) for name in columns}

    @property
    def labelled_indices_(self) -> Int:
        """Labelled rows in draw order; the arrays below are aligned with it."""
        return self._log.arrays()[0]

    @property
    def labels_(self) -> NDArray[Any]:
        """Labels, as values of ``classes``."""
        return np.asarray(np.array(self.classes)[self._log.arrays()[1].astype(int)])

    @property
    def propensities_(self) -> Float:
        """Probability of each labelled row when it was drawn."""
        return self._log.arrays()[2]

    @property
    def components_(self) -> list[str]:
        """Component that drew each labelled row."""
        return [e.component for e in self._log.labelled()]

    @property
    def risk_weights_(self) -> Float:
        """Importance weights in the error."""
        return self._log.weights(self.risk_weights)

    @property
    def fairness_weights_(self) -> Float:
        """Importance weights in the rates."""
        return self._log.weights(self.fairness_weights)

    @property
    def pending_indices_(self) -> Int:
        """Rows asked for and not answered yet."""
        return np.array(self._log.open_rows(), dtype=np.int64)
