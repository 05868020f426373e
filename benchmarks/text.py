"""Comments to moderate, learned from their words: 20,000 of them, 300 labels.

    python -m benchmarks.text --trials 20 --out results/comments.csv

Each finished run is written to the file at once, and a run that is in the file is not repeated. The table is
printed from the file; ``--trials 0`` prints it and runs nothing.

"Above" is a run whose gap on the test rows is over the tolerance although the model did not say that
the labels are too few ("infeasible"). The model's own interval is compared with the same gap.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairask import FairActiveLearner
from fairask.tables.labels import prepare
from fairask.experiment import LabelledTable, Task
from fairask.experiment.loop import run_trial
from fairask.experiment.method import METHODS
from fairask.metrics import group_gap
from fairask.oracle import CalibratedFairOracle
from fairask.oracle.base import decision_probability
from library.tests.tables.comments import comments

TOLERANCE = 0.1
COLUMNS = ("features", "method", "trial", "accuracy", "gap", "feasible", "low", "high", "seconds")
NUMBERS = ["likes", "replies", "hour"]
#: Columns that are left out, and whether models must decide without the group.
FEATURES = {
    "text only": (NUMBERS, True),
    "text, group known": (NUMBERS, False),
    "numbers only": (["comment"], True),
}
UNCONSTRAINED = "passive, unconstrained"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("results/comments.csv"))
    given = parser.parse_args()
    known = list(csv.reader(given.out.open())) if given.out.exists() else [list(COLUMNS)]
    done = {tuple(row[:3]) for row in known[1:]}
    if given.trials:
        table = comments(given.rows)
        tables = {}
        for name, (left_out, _) in FEATURES.items():
            found = prepare(table.drop(left_out), label="toxic", protected="group", use_protected=False)
            tables[name] = LabelledTable(found.X, found.y, found.groups, stratify=True)
        with given.out.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not done:
                writer.writerow(COLUMNS)
            for name, memory in tables.items():
                for trial in range(given.trials):
                    for method in ("fare", "passive", UNCONSTRAINED):
                        if (name, method, str(trial)) not in done:
                            began = time.process_time()
                            found = play(memory, method, trial, given.labels, blind=FEATURES[name][1])
                            seconds = time.process_time() - began
                            numbers = [f"{value:.5g}" for value in found]
                            writer.writerow([name, method, trial, *numbers, f"{seconds:.1f}"])
                            file.flush()
    show(list(csv.DictReader(given.out.open())))


def play(memory: LabelledTable, method: str, trial: int, labels: int, *, blind: bool) -> tuple[float, ...]:
    """Accuracy and gap on the test rows of one run, whether it said feasible, and its interval."""
    task = Task(tolerance=TOLERANCE, budget=labels, batch=100, baseline_budget=labels, blind=blind)
    split = memory.split(task.seed, trial)
    test, y, tested = split.test
    if method in METHODS:
        said = []

        def measure(learner: FairActiveLearner, _: object) -> tuple[float, float]:
            model = learner.current_model()
            assert isinstance(model, CalibratedFairOracle)
            said[:] = [float(model.feasible_), *model.gap_interval_]
            p = decision_probability(model, test, tested)
            return float(np.where(y == 1, p, 1.0 - p).mean()), group_gap(y, p, tested, metric="tprp")

        run = run_trial(METHODS[method], split, task, trial, measure=measure)
        return float(run.accuracy[-1]), float(run.gap[-1]), *said
    X = split.table.X[split.pool]
    rows = np.random.default_rng(trial).choice(len(X), labels, replace=False)
    decided = LogisticRegression(max_iter=2000).fit(X[rows], split.labels_of(rows)).predict(test)
    nothing = (1.0, float("nan"), float("nan"))
    return float((decided == y).mean()), group_gap(y, decided, tested, metric="tprp"), *nothing


def show(rows: list[dict[str, str]]) -> None:
    """Print means with standard errors, then differences over the same splits."""
    runs: dict[tuple[str, str], dict[int, tuple[float, ...]]] = {}
    for row in rows:
        place = runs.setdefault((row["features"], row["method"]), {})
        place[int(row["trial"])] = tuple(float(row[name]) for name in COLUMNS[3:8])
    print("| features | method | accuracy | gap (tprp) | above 0.1 | infeasible | above its interval |")
    print("|---|---|---|---|---|---|---|")
    for (features, method), found in runs.items():
        accuracy, gaps, feasible, _, high = np.array(list(found.values())).T
        n, over = len(gaps), gaps > TOLERANCE
        unsaid, said = int((over & (feasible == 1)).sum()), int((feasible == 0).sum())
        shown = [with_error(accuracy), with_error(gaps), f"{unsaid} of {n} (all {over.sum()})"]
        claims = ["", ""] if np.isnan(high).all() else [f"{said} of {n}", f"{(gaps > high).sum()} of {n}"]
        print(f"| {features} | {method} | {' | '.join([*shown, *claims])} |")
    print()
    text, known, numbers = FEATURES
    for what, one, other in (
        ("FARE less passive, text only", (text, "fare"), (text, "passive")),
        ("FARE less passive, group known", (known, "fare"), (known, "passive")),
        ("text less numbers, FARE", (text, "fare"), (numbers, "fare")),
    ):
        both = sorted(runs.get(one, {}).keys() & runs.get(other, {}).keys())
        if len(both) < 2:
            continue
        differences = np.array([np.subtract(runs[one][t][:2], runs[other][t][:2]) for t in both]).T
        accuracy, gap = map(with_error, differences)
        print(f"{what}, {len(both)} splits: accuracy {accuracy}, gap {gap}")


def with_error(values: np.ndarray) -> str:
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{values.mean():.3f} ± {error:.3f}"


if __name__ == "__main__":
    main()
