"""False verdicts of ``fairask audit --known`` on models whose gap is exactly the tolerance.

Scenarios were written down before the first run: rare positives, a tiny group, labels of a part that is
uneven between groups, several groups, two claims, a ratio. Labels are of all rows or of a random part of a
fresh table, and the verdict is about the population: every certificate is wrong, and so is every refutation.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from fairask.audit.labelled_rows import certify_known
from fairask.audit.plan import AuditPlan
from fairask.errors import FairaskWarning, UserError

#: Metric; rows, share of positives and rate of each group; share of each group's rows that have a label.
SCENARIOS = {
    "two groups, all labelled": ("tprp", [(600, 0.5, 0.85), (600, 0.5, 0.75)], [1.0, 1.0]),
    "half labelled at random": ("tprp", [(900, 0.5, 0.85), (900, 0.5, 0.75)], [0.5, 0.5]),
    "rare positives": ("tprp", [(1500, 0.05, 0.6), (1500, 0.05, 0.5)], [0.6, 0.6]),
    "a tiny group": ("tprp", [(3000, 0.4, 0.95), (60, 0.5, 0.85)], [0.5, 0.9]),
    "uneven between groups": ("tprp", [(2000, 0.3, 0.4), (500, 0.6, 0.3)], [0.1, 0.8]),
    "four groups": (
        "tprp",
        [(500, 0.5, 0.85), (500, 0.5, 0.8), (500, 0.5, 0.8), (500, 0.5, 0.75)],
        [0.6] * 4,
    ),
    "two claims": ("tprp+fprp", [(800, 0.5, 0.7), (800, 0.5, 0.6)], [0.7, 0.7]),
    "a ratio": ("tpr-ratio", [(800, 0.5, 0.8), (800, 0.5, 0.72)], [0.7, 0.7]),
}


def play(name: str, runs: int, seed: int) -> tuple[int, int, int]:
    """Return how many runs certify, refute and are refused as no random part."""
    metric, groups, shares = SCENARIOS[name]
    first, *also = metric.split("+")
    plan = AuditPlan(metric=first, tolerance=0.1, also=also)
    rng = np.random.default_rng([seed, *name.encode()])
    k, counted = len(groups), [0, 0, 0]
    for _ in range(runs):
        labels, rows = np.zeros((2, 2, k), dtype=np.int64), np.zeros((2, k), dtype=np.int64)
        for g, ((n, base, rate), share) in enumerate(zip(groups, shares, strict=True)):
            y = (rng.random(n) < base).astype(int)
            # The second claim has the same rates given a negative label.
            said = (rng.random(n) < np.where((y == 1) | bool(also), rate, 0.3)).astype(int)
            told = rng.random(n) < share
            np.add.at(rows[:, g], said, 1)
            np.add.at(labels[:, :, g], (y[told], said[told]), 1)
        try:
            made = certify_known(list(range(k)), labels, rows, plan, "population")
        except UserError:
            counted[2] += 1
            continue
        counted[0] += any(c.verdict == "certified" for c in made)
        counted[1] += any(c.verdict == "refuted" for c in made)
    return counted[0], counted[1], counted[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", FairaskWarning)
    print(f"{options.runs:,} runs each, seed {options.seed}, delta 0.05, gap exactly the tolerance")
    print(f"{'scenario':26}{'certified':>12}{'refuted':>12}{'refused':>10}")
    for name in SCENARIOS:
        shares = [n / options.runs for n in play(name, options.runs, options.seed)]
        print(f"{name:26}{shares[0]:>12.3f}{shares[1]:>12.3f}{shares[2]:>10.3f}", flush=True)
    print(f"standard error of 0.05: {(0.05 * 0.95 / options.runs) ** 0.5:.3f}")


if __name__ == "__main__":
    main()
