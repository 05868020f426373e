"""What people read: sentences (:mod:`fairask.report.words`), figures, and the report as one HTML file.

Names are imported when they are first used: every layer of the package takes its sentences from here, and
must not wait for what draws.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask.report.figures import (
        EstimateCurvesDisplay,
        GroupRatesDisplay,
        LabelSpendDisplay,
        LearningCurveDisplay,
        group_color,
    )
    from fairask.report.pages import write_report

__all__ = [
    "EstimateCurvesDisplay",
    "GroupRatesDisplay",
    "LabelSpendDisplay",
    "LearningCurveDisplay",
    "group_color",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'fairask.report' has no attribute {name!r}")
    home = "pages" if name == "write_report" else "figures"
    found = globals()[name] = getattr(import_module(f"fairask.report.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
