"""The README's table of results and its picture, from the result files in the repository.

python -m benchmarks.readme_table [--figure docs/img/gap.svg]
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

from fairask.report.figures import COLORS, INK, panels, style
from paper.problems import get_setup
from paper.stats import summarize
from paper.store import load_curves

TABLES = ("drug", "german", "compas", "crime", "bank", "adult")
COLUMNS = (
    ("plain-passive", "no constraint"),
    ("threshold-optimizer", "ThresholdOptimizer"),
    ("default", "default"),
)
#: Who is drawn, from top to bottom of each table.
DRAWN = (
    ("plain-passive", "plain classifier", COLORS["sky"]),
    ("default-passive", "fair, uniform rows", INK),
    ("default", "fair, chosen rows (default)", COLORS["blue"]),
)


def table(profile, results):
    print("| table, labels | " + " | ".join(label for _, label in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name in TABLES:
        problem = profile.problem(name)
        ends = [summarize(results[name, method], profile.tolerance) for method, _ in COLUMNS]
        cells = [f"{end.accuracy:.1f} / {100 * end.above:.0f} %" for end in ends]
        print(f"| {problem.title}, {problem.budget:,} | {' | '.join(cells)} |")


def figure(profile, results, file):
    """Draw the gaps at the end of the budget, widest without a constraint on top."""
    gaps = {(n, m): results[n, m].of_converged().gap[:, -1] for n in TABLES for m, *_ in DRAWN}
    order = sorted(TABLES, key=lambda name: gaps[name, "plain-passive"].mean())
    with style(), matplotlib.rc_context({"svg.hashsalt": "fairask", "svg.fonttype": "path"}):
        drawn, (axis,) = panels(None, 1, 1, (5.8, 4.0))
        for place, (method, label, color) in enumerate(DRAWN):
            found = [gaps[name, method] for name in order]
            heights = np.arange(len(order)) + 0.24 * (1 - place)
            low, high = np.transpose([np.quantile(gap, (0.1, 0.9)) for gap in found])
            axis.hlines(heights, low, high, color=color, linewidth=3, alpha=0.4)
            axis.plot([gap.mean() for gap in found], heights, "o", color=color, markersize=7, label=label)
        axis.set_yticks(range(len(order)), [profile.problem(name).title for name in order])
        axis.set_title("By how much two groups' true positive rates differ")
        axis.set_xlabel("gap; 0: alike")
        top = 1.05 * max(np.quantile(gap, 0.9) for gap in gaps.values())
        axis.set_xlim(0, top)
        axis.axvline(profile.tolerance, color=INK, linestyle=(0, (5, 3)), linewidth=1.2)
        axis.axvspan(profile.tolerance, top, color=COLORS["vermillion"], alpha=0.08, linewidth=0)
        axis.annotate("above the tolerance", (0.99, 0.03), xycoords="axes fraction", ha="right", fontsize=9.5)
        drawn.legend(loc="outside lower center", ncols=3, frameon=False, columnspacing=1.0, handletextpad=0.2)
        drawn.savefig(file, facecolor="white", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, help="also draw the gaps: a PNG, SVG or PDF file")
    options = parser.parse_args()
    profile = get_setup("paper")
    results = load_curves(Path(__file__).parents[1] / "results")
    table(profile, results)
    if options.figure:
        figure(profile, results, options.figure)


if __name__ == "__main__":
    main()
