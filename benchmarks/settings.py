"""Other criteria than equal true positive rates: does exploring still pay, and does the default stay within?

    python -m benchmarks.settings --trials 10 --out results/settings.csv

Equalized odds, demographic parity, and rules that do not read the group on German Credit and Drug; three
groups on two simulated populations (``benchmarks/populations.py``). FARE against passive sampling with the
same oracle, on the same splits. Runs that the file has are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.populations import BATCH, LABELS, POOL_ROWS, TEST_ROWS, TOLERANCE, ten, twelve
from paper import get_method, get_setup, run_trial

from fairask import FairActiveLearner
from fairask.metrics import group_gap
from fairask.oracle.base import decision_probability

SETTINGS = {"equalized odds": {"metric": "eo"}, "demographic parity": {"metric": "dp"}, "blind": {}}
TABLES = ("german", "drug")
GROUPS = {"three groups": ten, "three groups, well specified": twelve}
METHODS = {"fare": "default", "passive": "default-passive"}
COLUMNS = ["setting", "table", "method", "trial", "accuracy", "gap"]


def on_table(setting, table, method, trial):
    """Accuracy and gap at the end of one trial of the benchmark."""
    setup, made = get_setup("paper"), get_method(METHODS[method])
    problem = replace(setup.problem(table), **SETTINGS[setting])
    if setting == "blind":
        made = replace(made, blind=True, calibrated={**made.calibrated, "blind": True})
    found = run_trial(setup, problem, made, trial)
    return found.accuracy[-1], found.gap[-1]


def on_population(name, method, trial):
    """The same on a pool of a simulated population, judged on fresh rows."""
    population, rng = GROUPS[name]()[name], np.random.default_rng([trial, 14])
    X, y, groups = population.draw(POOL_ROWS, rng)
    fresh, truth, fresh_groups = population.draw(TEST_ROWS, rng)
    learner = FairActiveLearner(
        X, groups, tolerance=TOLERANCE, batch_size=BATCH, random_state=trial, strategy=method
    )
    for _ in range(LABELS // BATCH):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
    p = decision_probability(learner.current_model(), fresh, fresh_groups)
    return float(np.where(truth == 1, p, 1.0 - p).mean()), group_gap(truth, p, fresh_groups, "tprp")


def report(rows):
    """Print one line per setting and table."""
    print("| setting | table | trials | FARE | passive | FARE ahead by |\n|---|---|---|---|---|---|")
    values = {(r[0], r[1], r[2], int(r[3])): (float(r[4]), float(r[5])) for r in rows}
    for setting, table in dict.fromkeys(key[:2] for key in values):
        pairs = [
            (values[setting, table, "fare", key[3]], values[setting, table, "passive", key[3]])
            for key in values
            if key[:3] == (setting, table, "fare") and (setting, table, "passive", key[3]) in values
        ]
        if len(pairs) < 2:
            continue
        both = np.array(pairs)  # trials, methods, (accuracy, gap)
        cells = [
            f"{100 * a.mean():.1f} / {v.mean():.3f} / {100 * np.mean(v > TOLERANCE):.0f} %"
            for a, v in ((both[:, m, 0], both[:, m, 1]) for m in (0, 1))
        ]
        ahead = 100 * (both[:, 0, 0] - both[:, 1, 0])
        error = ahead.std(ddof=1) / len(ahead) ** 0.5
        print(
            f"| {setting} | {table} | {len(both)} | {' | '.join(cells)} | {ahead.mean():+.2f} ± {error:.2f} |"
        )


def main():
    """Run what the file has not, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("results/settings.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = list(csv.reader(arguments.out.open())) if arguments.out.exists() else [COLUMNS]
    done = {(r[0], r[1], r[2], int(r[3])) for r in known[1:]}
    wanted = [(setting, table) for table in TABLES for setting in SETTINGS]
    wanted += [("three groups", name) for name in GROUPS]
    with arguments.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for setting, table in wanted:
            for trial in range(arguments.trials):
                for method in METHODS:
                    if (setting, table, method, trial) in done:
                        continue
                    pair = (
                        on_population(table, method, trial)
                        if table in GROUPS
                        else on_table(setting, table, method, trial)
                    )
                    known.append([setting, table, method, str(trial), *(f"{v:.5g}" for v in pair)])
                    writer.writerow(known[-1])
                    file.flush()
    report(known[1:])


if __name__ == "__main__":
    main()
