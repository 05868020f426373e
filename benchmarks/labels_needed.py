"""Is the number of labels right that an infeasible model says are needed?

    python -m benchmarks.labels_needed --count 80 --out results/labels_needed.csv

A run goes on until its model is feasible in two rounds running, or to 1,000 labels. The file has the smallest
limit of each round, from which the range of labels follows that an infeasible model names. That range is a
forecast. It is right if the labels of the first of the two rounds are within it, and within a factor of two
of the geometric mean of its ends; where there was none, if 1,000 labels are not above it. "Half way" are the
forecasts at no more than half of these labels. Pools have 4,000 rows of
:mod:`benchmarks.hostile_populations`, those of development by default: the first 40 were used to make the
forecast, the others were not. Runs that the file has are not run again.
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
from fairask.oracle.promise import labels_needed

ROWS, MOST, BATCH, FACTOR, TOLERANCE = 4000, 1000, 50, 2.0, 0.1
COLUMNS = ["population", "kind", "labels", "reach", "feasible"]
USED = 40


def one(number):
    """The rounds of one run: labels, reach, and whether feasible."""
    population, rng = hostile_population(number), np.random.default_rng([number, 5])
    X, y, groups = population.draw(ROWS, rng)
    learner = FairActiveLearner(X, groups, metric=population.metric, batch_size=BATCH, random_state=number)
    rows = []
    for _ in range(MOST // BATCH):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
        last = learner.state.history[-1]
        numbers = [f"{float(last[name]):.5g}" for name in ("reach", "feasible")]
        rows.append([number, population.kind, int(last["labels"]), *numbers])
        if len(rows) > 1 and rows[-1][4] == rows[-2][4] == "1":
            break
    return rows


def forecasts(rows):
    """Of each infeasible round of a run: None, or (within the factor, within the range, half way)."""
    feasible = [float(row[4]) == 1 for row in rows]
    both = [i for i in range(1, len(rows)) if feasible[i] and feasible[i - 1]]
    end = both[0] - 1 if both else len(rows)
    truth = int(rows[end][2]) if both else MOST
    rounds, found = [(float(row[2]), float(row[3])) for row in rows], []
    for i in range(end):
        if feasible[i]:
            continue
        needed = labels_needed(rounds[: i + 1], TOLERANCE)
        if needed is None:
            found.append(None)
            continue
        off = truth / (needed[0] * needed[1]) ** 0.5
        near = off < FACTOR and (not both or off > 1.0 / FACTOR)
        inside = truth <= needed[1] and (not both or truth >= needed[0])
        found.append((near, inside, rounds[i][0] <= truth / 2))
    return found


def report(rows):
    """Print how often forecasts were given, and how often they were right."""
    runs = {}
    for row in rows:
        runs.setdefault(int(row[0]), []).append(row)
    print(
        "| populations | runs | infeasible rounds | forecasts given, % | within a factor of 2, % "
        "| within the range, % | the same half way, % |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, mine in (("used to make it", True), ("not used", False)):
        found = [forecasts(v) for k, v in runs.items() if (k < FIRST_FOR_DEVELOPMENT + USED) == mine]
        every = [forecast for run in found for forecast in run]
        given = np.array([forecast for forecast in every if forecast is not None], dtype=float)
        if not len(given):
            continue
        early = given[given[:, 2] == 1, 1]
        half = f"{100 * early.mean():.0f}" if len(early) else "–"
        print(
            f"| {name} | {len(found)} | {len(every)} | {100 * len(given) / len(every):.0f} "
            f"| {100 * given[:, 0].mean():.0f} | {100 * given[:, 1].mean():.0f} | {half} |"
        )


def main():
    """Run what the file has not, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_FOR_DEVELOPMENT)
    parser.add_argument("--count", type=int, default=80)
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
