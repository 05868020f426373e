"""The README's table of results, from the result files in the repository.

python -m benchmarks.readme_table
"""

from pathlib import Path

from paper.reported import PAPER
from paper.problems import get_setup
from paper.stats import summarize
from paper.store import load_curves

COLUMNS = (
    ("passive", "passive, paper"),
    ("fare", "FARE, paper"),
    ("plain-passive", "no constraint"),
    ("threshold-optimizer", "ThresholdOptimizer"),
    ("default-passive", "default, passive"),
    ("default", "default"),
)


def main():
    profile = get_setup("paper")
    results = load_curves(Path(__file__).parents[1] / "results")
    print("| dataset, labels | the paper's FARE | " + " | ".join(label for _, label in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    for name in ("drug", "german", "compas", "crime", "bank", "adult"):
        problem, paper = profile.problem(name), PAPER[name, "FARE"]
        cells = []
        for method, _ in COLUMNS:
            if (name, method) not in results:
                cells.append("–")
                continue
            end = summarize(results[name, method], profile.tolerance)
            few = "" if end.trials >= 100 else f" ({end.trials})"
            cells.append(f"{end.accuracy:.1f} / {end.violation:.3f} / {100 * end.above:.0f} %{few}")
        first = f"{problem.title}, {problem.budget:,} | {paper.accuracy:.1f} / {paper.violation:.3f}"
        print(f"| {first} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
