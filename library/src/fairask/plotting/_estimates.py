"""Progress of a study: estimates with their intervals against labels, and labels against time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.learner import FairActiveLearner
from fairask.metrics import Float
from fairask.plotting._style import INK, METRIC_NAMES, draw_tolerance, method_color, panels, style

if TYPE_CHECKING:
    from fairask.plotting._style import Panels


@dataclass
class EstimateCurvesDisplay:
    """Accuracy above, violation below, each with its interval, against labels.

    Parameters
    ----------
    labels : ndarray of shape (rounds,)
    accuracy, violation : ndarray of shape (rounds, 3)
        Estimate, lower and upper end; NaN where a round has none.
    tolerance : float
    metric : str
    strategy : str
        Whose colour the lines have.

    Examples
    --------
    >>> guess = [[0.7, 0.6, 0.8], [0.8, 0.7, 0.9]]
    >>> display = EstimateCurvesDisplay.from_rounds([50, 75], guess, [[np.nan] * 3, [0.2, 0.1, 0.3]], 0.1)
    >>> len(display.plot().axes_)
    2
    """

    labels: NDArray[np.int64]
    accuracy: Float
    violation: Float
    tolerance: float
    metric: str = "tprp"
    strategy: str = "fare"

    @classmethod
    def from_rounds(
        cls,
        labels: ArrayLike,
        accuracy: ArrayLike,
        violation: ArrayLike,
        tolerance: float,
        *,
        metric: str = "tprp",
        strategy: str = "fare",
    ) -> EstimateCurvesDisplay:
        """Check shapes and keep the values."""
        x = np.asarray(labels, dtype=np.int64)
        above = np.asarray(accuracy, dtype=np.float64).reshape(-1, 3)
        below = np.asarray(violation, dtype=np.float64).reshape(-1, 3)
        for name, table in (("accuracy", above), ("violation", below)):
            if len(table) != len(x):
                raise ValueError(f"{name} has {len(table)} rounds, labels {len(x)}; expected as many")
        return cls(x, above, below, tolerance, metric, strategy)

    @classmethod
    def from_learner(cls, learner: FairActiveLearner) -> EstimateCurvesDisplay:
        """The model's own estimates after each answered batch; they have no interval.

        Examples
        --------
        >>> from fairask.datasets import load
        >>> from fairask.experiment import simulate
        >>> data = load("german")
        >>> learner = FairActiveLearner(data.X, data.groups, strategy="passive", random_state=0)
        >>> history = simulate(learner, data.y, 50)
        >>> EstimateCurvesDisplay.from_learner(learner).labels.tolist()
        [25, 50]
        """
        history = learner.history_
        if not history:
            raise ValueError("the learner has no answered batch yet: ask() for rows and tell() their labels")
        accuracy, violation = (
            np.stack([values, np.full_like(values, np.nan), np.full_like(values, np.nan)], axis=1)
            for values in (1.0 - history["error"], history["violation"])
        )
        return cls(
            history["labels"], accuracy, violation, learner.tolerance, learner.metric, learner.strategy.name
        )

    def plot(self, ax: Panels = None) -> EstimateCurvesDisplay:
        """Draw on a pair of axes (accuracy, violation), or on a new figure."""
        with style():
            self.figure_, axes = panels(ax, 2, 1, (7.4, 5.4), sharex=True)
            self.axes_ = top, bottom = axes[0], axes[1]
            color = method_color(self.strategy)
            for axis, values in ((top, self.accuracy), (bottom, self.violation)):
                axis.fill_between(
                    self.labels, values[:, 1], values[:, 2], color=color, alpha=0.15, linewidth=0
                )
                axis.errorbar(  # a single round has no band to fill
                    self.labels, values[:, 0], np.abs(values[:, 1:] - values[:, :1]).T, fmt="none",
                    ecolor=color, alpha=0.35, linewidth=1.2,
                )  # fmt: skip
                axis.plot(self.labels, values[:, 0], color=color, marker="o", markersize=4)
            how = ", estimated out of fold" if np.isfinite(self.accuracy[:, 1:]).any() else ", estimated"
            top.set_title("Accuracy" + how)
            bottom.set_title(METRIC_NAMES.get(self.metric, self.metric).capitalize() + how)
            bottom.set_xlabel("labels")
            high = np.nanmax([*self.violation.ravel(), 0.0])
            limit = min(1.0, max(1.08 * float(high), 1.6 * self.tolerance, 0.02))
            draw_tolerance(bottom, self.tolerance, limit, right=True)
        return self


@dataclass
class LabelsOverTimeDisplay:
    """How many labels there were, by time since the first.

    Parameters
    ----------
    seconds : ndarray
        When each label came, in seconds since the first, in order.

    Examples
    --------
    >>> LabelsOverTimeDisplay.from_seconds([0.0, 90.0, 30.0]).plot().unit_
    's'
    """

    seconds: Float

    @classmethod
    def from_seconds(cls, seconds: Sequence[float]) -> LabelsOverTimeDisplay:
        """Put the moments in order."""
        if not len(seconds):
            raise ValueError("seconds is empty: nothing to draw")
        moments = np.sort(np.asarray(seconds, dtype=np.float64))
        return cls(moments - moments[0])

    def plot(self, ax: Panels = None) -> LabelsOverTimeDisplay:
        """Draw on given axes, or on a new figure."""
        units = [("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)]
        self.unit_, size = next((u for u in units if self.seconds[-1] >= 2 * u[1]), units[-1])
        with style():
            self.figure_, (axis,) = panels(ax, 1, 1, (7.4, 2.2))
            self.ax_ = axis
            axis.step(self.seconds / size, np.arange(1, len(self.seconds) + 1), where="post", color=INK)
            axis.set_ylim(0)
            axis.set_title("Labels")
            axis.set_xlabel(f"{self.unit_} since the first label")
        return self
