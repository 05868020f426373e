"""Drawing of curves in the package's style, with the paper's end points; the synthetic data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairask.datasets import make_synthetic
from fairask.report.figures import GROUP_COLORS, draw_learning_curves, method_color, panels, style
from paper.methods import METHODS
from paper.problems import Problem
from paper.reported import PAPER
from paper.store import Curves

__all__ = ["draw_curves", "look_of", "save", "styled", "synthetic_panel"]

Given = ParamSpec("Given")


def styled(draw: Callable[Given, Figure]) -> Callable[Given, Figure]:
    """Draw in the package's style."""

    @wraps(draw)
    def drawn(*args: Given.args, **kwargs: Given.kwargs) -> Figure:
        with style():
            return draw(*args, **kwargs)

    return drawn


def look_of(name: str) -> str:
    """The name under which a method has its colour in ``fairask.report``.

    The paper's FARE is the package's ``fare_paper``; the package's FARE is here called "default".

    Examples
    --------
    >>> look_of("fare"), look_of("default"), look_of("fal-25")
    ('fare_paper', 'fare', 'fal')
    """
    known = {"fare": "fare_paper", "fare-diff": "fare_diff_paper", "default": "fare"}
    method = METHODS[name]
    return known.get(name, method.strategy if method.family else name)


def save(drawn: Figure, stem: Path, formats: Sequence[str], dpi: int) -> list[Path]:
    """Write a figure in every format."""
    paths = [stem.with_name(f"{stem.name}.{form}") for form in formats]
    for path in paths:
        # Without dates the same results give the same file.
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        with style():
            drawn.savefig(path, dpi=dpi, metadata=metadata, facecolor="white")
    return paths


def draw_curves(methods: dict[str, Curves], problem: Problem, title: str, tolerance: float) -> Figure:
    """Accuracy above, gap below, against labels; a star is the paper's end point."""
    looks = {look_of(name): name for name in methods}
    figure = draw_learning_curves(
        {look: (methods[n].labels, methods[n].accuracy, methods[n].gap) for look, n in looks.items()},
        tolerance=tolerance,
        metric=problem.metric,
        names={look: METHODS[name].label for look, name in looks.items()},
        fit_first=False,
    )
    end = max(int(curves.labels[-1]) for curves in methods.values())
    starred = [
        _star(figure.axes, problem.name, name, end, method_color(look, i))
        for i, (look, name) in enumerate(looks.items())
    ]
    with style():
        star = "     ☆ the paper's end points" if any(starred) else ""
        figure.suptitle(f"{title}{star}", fontweight="bold", x=0.02, ha="left", fontfamily="DejaVu Sans")
    return figure


def _star(axes: Sequence[Axes], problem: str, method: str, end: int, color: str) -> bool:
    reported = PAPER.get((problem, METHODS[method].paper or ""))
    if reported is None:
        return False
    for axis, value in zip(axes, (reported.accuracy / 100.0, reported.gap), strict=True):
        axis.plot(end, value, marker="*", ms=11, mfc="white", mec=color, mew=1.2, ls="", clip_on=False)
    return True


@styled
def synthetic_panel() -> Figure:
    """The synthetic data: two groups, each separable, together not."""
    data = make_synthetic(n_majority=2000, standardize=False)
    drawn, (axis,) = panels(None, 1, 1, (5.2, 4.6))
    for group, colour, size in (("majority", GROUP_COLORS[1], 7), ("minority", GROUP_COLORS[0], 22)):
        for label, marker in ((0, "o"), (1, "+")):
            rows = (data.groups == group) & (data.y == label)
            axis.scatter(
                *data.X[rows].T,
                s=size if marker == "o" else 1.6 * size,
                marker=marker,
                facecolor="none" if marker == "o" else colour,
                edgecolor=None if marker == "+" else colour,
                lw=0.7,
                label=f"{group}, y = {label}",
            )
    axis.axvline(0, color=GROUP_COLORS[1], lw=1, ls="--")
    axis.axhline(0, color=GROUP_COLORS[0], lw=1, ls="--")
    axis.set_xlabel("first coordinate: decides for the majority")
    axis.set_ylabel("second coordinate: decides for the minority")
    axis.set_title(
        "Synthetic data (a fifth of the majority shown)", loc="left", fontweight="bold", fontsize=10
    )
    axis.legend(fontsize=8, loc="lower right", framealpha=0.9)
    axis.set_aspect("equal")
    limit = float(np.abs(data.X).max())
    axis.set(xlim=(-limit, limit), ylim=(-limit, limit))
    return drawn
