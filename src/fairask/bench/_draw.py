"""Drawing of curves: mean with one standard error, the tolerance, the paper's end points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairask.bench.methods import METHODS
from fairask.bench.palette import COLOURS, GROUPS
from fairask.bench.paper import PAPER
from fairask.bench.problems import Problem
from fairask.bench.stats import mean_and_error
from fairask.bench.store import Curves
from fairask.datasets import make_synthetic

__all__ = ["pair_of_panels", "pyplot", "save", "synthetic_panel"]

_METRICS = {"tprp": "TPRP violation", "eo": "equalized odds violation"}


def pyplot() -> Any:
    """Return matplotlib's pyplot with a backend that needs no display, or say what to install."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'fairask[plot]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save(plt: Any, figure: Any, stem: Path, formats: Sequence[str], dpi: int) -> list[Path]:
    """Write a figure in every format and close it."""
    paths = [stem.with_name(f"{stem.name}.{form}") for form in formats]
    for path in paths:
        # Without dates the same results give the same file.
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        figure.savefig(path, dpi=dpi, metadata=metadata)
    plt.close(figure)
    return paths


def pair_of_panels(
    plt: Any, methods: dict[str, Curves], problem: Problem, title: str, tolerance: float
) -> Any:
    """Accuracy above, violation below, labels on x."""
    figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 5.6), layout="constrained")
    end = max(curves.labels[-1] for curves in methods.values())
    for axis, field, scale in ((top, "accuracy", 100.0), (bottom, "violation", 1.0)):
        ends = []
        for name, curves in methods.items():
            mean, error = mean_and_error(scale * getattr(curves, field))
            colour = COLOURS[METHODS[name].colour]
            axis.plot(curves.labels, mean, color=colour, lw=1.8, marker="o", ms=3)
            axis.fill_between(curves.labels, mean - error, mean + error, color=colour, alpha=0.18, lw=0)
            ends.append((float(mean[-1]), METHODS[name].label, colour))
            _paper_point(axis, problem.name, name, field, int(end), colour)
        if field == "violation":
            _limit_scale(axis, methods, tolerance)
            _tolerance(axis, tolerance)
        _direct_labels(axis, ends)
    # The stars' offsets and the labels need room on the right.
    bottom.set_xlim(left=0, right=end * 1.06)
    top.set_ylabel("accuracy, %")
    bottom.set_ylabel(_METRICS.get(problem.metric, problem.metric))
    bottom.set_xlabel("labels")
    star = (
        "   ☆ the paper's end points"
        if any((problem.name, METHODS[n].paper) in PAPER for n in methods)
        else ""
    )
    top.set_title(title, loc="left", fontweight="bold")
    top.set_title(star, loc="right", fontsize=8, fontfamily="DejaVu Sans")
    for axis in (top, bottom):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="#DDDDDD", lw=0.6)
        axis.set_axisbelow(True)
    return figure


def _paper_point(axis: Any, problem: str, method: str, field: str, end: int, colour: str) -> None:
    reported = PAPER.get((problem, METHODS[method].paper or ""))
    if reported is None:
        return
    value = reported.accuracy if field == "accuracy" else reported.violation
    axis.plot(end * 1.025, value, marker="*", ms=10, mfc="white", mec=colour, mew=1.2, ls="", clip_on=False)


def _limit_scale(axis: Any, methods: dict[str, Curves], tolerance: float) -> None:
    # The first rounds, from a few dozen labels, would squeeze the part that matters.
    later = max(mean_and_error(c.violation)[0][1:].max(initial=0.0) for c in methods.values())
    axis.set_ylim(0.0, max(1.15 * later, 2.0 * tolerance))


def _tolerance(axis: Any, tolerance: float) -> None:
    top = axis.get_ylim()[1]
    axis.axhline(tolerance, color="#333333", ls="--", lw=1)
    axis.axhspan(tolerance, top, color="#D55E00", alpha=0.06, lw=0)
    axis.annotate(
        f"tolerance {tolerance:g}",
        (0.01, tolerance),
        xycoords=("axes fraction", "data"),
        fontsize=8,
        va="bottom",
    )
    axis.set_ylim(top=top)


def _direct_labels(axis: Any, ends: list[tuple[float, str, str]]) -> None:
    """Name each line at its end; names that would overlap are pushed apart."""
    low, high = axis.get_ylim()
    gap = 0.075 * (high - low)
    ends = sorted(ends)
    places = [value for value, _, _ in ends]
    for _ in range(50):
        for i in range(1, len(places)):
            overlap = gap - (places[i] - places[i - 1])
            if overlap > 0:
                places[i - 1] -= overlap / 2
                places[i] += overlap / 2
    for place, (_, label, colour) in zip(places, ends, strict=True):
        axis.annotate(
            _mathematical(label),
            (1.01, (place - low) / (high - low)),
            xycoords="axes fraction",
            color=colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
        )
    axis.set_ylim(low, high)


def _mathematical(label: str) -> str:
    return label.replace("λ_diff", r"$\lambda_{\mathrm{diff}}$").replace(
        "λ_fair", r"$\lambda_{\mathrm{fair}}$"
    )


def synthetic_panel(plt: Any) -> Any:
    """The synthetic data: two groups, each separable, together not."""
    data = make_synthetic(n_majority=2000, standardize=False)
    figure, axis = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
    for group, colour, size in (("majority", GROUPS[1], 7), ("minority", GROUPS[0], 22)):
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
    axis.axvline(0, color=GROUPS[1], lw=1, ls="--")
    axis.axhline(0, color=GROUPS[0], lw=1, ls="--")
    axis.set_xlabel("first coordinate: decides for the majority")
    axis.set_ylabel("second coordinate: decides for the minority")
    axis.set_title(
        "Synthetic data (a fifth of the majority shown)", loc="left", fontweight="bold", fontsize=10
    )
    axis.legend(fontsize=8, loc="lower right", framealpha=0.9)
    axis.set_aspect("equal")
    limit = float(np.abs(data.X).max())
    axis.set(xlim=(-limit, limit), ylim=(-limit, limit))
    return figure
