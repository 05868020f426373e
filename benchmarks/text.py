"""Comments to moderate, learned from their words: 20,000 of them, 300 labels.

Run with: python -m benchmarks.text [--rows 20000] [--trials 3]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairask.data import prepare
from fairask.experiment import METHODS, MemoryTable, Task, compare
from fairask.metrics import violation
from tests.data.comments import comments

TOLERANCE = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--labels", type=int, default=300)
    given = parser.parse_args()
    table = comments(given.rows)
    print("| features | method | accuracy | violation (tprp) | runs within 0.1 |")
    print("|---|---|---|---|---|")
    for features, columns in (("text and numbers", table), ("numbers only", table.drop(["comment"]))):
        began = time.perf_counter()
        found = prepare(columns, label="toxic", protected="group", use_protected=False)
        seconds = time.perf_counter() - began
        memory = MemoryTable(found.X, found.y, found.groups, stratify=True)
        task = Task(
            tolerance=TOLERANCE, budget=given.labels, batch=100, baseline_budget=given.labels, blind=True
        )
        for name in ("fare", "passive"):
            runs = list(compare(memory, [METHODS[name]], task, given.trials))
            show(features, name, [r.accuracy[-1] for r in runs], [r.violation[-1] for r in runs])
        accuracy, gaps = [], []
        for trial in range(given.trials):
            split = memory.split(task.seed, trial)
            X, _ = split.pool()
            rng = np.random.default_rng(trial)
            rows = rng.choice(len(X), given.labels, replace=False)
            model = LogisticRegression(max_iter=2000).fit(X[rows], split.labels_of(rows))
            test, y, tested = split.test
            said = model.predict(test)
            accuracy.append(float((said == y).mean()))
            gaps.append(violation(y, said, tested, metric="tprp"))
        show(features, "passive, unconstrained", accuracy, gaps)
        print(f"<!-- {features}: {found.X.shape[1]} features made in {seconds:.1f} s -->")


def show(features: str, method: str, accuracy: list[float], gaps: list[float]) -> None:
    within = sum(gap <= TOLERANCE for gap in gaps)
    figures = f"{np.mean(accuracy):.3f} | {np.mean(gaps):.3f} | {within} of {len(gaps)}"
    print(f"| {features} | {method} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
