"""Fig. 1: where FARE's two distributions put their mass, on two features and with k = 2."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fairask.design import disagreement_design, group_design
from fairask.oracle import EmpiricalFairOracle, Labelled
from fairask.pools import Pool
from fairask.report.figures import COLORS, GROUP_COLORS, panels
from fairask.rules import LinearRule
from paper._draw import styled

__all__ = ["sampling_figure"]


def _example(seed: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    groups = (rng.random(600) < 0.2).astype(np.int64)
    X = rng.normal(size=(600, 2)) + 0.9 * groups[:, None] * [1.0, -1.0]
    y = (X.sum(axis=1) + 0.6 * rng.normal(size=600) > 0.2).astype(float)
    return X, groups, y


@styled
def sampling_figure() -> Figure:
    """Two panels: lambda_diff between two perturbed classifiers, lambda_fair on both groups alike."""
    X, groups, y = _example()
    rng = np.random.default_rng(0)
    labelled = rng.choice(len(X), 40, replace=False)
    flips = rng.random((2, 40)) < 0.15
    rows = Labelled.of(X[labelled], y[labelled], groups[labelled], [0, 1])
    oracle = EmpiricalFairOracle(tolerance=0.1, shift_threshold=False)
    solutions = oracle.perturbed(rows, np.where(flips, 1.0 - rows.y, rows.y))
    rules = [solution.sample(rng) for solution in solutions]
    cells = Pool(X, groups, 2).by_prediction(rules)
    design = disagreement_design(cells.patterns, cells.counts)
    assert design is not None  # two classifiers of different labels differ somewhere on 600 rows
    drawn, axes = panels(None, 1, 2, (8.2, 4.0), sharex=True, sharey=True)
    shown = (
        ("λ_diff: where the two classifiers disagree", design.per_row),
        ("λ_fair: both groups alike", group_design(cells.groups, cells.counts)),
    )
    for axis, (title, per_row) in zip(axes, shown, strict=True):
        mass = per_row[cells.cell]
        for group, marker in ((0, "o"), (1, "^")):
            rows = groups == group
            axis.scatter(
                *X[rows].T,
                s=8 + 3200 * mass[rows],
                c=GROUP_COLORS[1 - group],
                marker=marker,
                alpha=0.75,
                lw=0,
            )
        for rule, colour in zip(rules, (COLORS["blue"], COLORS["vermillion"]), strict=True):
            assert isinstance(rule, LinearRule)
            x = np.array([-4.0, 4.0])
            axis.plot(x, -(rule.beta[0] * x + rule.beta[2]) / rule.beta[1], color=colour, lw=1.6)
        axis.set(xlim=(-4, 4), ylim=(-4, 4), xlabel="first feature")
        axis.set_title(title, loc="left", fontsize=10)
    axes[0].set_ylabel("second feature")
    axes[1].annotate(
        "size: probability of the draw\n● group of 80 %   ▲ group of 20 %",
        (0.02, 0.02),
        xycoords="axes fraction",
        fontsize=8,
        fontfamily="DejaVu Sans",
    )
    return drawn
