"""Is a watched model called refuted without a reason, and how soon is a change found?

python -m benchmarks.watch [--runs 20] [--labels 200]

The scenarios were written down before the method was chosen. Each is 36 months of about 3,000 rows. The true
rates of every month are known, so that every statement is right or wrong: a refutation is false where no
window of months that it could speak of had a gap above the tolerance.
"""

from benchmarks._machine import machine_line

import argparse
from dataclasses import dataclass

import numpy as np

from fairask.audit.watch import Watch

MONTHS, ROWS, TOLERANCE, BINS = 36, 3000, 0.1, 4
NAMES = [f"{2024 + i // 12}-{i % 12 + 1:02d}" for i in range(MONTHS)]
SEASON = np.sin(2 * np.pi * np.arange(MONTHS) / 12)


def after(month):
    """1 from a month on (the first is month 1), 0 before."""
    return (np.arange(1, MONTHS + 1) >= month).astype(float)


@dataclass(frozen=True)
class Scenario:
    """The truth: per month (or for all months) of each group its share, base rate, and two error rates.

    ``score`` is how many times likelier each bin of the model's score makes label 1 than the bin below, among
    rows of one group and decision: 1 tells nothing, below 1 it misleads. ``lost`` is the share of rejected
    positives of the last group that nobody can label.
    """

    tpr: tuple
    fpr: tuple = (0.1, 0.1)
    base: tuple = (0.4, 0.3)
    share: tuple = (0.6, 0.4)
    score: float = 2.5
    lost: float = 0.0

    def by_month(self, name):
        """Values of shape (months, groups)."""
        return np.stack([np.broadcast_to(v, MONTHS) for v in getattr(self, name)], axis=1).astype(float)

    def cells(self):
        """Probability of each (group, decision, bin, label): of shape (months, groups, 2, bins, 2)."""
        tpr, fpr, base, share = map(self.by_month, ("tpr", "fpr", "base", "share"))
        one = np.stack([1 - tpr, tpr], -1) * base[..., None]
        zero = np.stack([1 - fpr, fpr], -1) * (1 - base)[..., None]
        power = self.score ** (np.arange(BINS) / 2)
        ones, zeros = power / power.sum(), power[::-1] / power.sum()
        both = np.stack([zero[..., None] * zeros, one[..., None] * ones], -1)
        return both * (share / share.sum(1, keepdims=True))[..., None, None, None]

    def gap(self, window):
        """The true gap of some months taken together."""
        positives = self.cells()[window][..., 1].sum(axis=(0, 3))
        return float(np.ptp(positives[:, 1] / positives.sum(axis=1)))


SCENARIOS = {
    "unchanged, at the tolerance": Scenario((0.85, 0.75)),
    "unchanged, well inside": Scenario((0.85, 0.82)),
    "grown by .05 at month 1": Scenario((0.85, 0.70)),
    "grown by .05 at month 6": Scenario((0.85, 0.75 - 0.05 * after(6))),
    "grown by .05 at month 12": Scenario((0.85, 0.75 - 0.05 * after(12))),
    "slow drift from .1 to .2": Scenario((0.85, 0.75 - 0.1 * np.arange(MONTHS) / (MONTHS - 1))),
    "from 0 to .3 at month 12": Scenario((0.85, 0.85 - 0.3 * after(12))),
    "shares of groups shift": Scenario((0.85, 0.75), share=(1.0, np.linspace(0.7, 0.1, MONTHS))),
    "base rates and both true rates fall": Scenario(
        (0.85 - 0.2 * after(12), 0.75 - 0.2 * after(12)), base=(0.4 - 0.1 * after(12), 0.3 - 0.1 * after(12))
    ),
    "seasonal: rates and shares together": Scenario(
        (0.8 + 0.1 * SEASON, 0.7 + 0.1 * SEASON), share=(0.6, 0.4 - 0.1 * SEASON)
    ),
    "few positives": Scenario((0.7, 0.6), (0.02, 0.02), (0.06, 0.04)),
    "few positives, the other group": Scenario((0.6, 0.7), (0.02, 0.02), (0.06, 0.04)),
    "rejected-heavy groups": Scenario((0.3, 0.2), (0.02, 0.02)),
    "score useless": Scenario((0.85, 0.75), score=1.0),
    "score hides missed positives": Scenario((0.85, 0.75), score=0.3),
    "10 % of one group's missed positives have no label": Scenario((0.85, 0.75), lost=0.1),
    "three groups": Scenario((0.85, 0.80, 0.75), (0.1, 0.1, 0.1), (0.4, 0.35, 0.3), (0.5, 0.3, 0.2)),
}


def run(scenario, seed, labels):
    """The month of a refutation (0 if none), and whether it was false."""
    rng, cells = np.random.default_rng(seed), scenario.cells()
    groups = [*"abc"[: cells.shape[1]]]
    watch = Watch(groups, certified="2023-12", labels=labels)
    for i, name in enumerate(NAMES):
        each = rng.choice(cells[i].size, ROWS, p=cells[i].ravel() / cells[i].sum())
        group, decision, _, label = np.unravel_index(each, cells.shape[1:])
        lost = (group == len(groups) - 1) & (decision < label) & (rng.random(ROWS) < scenario.lost)
        rows = watch.add(name, decision, np.array(groups)[group])
        watch.tell(rows, np.where(lost, None, label.astype(object))[rows])
        if watch.standing().verdict == "refuted":
            windows = [slice(a, b) for b in range(1, i + 2) for a in range(b)]
            return i + 1, max(map(scenario.gap, windows)) <= TOLERANCE + 1e-9
    return 0, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--labels", type=int, default=200)
    given = parser.parse_args()
    print("| scenario | gap in month 1 | in month 36 | refuted, % | falsely, % | month (median) |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, scenario in SCENARIOS.items():
        found = np.array([run(scenario, seed, given.labels) for seed in range(given.runs)])
        when = found[found[:, 0] > 0, 0]
        middle = f"{np.median(when):.0f}" if len(when) else ""
        refuted, false = 100 * len(when) / len(found), 100 * found[:, 1].mean()
        gaps = " | ".join(f"{scenario.gap([m]):.2f}" for m in (0, -1))
        print(f"| {name} | {gaps} | {refuted:.0f} | {false:.0f} | {middle} |", flush=True)
    print(f"\n{given.runs} runs per scenario, {given.labels} labels a month, tolerance {TOLERANCE}.")
    print(machine_line())


if __name__ == "__main__":
    main()
