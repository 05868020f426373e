"""Would the default gain from rows near its thresholds? Two other ways to explore, on other splits.

    python -m benchmarks.exploration --trials 30 --large-trials 6 --populations 40

Uncertainty sampling without a constraint is more accurate than the default on some tables. Here the default's
oracle and classifier stay, and what is drawn changes:

* "near thresholds": four fifths of lambda_diff's share go to rows whose probability is near the threshold of
  their group, and within a group lambda_fair draws rows in proportion to the deviation of their label;
* "contested": lambda_diff is in proportion to the square of v (1 - v), where v is the share of the k
  classifiers that predict 1, and half of lambda_fair is in proportion to v (1 - v) within the group.

The splits are those of trials 1000 on, which no result uses, and the populations are those for development.
Runs that the file has are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from collections import defaultdict
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed

from benchmarks.populations import FIRST_FOR_DEVELOPMENT, TOLERANCE
from paper import get_method, get_setup
from paper.methods import PaperMethod
from paper.trials import seed_of, split, trial_data

from fairask import FairActiveLearner
from fairask.design import disagreement_design, group_design
from fairask.experiment import Task
from fairask.experiment.loop import run_trial
from fairask.pools.memory import Cells
from fairask.sampling import Proposal
from fairask.strategies import Fare

SMALL, LARGE, FIRST = ("german", "drug", "compas"), ("crime", "bank", "adult"), 1000
COLUMNS = ["table", "way", "trial", "accuracy", "gap", "feasible"]
#: Distance from the threshold, in probability, at which a row is drawn e times less often.
WIDTH = 0.1


def _by_group(density, groups):
    """Every group alike; within a group in proportion to the density."""
    totals = np.bincount(groups, weights=density)
    return density / totals[groups] / np.count_nonzero(totals)


@dataclass(frozen=True)
class _Other(Fare):
    """FARE as the default sets it, with one cell per row and other probabilities."""

    perturbation: str = "bootstrap"
    diff_share: float | str = "adaptive"

    def propose(self, labelled, pool, fit, rng):
        """See :class:`Strategy`."""
        weights = rng.exponential(size=(self.k, len(labelled)))
        solutions = fit(np.tile(labelled.y, (self.k, 1)), weights)
        rules = [solution.sample(rng) for solution in solutions]
        X, groups = pool.take(pool.rows), pool.groups_of(pool.rows)
        cells = Cells.one_per_row(pool.rows, groups)
        decided = np.array([rule.decide(X, groups) for rule in rules])
        diff, fair = self.densities(cells, decided, X, fit.model)
        share = self._share(solutions, fit)
        return Proposal(cells, {"diff": diff, "fair": fair}, {"diff": share, "fair": 1.0 - share})


class NearThresholds(_Other):
    """Rows near the threshold of their group."""

    name: ClassVar[str] = "near thresholds"

    def densities(self, cells, decided, X, model):
        """Probability per row of both parts."""
        p = model.calibration_.model.proba(X, cells.groups)
        threshold = np.array([model.thresholds_[group] for group in model.groups_])[cells.groups]
        near = np.exp(-np.abs(p - np.clip(threshold, 0.02, 0.98)) / WIDTH)
        near /= near.sum()
        design = disagreement_design(decided, cells.counts)
        diff = near if design is None else 0.2 * design.per_row + 0.8 * near
        return diff, _by_group(np.sqrt(p * (1.0 - p)), cells.groups)


class Contested(_Other):
    """Rows on which the classifiers are divided most evenly."""

    name: ClassVar[str] = "contested"

    def densities(self, cells, decided, X, model):
        """Probability per row of both parts."""
        votes = decided.mean(axis=0)
        divided = 4.0 * votes * (1.0 - votes)
        fair = group_design(cells.groups, cells.counts)
        diff = divided**2 / (divided**2).sum() if divided.any() else fair
        return diff, 0.5 * fair + 0.5 * _by_group(divided + 1e-6, cells.groups)


WAYS = {"default": "fare", "near thresholds": NearThresholds(), "contested": Contested()}


def on_table(table, way, trial):
    """Accuracy and gap at the end of one trial, and whether the model called itself feasible."""
    setup, default = get_setup("paper"), get_method("default")
    method = _Explores(**{f.name: getattr(default, f.name) for f in fields(default)}, way=way)
    problem = setup.problem(table)
    parts = split(problem, trial_data(problem, trial), setup.test_share, trial)
    task = Task(problem.metric, setup.tolerance, problem.budget, problem.batch, seed=seed_of(table, trial))
    found = run_trial(method, parts, task, trial)
    ends = f"{found.accuracy[-1]:.5f}", f"{found.gap[-1]:.5f}", int(found.feasible[-1])
    return [table, way, trial, *ends]


@dataclass(frozen=True)
class _Explores(PaperMethod):
    """The default with another way to explore."""

    way: str = "default"

    def learner(self, parts, task, trial):
        """See :class:`fairask.experiment.Method`."""
        X, groups = parts.pool()
        return FairActiveLearner(
            X, groups, strategy=WAYS[self.way], metric=task.metric, tolerance=task.tolerance,
            batch_size=self.batch, random_state=task.seed,
        )  # fmt: skip


def on_population(number, way):
    """The same for a population of the development set."""
    from benchmarks import promise  # only here: a process that has imported it cannot run it as a command

    promise.METHODS[way] = {"strategy": WAYS[way]}
    found = dict(zip(promise.COLUMNS, promise.one(number, way, 0), strict=True))
    return ["populations", way, number, found["accuracy"], found["gap"], found["feasible"]]


def report(rows):
    """Print, for each table, each way beside the default on the same splits."""
    found = defaultdict(dict)
    for table, way, trial, *numbers in rows:
        found[table, way][int(trial)] = [float(v) for v in numbers]
    print("| table | way | trials | accuracy, % | gap | above, % | infeasible, % | gain |")
    print("|---|---|---|---|---|---|---|---|")
    for (table, way), trials in found.items():
        usual = found[table, "default"]
        shared = sorted(set(trials) & set(usual))
        accuracy, gap, feasible = np.array([trials[t] for t in shared]).T
        ahead = 100 * (accuracy - np.array([usual[t][0] for t in shared]))
        error = ahead.std(ddof=1) / len(ahead) ** 0.5
        last = "" if way == "default" else f"{ahead.mean():+.2f} ± {error:.2f}"
        print(
            f"| {table} | {way} | {len(shared)} | {100 * accuracy.mean():.1f} | {gap.mean():.3f} | "
            f"{100 * np.mean(gap > TOLERANCE):.0f} | {100 * np.mean(feasible == 0):.0f} | {last} |"
        )


def main():
    """Run what the file has not, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=30, help="on German, Drug and Compas")
    parser.add_argument("--large-trials", type=int, default=6, help="on Crime, Bank and Adult")
    parser.add_argument("--populations", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/exploration.csv"))
    arguments = parser.parse_args()
    known = list(csv.reader(arguments.out.open())) if arguments.out.exists() else [COLUMNS]
    done = {(r[0], r[1], int(r[2])) for r in known[1:]}
    counts = dict.fromkeys(SMALL, arguments.trials) | dict.fromkeys(LARGE, arguments.large_trials)
    todo = [(t, way, FIRST + i) for t, n in counts.items() for i in range(n) for way in WAYS]
    first = FIRST_FOR_DEVELOPMENT
    todo += [("populations", way, first + i) for i in range(arguments.populations) for way in WAYS]
    todo = [cell for cell in todo if cell not in done]
    with arguments.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        runs = Parallel(arguments.jobs, return_as="generator_unordered")
        for row in runs(delayed(_one)(*cell) for cell in todo):
            known.append([str(v) for v in row])
            writer.writerow(row)
            file.flush()
    places = {cell: i for i, cell in enumerate([*counts, "populations"])}
    report(sorted(known[1:], key=lambda r: (places[r[0]], list(WAYS).index(r[1]), int(r[2]))))


def _one(table, way, trial):
    warnings.simplefilter("ignore")
    return on_population(trial, way) if table == "populations" else on_table(table, way, trial)


if __name__ == "__main__":
    main()
