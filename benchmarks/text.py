"""Comments to moderate, learned from their words: 20,000 of them, 300 labels.

    python -m benchmarks.text --trials 20 --out results/comments.csv

Each finished run is written to the file at once, and a run that is in the file is not repeated. The table is
printed from the file; ``--trials 0`` prints it and runs nothing.
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

from fairask.data import prepare
from fairask.experiment import METHODS, MemoryTable, Task, Trial
from fairask.metrics import violation
from tests.data.comments import comments

TOLERANCE = 0.1
COLUMNS = ("features", "method", "trial", "accuracy", "violation", "seconds")
NUMBERS = ["likes", "replies", "hour"]
FEATURES = {"text only": NUMBERS, "numbers only": ["comment"]}  # and the columns that each leaves out
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
        for name, left_out in FEATURES.items():
            found = prepare(table.drop(left_out), label="toxic", protected="group", use_protected=False)
            tables[name] = MemoryTable(found.X, found.y, found.groups, stratify=True)
        with given.out.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not done:
                writer.writerow(COLUMNS)
            for name, memory in tables.items():
                for trial in range(given.trials):
                    for method in ("fare", "passive", UNCONSTRAINED):
                        if (name, method, str(trial)) not in done:
                            began = time.process_time()
                            accuracy, gap = play(memory, method, trial, given.labels)
                            seconds = time.process_time() - began
                            writer.writerow(
                                [name, method, trial, f"{accuracy:.5f}", f"{gap:.5f}", f"{seconds:.1f}"]
                            )
                            file.flush()
    show(list(csv.DictReader(given.out.open())))


def play(memory: MemoryTable, method: str, trial: int, labels: int) -> tuple[float, float]:
    """Accuracy and violation on the test rows of one run."""
    task = Task(tolerance=TOLERANCE, budget=labels, batch=100, baseline_budget=labels, blind=True)
    split = memory.split(task.seed, trial)
    if method in METHODS:
        run = Trial(METHODS[method], split, task, trial).run()
        return float(run.accuracy[-1]), float(run.violation[-1])
    X, _ = split.pool()
    rows = np.random.default_rng(trial).choice(len(X), labels, replace=False)
    model = LogisticRegression(max_iter=2000).fit(X[rows], split.labels_of(rows))
    test, y, tested = split.test
    said = model.predict(test)
    return float((said == y).mean()), violation(y, said, tested, metric="tprp")


def show(rows: list[dict[str, str]]) -> None:
    """Print means with standard errors, then differences over the same splits."""
    runs: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    for row in rows:
        place = runs.setdefault((row["features"], row["method"]), {})
        place[int(row["trial"])] = (float(row["accuracy"]), float(row["violation"]))
    print("| features | method | accuracy | violation (tprp) | runs within 0.1 |\n|---|---|---|---|---|")
    for (features, method), found in runs.items():
        accuracy, gaps = np.array(list(found.values())).T
        within = f"{(gaps <= TOLERANCE).sum()} of {len(gaps)}"
        print(f"| {features} | {method} | {with_error(accuracy)} | {with_error(gaps)} | {within} |")
    print()
    text, numbers = FEATURES
    for what, one, other in (
        ("FARE less passive, text only", (text, "fare"), (text, "passive")),
        ("text less numbers, FARE", (text, "fare"), (numbers, "fare")),
    ):
        both = sorted(runs.get(one, {}).keys() & runs.get(other, {}).keys())
        if len(both) < 2:
            continue
        differences = np.array([np.subtract(runs[one][t], runs[other][t]) for t in both]).T
        accuracy, gap = map(with_error, differences)
        print(f"{what}, {len(both)} splits: accuracy {accuracy}, violation {gap}")


def with_error(values: np.ndarray) -> str:
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{values.mean():.3f} ± {error:.3f}"


if __name__ == "__main__":
    main()
