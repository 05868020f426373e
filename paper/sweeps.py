"""The appendix: how much of the budget a rival spends on uniform labels first, in a table and in figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairask.metrics import Float
from fairask.report.figures import COLORS, panels
from paper._draw import save, styled
from paper.methods import METHODS, PaperMethod
from paper.problems import Setup
from paper.render import Entry, Table, render
from paper.reported import PAPER
from paper.stats import Summary, mean_and_error, summarize
from paper.store import Curves, by_problem

__all__ = ["draw_sweep", "sweep_table", "sweeps_section"]

# Shares differ by colour, line and marker, so that they are told apart without colours.
_LOOKS = {0.1: ("sky", ":", "s"), 0.25: ("orange", "--", "^"), 0.5: ("vermillion", "-", "o")}
_COLUMNS = 4


def _families(results: dict[tuple[str, str], Curves]) -> dict[str, list[PaperMethod]]:
    used = {name for _, name in results}
    out: dict[str, list[PaperMethod]] = {}
    for method in METHODS.values():
        if method.family is not None and method.name in used:
            out.setdefault(method.family, []).append(method)
    return out


def sweep_table(results: dict[tuple[str, str], Curves], setup: Setup) -> Table:
    """Every pretraining share of every rival, all trials and those that converged."""
    table = Table(
        "The pretraining sweep",
        ["dataset", "method", "trials", "accuracy %", "gap", "converged", "accuracy %", "gap"],
        note="Left: all trials, the policy used such as it is. Right: those whose policy converged; a dash "
        "where there is nothing to converge, or fewer than two did.",
    )
    grouped = by_problem(results)
    for problem, methods in grouped.items():
        for family in _families(results).values():
            for method in (m for m in family if m.name in methods):
                curves = methods[method.name]
                row: list[Entry | str] = [setup.problem(problem).title, method.label, f"{len(curves)}"]
                row += _shown(summarize(curves.regardless(), setup.tolerance), setup.tolerance)
                learns = "unconverged" in method.strategy_params
                end = summarize(curves, setup.tolerance)
                row.append(f"{end.trials}" if learns else "–")
                row += _shown(end, setup.tolerance) if learns and end.trials >= 2 else ["–", "–"]
                table.rows.append(row)
    return table


def _shown(end: Summary, alpha: float) -> list[Entry | str]:
    return [
        f"{end.accuracy:.1f} ± {end.accuracy_se:.1f}",
        Entry(f"{end.gap:.3f} ± {end.gap_se:.3f}", met=end.met(alpha)),
    ]


@styled
def draw_sweep(
    family: str, methods: list[PaperMethod], results: dict[tuple[str, str], Curves], setup: Setup
) -> Figure:
    """Accuracy above gap for every dataset, a line for each share; all trials."""
    problems = [p for p in setup.problems if any((p, m.name) in results for m in methods)]
    columns = min(_COLUMNS, len(problems))
    blocks = -(-len(problems) // columns)
    drawn, flat = panels(None, 2 * blocks, columns, (3.1 * columns, 4.4 * blocks))
    axes = np.array(flat, dtype=object).reshape(2 * blocks, columns)
    for place in range(blocks * columns):
        block, column = divmod(place, columns)
        pair = axes[2 * block, column], axes[2 * block + 1, column]
        if place < len(problems):
            _column(pair, problems[place], family, methods, results, setup)
        else:
            for axis in pair:
                axis.set_visible(False)
    for block in range(blocks):
        axes[2 * block, 0].set_ylabel("accuracy, %")
        axes[2 * block + 1, 0].set_ylabel("gap")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return drawn


def _column(
    pair: tuple[Axes, Axes],
    problem: str,
    family: str,
    methods: list[PaperMethod],
    results: dict[tuple[str, str], Curves],
    setup: Setup,
) -> None:
    paper = PAPER.get((problem, family))
    end = setup.problem(problem).budget
    for axis, field, scale in ((pair[0], "accuracy", 100.0), (pair[1], "gap", 1.0)):
        later = []
        for method in methods:
            curves = results.get((problem, method.name))
            if curves is None:
                continue
            colour, line, marker = _LOOKS[method.pretrain]
            mean, error = mean_and_error(scale * getattr(curves, field))
            label = f"{family}, {method.pretrain:.0%} pretraining"
            axis.plot(
                curves.labels, mean, line, color=COLORS[colour], marker=marker, ms=3, lw=1.5, label=label
            )
            axis.fill_between(
                curves.labels, mean - error, mean + error, color=COLORS[colour], alpha=0.15, lw=0
            )
            later.append(mean[curves.labels >= 0.3 * end])
        if paper is not None:
            value = paper.accuracy if field == "accuracy" else paper.gap
            axis.plot(
                1.04 * end, value, marker="*", ms=10, mfc="white", mec="black", ls="", clip_on=False,
                label="the paper's end point",
            )  # fmt: skip
            later.append(np.array([value]))
        _limits(axis, np.concatenate(later), field, setup.tolerance)
        axis.set_xlim(0, 1.08 * end)
        axis.xaxis.grid(False)
    pair[0].set_title(setup.problem(problem).title, fontsize=10, fontweight="bold")
    pair[0].tick_params(labelbottom=False)
    pair[1].set_xlabel("labels")


def _limits(axis: Axes, values: Float, field: str, tolerance: float) -> None:
    # From a third of the budget on: the first rounds would squeeze the part that matters.
    if field == "gap":
        axis.set_ylim(0.0, max(1.2 * values.max(), 2.0 * tolerance))
        axis.axhline(tolerance, color="#333333", ls="--", lw=1)
    else:
        room = 0.15 * max(values.max() - values.min(), 1.0)
        axis.set_ylim(values.min() - room, values.max() + room)


def sweeps_section(
    results: dict[tuple[str, str], Curves], setup: Setup, folder: Path, dpi: int = 80
) -> list[str]:
    """Draw the figures; return the parts of the page."""
    families = _families(results)
    if not families:
        return []
    lines = [
        "## Appendix: the pretraining sweep\n",
        "A rival first spends a share of the budget on uniform labels: FAL measures unfairness on them, "
        "FAL-CUR fits its first model, PANDA trains its policy. Figures show all trials, mean with one "
        "standard error.\n",
        render(sweep_table(results, setup)),
    ]
    for family, methods in families.items():
        stem = folder / f"sweep-{family.lower().replace('-', '')}"
        save(draw_sweep(family, methods, results, setup), stem, ["png"], dpi)
        lines.append(f"![{family}: the pretraining sweep](img/results/{stem.name}.png)\n")
    return lines
