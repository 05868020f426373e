"""What people read: sentences (:mod:`fairask.report.words`), and figures.

Names are imported when they are first used: every layer of the package takes its sentences from here, and
must not wait for what draws.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask.report.figures import (
        draw_label_spend,
        draw_learning_curves,
        group_color,
    )

__all__ = [
    "draw_label_spend",
    "draw_learning_curves",
    "group_color",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'fairask.report' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module("fairask.report.figures"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
