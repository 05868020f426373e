"""The README's table of results, from the result files in the repository.

python -m benchmarks.readme_table
"""

from pathlib import Path

from paper.problems import get_setup
from paper.stats import summarize
from paper.store import load_curves

COLUMNS = (
    ("plain-passive", "no constraint"),
    ("threshold-optimizer", "ThresholdOptimizer"),
    ("default", "default"),
)


def main():
    profile = get_setup("paper")
    results = load_curves(Path(__file__).parents[1] / "results")
    print("| table, labels | " + " | ".join(label for _, label in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name in ("drug", "german", "compas", "crime", "bank", "adult"):
        problem = profile.problem(name)
        ends = [summarize(results[name, method], profile.tolerance) for method, _ in COLUMNS]
        cells = [f"{end.accuracy:.1f} / {100 * end.above:.0f} %" for end in ends]
        print(f"| {problem.title}, {problem.budget:,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
