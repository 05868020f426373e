"""What a round of the default costs, against a round of the paper's FARE on the same rows.

    python benchmarks/round_cost.py

A round is ask and tell with the fit that follows, 25 labels each, one BLAS thread, the least of three runs.
"""

from __future__ import annotations

import os
import time
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from _machine import machine_line

from fairask import FairActiveLearner
from fairask.datasets import load

LABELS = {"german": 125, "adult": 700}


def seconds(data, profile, labels, seed):
    """Mean seconds of a round, the first, uniform one left out."""
    learner = FairActiveLearner(data.X, data.groups, profile=profile, batch_size=25, random_state=seed)
    query = learner.ask()
    learner.tell(query.indices, data.y[query.indices])
    start, rounds = time.perf_counter(), labels // 25 - 1
    for _ in range(rounds):
        query = learner.ask()
        learner.tell(query.indices, data.y[query.indices])
    return (time.perf_counter() - start) / rounds


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| dataset, labels | paper's FARE, ms a round | default, ms a round | ratio |\n|---|---|---|---|")
    for name, labels in LABELS.items():
        data = load(name)
        paper, ours = (
            min(seconds(data, profile, labels, seed) for seed in range(3))
            for profile in ("paper", "calibrated")
        )
        print(f"| {name}, {labels} | {1000 * paper:.0f} | {1000 * ours:.0f} | {ours / paper:.2f} |")
    print(f"\n{machine_line()}")


if __name__ == "__main__":
    main()
