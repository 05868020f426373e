"""Figures in one style, for the report, the documentation, the benchmark and the studio.

A display computes once and draws later, as in scikit-learn: ``XDisplay.from_...(...).plot(ax=...)``.
matplotlib is imported when something is drawn.
"""

from fairask.plotting._curves import LearningCurveDisplay, mean_and_error
from fairask.plotting._drawn import DrawnRowsDisplay
from fairask.plotting._estimates import EstimateCurvesDisplay, LabelsOverTimeDisplay
from fairask.plotting._rates import GroupRatesDisplay
from fairask.plotting._sampling import SamplingDisplay
from fairask.plotting._spend import LabelSpendDisplay
from fairask.plotting._style import (
    COLORS,
    GROUP_COLORS,
    INK,
    METHOD_COLORS,
    METRIC_NAMES,
    group_color,
    method_color,
    panels,
    style,
)

__all__ = [
    "COLORS",
    "GROUP_COLORS",
    "INK",
    "METHOD_COLORS",
    "METRIC_NAMES",
    "DrawnRowsDisplay",
    "EstimateCurvesDisplay",
    "GroupRatesDisplay",
    "LabelSpendDisplay",
    "LabelsOverTimeDisplay",
    "LearningCurveDisplay",
    "SamplingDisplay",
    "group_color",
    "mean_and_error",
    "method_color",
    "panels",
    "style",
]
