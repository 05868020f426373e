"""Is the number of labels right that an infeasible model says are needed?

    python -m benchmarks.labels_needed --count 40 --out results/labels_needed.csv

A run goes on until its model is feasible in two rounds running, or to 1,000 labels. Each earlier round in
which the model named a range is a forecast: the geometric mean of its ends. It is right if the labels of the
first feasible round are within a factor of two of it; where there was none, if twice the forecast is above
the 1,000. Pools have 4,000 rows of :mod:`benchmarks.hostile_populations`, those of development by
default. Runs that the file has are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.hostile_populations import FIRST_FOR_DEVELOPMENT, hostile_population

from fairask import FairActiveLearner

ROWS, MOST, BATCH, FACTOR = 4000, 1000, 50, 2.0
COLUMNS = ["population", "kind", "labels", "reach", "feasible", "low", "high"]


def one(number):
    """The rounds of one run: labels, reach, whether feasible, and the range of labels needed."""
    population, rng = hostile_population(number), np.random.default_rng([number, 5])
    X, y, groups = population.draw(ROWS, rng)
    learner = FairActiveLearner(X, groups, metric=population.metric, batch_size=BATCH, random_state=number)
    rows = []
    for _ in range(MOST // BATCH):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
        last = learner.state.history[-1]
        numbers = [last[name] for name in ("reach", "feasible", "needed_low", "needed_high")]
        rows.append([number, population.kind, int(last["labels"]), *(f"{float(v):.5g}" for v in numbers)])
        if len(rows) > 1 and rows[-1][4] == rows[-2][4] == "1":
            break
    return rows


def forecasts(rows):
    """Whether each forecast of a run is right within the factor; labels at which it was made."""
    feasible = [float(row[4]) == 1 for row in rows]
    both = [i for i in range(1, len(rows)) if feasible[i] and feasible[i - 1]]
    truth = int(rows[both[0] - 1][2]) if both else None
    found = []
    for row in rows[: both[0] - 1 if both else None]:
        low, high = float(row[5]), float(row[6])
        if np.isnan(low):
            found.append(None)
        else:
            off = (MOST if truth is None else truth) / (low * high) ** 0.5
            found.append(off < FACTOR and (truth is None or off > 1.0 / FACTOR))
    return found


def report(rows):
    """Print how often forecasts were given, and how often they were right."""
    runs = {}
    for row in rows:
        runs.setdefault(row[0], []).append(row)
    found = [forecasts(run) for run in runs.values()]
    given = [[right for right in run if right is not None] for run in found]
    every, right = sum(len(run) for run in found), [r for run in given for r in run]
    share = [float(np.mean(run)) for run in given if run]
    if not right:
        print(f"{len(runs)} runs, and no forecast in {every} infeasible rounds")
        return
    print("| runs | infeasible rounds | forecasts given, % | within a factor of 2, % | mean over runs, % |")
    print("|---|---|---|---|---|")
    error = 100 * np.std(share, ddof=1) / len(share) ** 0.5
    print(
        f"| {len(runs)} | {every} | {100 * len(right) / every:.0f} | {100 * np.mean(right):.0f} | "
        f"{100 * np.mean(share):.0f} ± {error:.0f} |"
    )


def main():
    """Run what the file has not, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_FOR_DEVELOPMENT)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("results/labels_needed.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = list(csv.reader(arguments.out.open())) if arguments.out.exists() else [COLUMNS]
    done = {int(row[0]) for row in known[1:]}
    with arguments.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for number in range(arguments.first, arguments.first + arguments.count):
            if number not in done:
                rows = [[str(v) for v in row] for row in one(number)]
                known += rows
                writer.writerows(rows)
                file.flush()
    report(known[1:])


if __name__ == "__main__":
    main()
