"""Does choosing rows help where labels or groups are imbalanced? From the result files, rarest first.

python -m benchmarks.imbalanced
"""

from pathlib import Path

import numpy as np

from paper.populations import draw_population
from paper.problems import get_setup
from paper.stats import mean_and_error
from paper.store import load_curves

RESULTS = Path(__file__).parents[1] / "results"


def line(problem, curves):
    """Rarity and gains of one population: the same model, with chosen and with uniform rows."""
    data = draw_population(problem.dataset, 0)
    ours, uniform = (curves[problem.name, method].of_converged() for method in ("default", "default-passive"))
    (gain, error) = paired(100 * ours.accuracy[:, -1], 100 * uniform.accuracy[:, -1])
    gaps = [curve.gap[:, -1].mean() for curve in (ours, uniform)]
    smallest = np.unique(data.groups, return_counts=True)[1].min() / len(data.y)
    return data.y.mean(), (
        f"| {problem.title} | {100 * data.y.mean():.0f} % | {100 * smallest:.0f} % "
        f"| {gain:+.1f} ± {error:.1f} "
        f"| {gaps[0]:.3f} | {gaps[1]:.3f} |"
    )


def paired(ours, uniform):
    """Mean difference and its standard error; trials have the same splits where there are as many."""
    if len(ours) == len(uniform):
        return mean_and_error(ours - uniform)
    (a, e), (b, f) = mean_and_error(ours), mean_and_error(uniform)
    return a - b, np.hypot(e, f)


def main():
    setup, curves = get_setup("populations"), load_curves(RESULTS, "populations")
    print(
        "| population, 250 labels | positives | smallest group | gain in points "
        "| gap, chosen | gap, uniform |"
    )
    print("|---|---|---|---|---|---|")
    lines = [line(problem, curves) for problem in setup.problems.values()]
    print(*(text for _, text in sorted(lines)), sep="\n")


if __name__ == "__main__":
    main()
