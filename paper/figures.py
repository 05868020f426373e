"""The paper's figures from the result files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from paper._draw import draw_curves, save, synthetic_panel
from paper._sampling_figure import sampling_figure
from paper.methods import METHODS
from paper.problems import Setup
from paper.store import Curves, by_problem
from paper.tables import LONG, best_of_families

__all__ = ["FIGURES", "draw_all"]

#: Name -> (problem, title, methods; None: all of Table 1's kind). The first six are the paper's Fig. 2-7.
FIGURES: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "fig2-drug": ("drug", "Drug Consumption", None),
    "fig3-bank": ("bank", "Bank", None),
    "fig4-german": ("german", "German Credit", None),
    "fig5-adult": ("adult", "Adult Income", None),
    "fig6-compas": ("compas", "Compas", None),
    "fig7-crime": ("crime", "Communities and Crime", None),
    "adult-eo": ("adult-eo", "Adult Income, equalized odds", None),
    "margin-drug": ("drug", "The 1/√n margin, on Drug", ("fare", "fare-nomargin", "passive")),
    "trees-drug": (
        "drug",
        "Trees and logistic regression, on Drug",
        ("fare", "fare-tree", "passive", "passive-tree"),
    ),
    "synthetic-curves": ("synthetic", "Synthetic", None),
}

#: In figures of their own, or in tables only: a figure of a dozen lines shows none of them.
_ABLATIONS = ("fare-nomargin", "fare-tree", "passive-tree", "group_balanced", LONG)
_VARIANTS = "default-"


def draw_all(
    results: dict[tuple[str, str], Curves],
    setup: Setup,
    folder: Path,
    formats: Sequence[str] = ("png", "pdf"),
    dpi: int = 150,
) -> list[Path]:
    """Draw every figure that the results suffice for; return the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    grouped = by_problem(results)
    written: list[Path] = []
    for name, (problem, title, chosen) in _figures(setup, grouped).items():
        methods = _chosen(grouped.get(problem, {}), chosen, setup.tolerance)
        if len(methods) >= (len(chosen) if chosen else 1):
            figure = draw_curves(methods, setup.problem(problem), title, setup.tolerance)
            written += save(figure, folder / name, formats, dpi)
    written += save(sampling_figure(), folder / "fig1-sampling", formats, dpi)
    written += save(synthetic_panel(), folder / "synthetic", formats, dpi)
    return written


def _figures(setup: Setup, grouped: dict[str, Any]) -> dict[str, tuple[str, str, tuple[str, ...] | None]]:
    if setup.name == "paper":
        return FIGURES
    return {name: (name, setup.problem(name).title, None) for name in grouped}


def _chosen(methods: dict[str, Curves], chosen: Iterable[str] | None, tolerance: float) -> dict[str, Curves]:
    if chosen is not None:
        return {name: methods[name] for name in chosen if name in methods}
    best = best_of_families(methods, tolerance)
    ends = {name: curves.of_converged() for name, (_, curves) in best.items() if _shown(name)}
    return {name: ends[name] for name in METHODS if name in ends and len(ends[name])}


def _shown(name: str) -> bool:
    return name not in _ABLATIONS and not name.startswith(_VARIANTS)
