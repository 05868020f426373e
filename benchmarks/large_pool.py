"""The default on a large pool: the blend on sub-pools, and the linear model counted on every row.

    python -m benchmarks.large_pool [--rows 1000000] [--trials 10] [--labels 200]

The pools are drawn from two populations of ``populations.py``: groups that differ in their base rates, and
labels that follow an interaction of features. Accuracy and violation are measured on 20,000 fresh rows.
Passive sampling is beside each model. Results go to ``results/scale/large_pool.csv``; trials that are there
are not run again.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from fairask import FairActiveLearner, simulate
from fairask.experiment.loop import evaluate
from fairask.report.figures import mean_and_error
from benchmarks.populations import ten, twelve

FILE = Path(__file__).resolve().parent.parent / "results" / "scale" / "large_pool.csv"
POPULATIONS, BATCH, FRESH = ("base rates", "interaction"), 50, 20_000
METHODS = {
    "blend, FARE": (None, "fare"),
    "linear, FARE": ("linear", "fare"),
    "blend, passive": (None, "passive"),
    "linear, passive": ("linear", "passive"),
}


@functools.lru_cache(maxsize=1)
def drawn(name: str, rows: int, trial: int) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """The pool and the test rows of a trial."""
    rng = np.random.default_rng([41, trial])
    population = {**twelve(), **ten()}[name]
    X, y, groups = population.draw(rows, rng)
    return (X.astype(np.float32), y, groups), population.draw(FRESH, rng)


def one(name: str, method: str, rows: int, labels: int, trial: int) -> dict[str, object]:
    estimator, strategy = METHODS[method]
    (X, y, groups), test = drawn(name, rows, trial)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = FairActiveLearner(
            X, groups, strategy=strategy, estimator=estimator, batch_size=BATCH,
            random_state=trial,
        )  # fmt: skip
        simulate(learner, y, labels)
        accuracy, violation = evaluate(learner.current_model(), *test)
    cpu = round(time.process_time() - start, 2)
    return {
        "population": name, "method": method, "rows": rows, "labels": labels, "trial": trial,
        "accuracy": round(accuracy, 5), "violation": round(violation, 5), "cpu": cpu,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--trials", type=int, default=10)
    args = parser.parse_args()
    done = list(csv.DictReader(FILE.open())) if FILE.exists() else []
    for trial, name, method in itertools.product(range(args.trials), POPULATIONS, METHODS):
        key = {
            "population": name, "method": method, "rows": str(args.rows), "labels": str(args.labels),
            "trial": str(trial),
        }  # fmt: skip
        if any(key.items() <= row.items() for row in done):
            continue
        row = {k: str(v) for k, v in one(name, method, args.rows, args.labels, trial).items()}
        done.append(row)
        new = not FILE.exists()
        with FILE.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
    print(f"{args.rows:,} rows, {args.labels} labels in batches of {BATCH}; tolerance 0.1")
    heads = f"{'accuracy':>15} {'violation':>15} {'above 0.1':>9} {'cpu s':>7}"
    print(f"{'population':12} {'method':16} {'trials':>6} {heads}")
    for name, method in itertools.product(POPULATIONS, METHODS):
        key = {"population": name, "method": method, "rows": str(args.rows), "labels": str(args.labels)}
        mine = [row for row in done if key.items() <= row.items() and int(row["trial"]) < args.trials]
        shown = []
        for column in ("accuracy", "violation"):
            mean, error = mean_and_error(np.array([float(row[column]) for row in mine]))
            shown.append(f"{mean:.3f} ± {error:.3f}")
        above = sum(float(row["violation"]) > 0.1 for row in mine)
        cpu = np.mean([float(row["cpu"]) for row in mine])
        print(f"{name:12} {method:16} {len(mine):>6} {shown[0]:>15} {shown[1]:>15} {above:>9} {cpu:>7.1f}")


if __name__ == "__main__":
    main()
