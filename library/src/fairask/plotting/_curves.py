"""Learning curves: accuracy above, violation below, against labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Float
from fairask.plotting._style import (
    METHOD_COLORS,
    METRIC_NAMES,
    draw_tolerance,
    method_color,
    panels,
    spread,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairask.plotting._style import Panels


@dataclass(frozen=True)
class Curve:
    """A quantity against labels: its mean over trials and its standard error (NaN for one trial)."""

    labels: NDArray[np.int64]
    mean: Float
    error: Float

    @classmethod
    def from_trials(cls, labels: ArrayLike, values: ArrayLike) -> Curve:
        """Summarise ``values`` of shape (trials, rounds)."""
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        x = np.asarray(labels, dtype=np.int64)
        if table.shape[1:] != x.shape:
            raise ValueError(
                f"values has shape {table.shape}, labels {x.shape}; expected (trials, rounds) and (rounds,)"
            )
        return cls(x, *mean_and_error(table))


def mean_and_error(values: Float) -> tuple[Float, Float]:
    """Mean over trials (the first axis) and its standard error, NaN for one trial.

    Examples
    --------
    >>> mean_and_error(np.array([[1.0], [3.0]]))
    (array([2.]), array([1.]))
    """
    if len(values) < 2:
        return values.mean(axis=0), np.full(values.shape[1:], np.nan)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


@dataclass
class LearningCurveDisplay:
    """Accuracy and violation against labels, mean and one standard error over trials.

    Parameters
    ----------
    accuracy, violation : dict of str to Curve
        By method.
    tolerance : float
    metric : str
    names : dict of str to str
        What to call the methods; default their own names.
    fit_first : bool
        Whether the scale of the violation shows the first round whole. It can squeeze the later ones.

    Attributes
    ----------
    figure_, axes_
        After :meth:`plot`.

    Examples
    --------
    >>> results = {"fare": ([100, 200], [[0.7, 0.8], [0.7, 0.9]], [[0.2, 0.1], [0.3, 0.1]])}
    >>> display = LearningCurveDisplay.from_results(results, tolerance=0.1).plot()
    >>> display.accuracy["fare"].mean.round(2).tolist(), len(display.axes_)
    ([0.7, 0.85], 2)
    """

    accuracy: dict[str, Curve]
    violation: dict[str, Curve]
    tolerance: float
    metric: str = "tprp"
    names: Mapping[str, str] | None = None
    fit_first: bool = True

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
        *,
        tolerance: float,
        metric: str = "tprp",
        names: Mapping[str, str] | None = None,
    ) -> LearningCurveDisplay:
        """Summarise ``{method: (labels, accuracy, violation)}``, the last two of shape (trials, rounds)."""
        if not results:
            raise ValueError("results is empty: nothing to draw")
        return cls(
            {m: Curve.from_trials(labels, acc) for m, (labels, acc, _) in results.items()},
            {m: Curve.from_trials(labels, vio) for m, (labels, _, vio) in results.items()},
            tolerance,
            metric,
            names,
        )

    def plot(self, ax: Panels = None) -> LearningCurveDisplay:
        """Draw on a pair of axes (accuracy, violation), or on a new figure."""
        with style():
            self.figure_, axes = panels(ax, 2, 1, (7.4, 5.8), sharex=True)
            self.axes_ = top, bottom = axes[0], axes[1]
            for axis, curves in ((top, self.accuracy), (bottom, self.violation)):
                self._lines(axis, curves)
            top.set_title("Accuracy on unseen rows")
            bottom.set_title(METRIC_NAMES.get(self.metric, self.metric).capitalize() + " on unseen rows")
            bottom.set_xlabel("labels")
            self._tolerance(bottom)
            # The right margin holds the direct labels.
            first, last = bottom.get_xlim()
            for axis, curves in ((top, self.accuracy), (bottom, self.violation)):
                axis.set_xlim(first, last)
                self._direct_labels(axis, curves)
        return self

    def _lines(self, axis: Axes, curves: dict[str, Curve]) -> None:
        for i, (method, curve) in enumerate(curves.items()):
            color = method_color(method, i)
            dash = "-" if method in METHOD_COLORS else "--"
            axis.fill_between(
                curve.labels,
                curve.mean - curve.error,
                curve.mean + curve.error,
                color=color,
                alpha=0.15,
                linewidth=0,
            )
            axis.plot(curve.labels, curve.mean, dash, color=color, marker="o", markersize=3.5)

    def _tolerance(self, axis: Axes) -> None:
        start = 0 if self.fit_first else 1
        ends = [(c.mean + np.nan_to_num(c.error))[start:] for c in self.violation.values()]
        high = np.nanmax([end.max(initial=0.0) for end in ends])
        top = min(1.0, max(1.12 * float(high), 1.6 * self.tolerance, 0.02))
        draw_tolerance(axis, self.tolerance, top)

    def _direct_labels(self, axis: Axes, curves: dict[str, Curve]) -> None:
        low, high = axis.get_ylim()
        ends = [float(c.mean[-1]) for c in curves.values()]
        height = axis.get_position().height * self.figure_.get_figheight() * 72
        places = spread(ends, 14 / max(height, 1) * (high - low))
        for i, ((method, curve), place) in enumerate(zip(curves.items(), places, strict=True)):
            axis.annotate(
                (self.names or {}).get(method, method),
                (curve.labels[-1], ends[i]),
                xytext=(1.03, place),
                textcoords=("axes fraction", "data"),
                # The line carries the colour: text in it would be too pale to read.
                arrowprops={
                    "arrowstyle": "-",
                    "color": method_color(method, i),
                    "linewidth": 1.2,
                    "linestyle": ":",
                    "shrinkA": 2,
                    "shrinkB": 0,
                    "relpos": (0, 0.5),
                },
                va="center",
                fontsize=10,
                annotation_clip=False,
            )
