"""Is a watched model called refuted without a reason, and how soon is a change found?

python -m benchmarks.watch [--runs 60]

Scenarios were written down before anything was tuned. Each is 36 months; the true rates are known, so that
every statement is right or wrong. A month is certified falsely where the mean gap of its window is above the
tolerance.
"""

from benchmarks._machine import machine_line

import argparse

import numpy as np
from sklearn.preprocessing import StandardScaler

from fairask import CalibratedFairOracle, group_gap
from fairask.audit import simulate_audit
from fairask.audit.watch import Watch, months_between
from fairask.datasets import load

#: Base rates of both groups, and by scenario the true positive rates of both before and after month 12.
BASE = (0.4, 0.3)
SCENARIOS = {
    "alike": ((0.85, 0.85), None),
    "gap .05": ((0.85, 0.80), None),
    "gap .1, at the tolerance": ((0.85, 0.75), None),
    "gap .1, other way": ((0.60, 0.70), None),
    "both rates fall": ((0.85, 0.80), (0.65, 0.60)),
    "gap grows .05 to .1": ((0.85, 0.80), (0.85, 0.75)),
    "gap grows .1 to .15": ((0.85, 0.75), (0.85, 0.70)),
    "gap grows .05 to .2": ((0.85, 0.80), (0.85, 0.65)),
    "gap grows 0 to .3": ((0.85, 0.85), (0.85, 0.55)),
    "10 % of positives without a label, the rejected of one group": ((0.85, 0.75), None),
}
MONTHS, CHANGE, TOLERANCE = 36, 12, 0.1
NAMES = [f"{2024 + i // 12}-{i % 12 + 1:02d}" for i in range(MONTHS)]


def month(rng, rates, labels, lost):
    """Decisions, groups and labels of the rows of a month; None where nobody can tell."""
    group = np.repeat([0, 1], labels // 2)
    y = rng.random(len(group)) < np.array(BASE)[group]
    said = y & (rng.random(len(group)) < np.array(rates)[group])
    told = y.astype(int).astype(object)
    if lost:
        told[(group == 1) & y & ~said & (rng.random(len(group)) < 0.4)] = None
    return said.astype(int), np.array(["a", "b"])[group], told


def run(seed, before, after, labels, lost):
    """What is said in each month: verdicts, and whether a window was certified falsely."""
    rng, watch = np.random.default_rng(seed), Watch("ab", certified="2023-12", labels=labels)
    verdicts, false = [], False
    gaps = []
    for i, name in enumerate(NAMES):
        rates = before if after is None or i < CHANGE else after
        gaps.append(rates[0] - rates[1])
        said, group, told = month(rng, rates, labels, lost)
        rows = watch.add(name, said, group)
        watch.tell(rows, told[rows])
        found = watch.standing()
        window = [
            g for g, n in zip(gaps, NAMES[: i + 1], strict=True) if months_between(n, name) < watch.valid_for
        ]
        false |= (
            found.since == name and found.verdict != "refuted" and abs(np.mean(window)) > TOLERANCE + 1e-9
        )
        verdicts.append(found.verdict)
        if found.verdict == "refuted":
            break
    return verdicts, false


def fresh_audit():
    """An audit each month, of a model with a gap of .05: its labels, and how often it certifies."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 10_000)
    y = rng.random(20_000) < np.array(BASE)[group]
    said = y & (rng.random(20_000) < np.array((0.85, 0.80))[group])
    found = simulate_audit(y.astype(int), said.astype(int), group, n_audits=200, budget=3000)
    return f"{found.mean_labels:,.0f} labels each month in the mean, certified {100 * found.certified:.0f} %"


def adult():
    """A model of Adult's rows without a university degree decides on those from month 13 on with one."""
    data = load("adult")
    rng = np.random.default_rng(0)
    degree = data.X[:, data.feature_names.index("education-num")] > np.median(
        data.X[:, data.feature_names.index("education-num")]
    )
    kinds = [rng.permutation(np.flatnonzero(~degree)), rng.permutation(np.flatnonzero(degree))]
    train, kinds[0] = kinds[0][:2000], kinds[0][2000:]
    scale = StandardScaler().fit(data.X[train])
    oracle = CalibratedFairOracle("linear", random_state=0)
    oracle.fit(scale.transform(data.X[train]), data.y[train], data.groups[train])
    said = oracle.predict(scale.transform(data.X), sensitive_features=data.groups)
    gaps = [group_gap(data.y[k], said[k], data.groups[k]) for k in kinds]
    watch = Watch(sorted(set(data.groups.tolist())), certified="2023-12", labels=400)
    for i, name in enumerate(NAMES):
        rows = rng.choice(kinds[i >= CHANGE], 1500, replace=False)
        asked = watch.add(name, said[rows], data.groups[rows])
        watch.tell(asked, data.y[rows][asked])
        found = watch.standing()
        if found.verdict == "refuted" or i == CHANGE - 1:
            print(f"Adult, gap {gaps[0]:.3f}, then {gaps[1]:.3f}: month {i + 1}: {found.headline()}")
        if found.verdict == "refuted":
            return
    print(f"Adult: month {MONTHS}: {watch.standing().headline()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--labels", type=int, nargs="+", default=[200])
    given = parser.parse_args()
    print(
        "| scenario | labels a month | refuted, % | labels from change to refutation (median) | "
        "months certified, % | months undecided, % | runs with a false certificate, % |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (before, after) in SCENARIOS.items():
        for labels in given.labels:
            runs = [run(s, before, after, labels, "without a label" in name) for s in range(given.runs)]
            ends = [len(v) for v, _ in runs if v[-1] == "refuted"]
            share, n = len(ends) / len(runs), len(runs)
            error = np.sqrt(share * (1 - share) / n)
            delay = f"{np.median([max(e - CHANGE, 0) for e in ends]) * labels:,.0f}" if after and ends else ""
            said = np.array([v for verdicts, _ in runs for v in verdicts])
            print(
                f"| {name} | {labels} | {100 * share:.1f} ± {100 * error:.1f} | {delay} | "
                f"{100 * np.mean(said == 'certified'):.0f} | {100 * np.mean(said == 'undecided'):.0f} | "
                f"{100 * np.mean([f for _, f in runs]):.1f} |", flush=True,
            )  # fmt: skip
    print(f"\n{given.runs} runs of {MONTHS} months each, seeds 0 to {given.runs - 1}; standard errors.")
    print(f"A fresh audit each month, gap .05: {fresh_audit()}")
    adult()
    print(machine_line())


if __name__ == "__main__":
    main()
