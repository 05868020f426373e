"""Does ``level`` mean what it says? The default on 200 populations that were frozen before it was tuned.

    python -m benchmarks.promise

A run learns from a pool of 2,000 rows with 250 labels and is judged on 20,000 fresh rows. "Above" is a true
gap over the tolerance. A run that said "infeasible with these labels" is counted apart: needlessly, if it
was within the tolerance. Development populations are run by ``--first 10000``, those like
text (:mod:`benchmarks.wide_populations`) by

    python -m benchmarks.promise --wide --trials 6

the 200 frozen ones on which the promise was found to break (:mod:`benchmarks.hostile_populations`) by

    python -m benchmarks.promise --hostile

and 200 with budgets and pools of several sizes (:mod:`benchmarks.mixed_populations`) by

    python -m benchmarks.promise --mixed

Each set has a file of its own in ``results/``. Runs that the file has are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.hostile_populations import hostile_population
from benchmarks.mixed_populations import mixed_population
from benchmarks.populations import BATCH, LABELS, POOL_ROWS, TEST_ROWS, TOLERANCE, random_population
from benchmarks.wide_populations import WIDE

from fairask import FairActiveLearner
from fairask.metrics import group_gap
from fairask.oracle import CalibratedFairOracle
from fairask.oracle.base import decision_probability

METHODS = {
    "default": {},
    "level 0.9": {"level": 0.9},
    "linear": {"estimator": "linear"},
    "passive": {"strategy": "passive"},
    "blind": {"blind": True},
    "paper": {"profile": "paper"},
    "half-price": {"oracle": CalibratedFairOracle(max_price=0.5)},
    "any-price": {"oracle": CalibratedFairOracle(max_price=0.95)},
}
_HEAD = (
    "| runs | above, % | above of feasible, % | infeasible, % | needlessly, % | interval covers, % | "
    "accuracy, % | gap |\n|---|---|---|---|---|---|---|---|---|"
)
COLUMNS = ["population", "kind", "metric", "method", "trial", "accuracy", "gap", "constant", "feasible"]
COLUMNS += ["share", "expected", "low", "high", "seconds"]


#: By kind of test: the populations by number, and what is beside number and trial in the seed.
SETS = {
    "random": (random_population, []),
    "wide": (lambda number: list(WIDE.values())[-1 - number], [1]),
    "hostile": (hostile_population, [2]),
    "mixed": (mixed_population, [3]),
}


def one(number, method, trial, of="random"):
    """One run on a population of one of the ``SETS``; the numbers of the wide ones count down from -1."""
    population, seed = SETS[of][0](number), SETS[of][1]
    rng = np.random.default_rng([abs(number), trial, *seed])
    X, y, groups = population.draw(getattr(population, "pool_rows", POOL_ROWS), rng)
    fresh, truth, fresh_groups = population.draw(TEST_ROWS, rng)
    start = time.perf_counter()
    learner = FairActiveLearner(
        X, groups, metric=population.metric, tolerance=TOLERANCE, batch_size=BATCH,
        random_state=1000 * trial + abs(number), **METHODS[method],
    )  # fmt: skip
    for _ in range(getattr(population, "labels", LABELS) // BATCH):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
    model = learner.current_model()
    seconds = time.perf_counter() - start
    p = decision_probability(model, fresh, fresh_groups)
    calibrated = model.estimates_margin
    low, high = model.gap_interval_ if calibrated else (np.nan, np.nan)
    numbers = (
        float(np.where(truth == 1, p, 1.0 - p).mean()),
        group_gap(truth, p, fresh_groups, population.metric),
        float(max(truth.mean(), 1.0 - truth.mean())),
    )
    rest = (model.share_ if calibrated else 1.0, model.gap_, low, high, seconds)
    kept = [f"{v:.5g}" for v in numbers], [f"{v:.5g}" for v in rest]
    return [
        number,
        population.kind,
        population.metric,
        method,
        trial,
        *kept[0],
        int(model.feasible_),
        *kept[1],
    ]


def report(rows, methods):
    """Print one line per method, and one per kind of the first method."""
    columns = {name: i for i, name in enumerate(COLUMNS)}
    print(f"| method {_HEAD}")
    for method in methods:
        print(_line(method, [r for r in rows if r[columns["method"]] == method], columns))
    print(f"\n| kind {_HEAD}")
    own = [r for r in rows if r[columns["method"]] == methods[0]]
    for kind in dict.fromkeys(r[columns["kind"]] for r in own):
        print(_line(kind, [r for r in own if r[columns["kind"]] == kind], columns))


def _line(name, rows, columns):
    if not rows:
        return f"| {name} | 0 | | | | | | | |"
    gap, accuracy, feasible, low, high = (
        np.array([float(r[columns[c]]) for r in rows]) for c in ("gap", "accuracy", "feasible", "low", "high")
    )
    above, said = gap > TOLERANCE, feasible == 0
    covered = 100 * np.mean((low <= gap) & (gap <= high))
    error = 100 * accuracy.std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else np.nan
    of_feasible = f"{100 * above[~said].mean():.1f}" if not said.all() else "–"
    needlessly = f"{100 * (~above[said]).mean():.0f}" if said.any() else "–"
    return (
        f"| {name} | {len(rows)} | {100 * np.mean(above & ~said):.1f} (all {100 * above.mean():.1f}) | "
        f"{of_feasible} | {100 * said.mean():.1f} | {needlessly} | {covered:.1f} | "
        f"{100 * accuracy.mean():.2f} ± {error:.2f} | {gap.mean():.3f} |"
    )


def main():
    """Run what the file has not, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--step", type=int, default=1)
    for of in ("wide", "hostile", "mixed"):
        parser.add_argument(
            f"--{of}", dest="of", action="store_const", const=of, help=f"the {of} populations"
        )
    parser.set_defaults(of="random")
    parser.add_argument(
        "--methods", nargs="+", choices=list(METHODS), help="of the random populations also the paper's"
    )
    parser.add_argument("--out", type=Path, help="the file of results (each set has its own)")
    arguments = parser.parse_args()
    random = arguments.of == "random"
    arguments.methods = arguments.methods or (["default", "paper"] if random else ["default"])
    of = "" if random else f"_{arguments.of}"
    arguments.out = arguments.out or Path(f"results/promise{of}.csv")
    warnings.simplefilter("ignore")
    known = list(csv.reader(arguments.out.open())) if arguments.out.exists() else [COLUMNS]
    done = {(int(r[0]), r[3], int(r[4])) for r in known[1:]}
    numbers = range(arguments.first, arguments.first + arguments.count, arguments.step)
    if arguments.of == "wide":
        numbers = [-1 - place for place in range(len(WIDE))]
    with arguments.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for trial in range(arguments.trials):
            for number in numbers:
                for method in arguments.methods:
                    if (number, method, trial) not in done:
                        row = [str(v) for v in one(number, method, trial, arguments.of)]
                        known.append(row)
                        writer.writerow(row)
                        file.flush()
    report(known[1:], arguments.methods)


if __name__ == "__main__":
    main()
