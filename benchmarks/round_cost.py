"""What a round of the default costs, against a round of the paper's FARE on the same rows.

    python -m benchmarks.round_cost [--seeds 3]

A round is ask and tell with the fit that follows, 25 labels each, one BLAS thread. Times are processor
seconds, so that other programs on the machine do not count; each is the least over the seeds.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks._machine import machine_line

from fairask import FairActiveLearner
from fairask.datasets import load

#: Dataset, labels, and whether rules must not read the group (the paper's never do by themselves).
ROUNDS = (("german", 125, False), ("adult", 700, False), ("adult", 700, True))


def seconds(data, labels, seed, **settings):
    """Mean processor seconds of a round, the first, uniform one left out."""
    learner = FairActiveLearner(data.X, data.groups, batch_size=25, random_state=seed, **settings)
    query = learner.ask()
    learner.tell(query.indices, data.y[query.indices])
    start, rounds = time.process_time(), labels // 25 - 1
    for _ in range(rounds):
        query = learner.ask()
        learner.tell(query.indices, data.y[query.indices])
    return (time.process_time() - start) / rounds


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    print(
        "| dataset, labels | paper's FARE, ms per round | default, ms per round | ratio |\n|---|---|---|---|"
    )
    for name, labels, blind in ROUNDS:
        data = load(name)
        paper = min(seconds(data, labels, seed, profile="paper") for seed in seeds)
        ours = min(seconds(data, labels, seed, blind=blind) for seed in seeds)
        title = f"{name}, {labels}{', blind' if blind else ''}"
        print(f"| {title} | {1000 * paper:.0f} | {1000 * ours:.0f} | {ours / paper:.2f} |", flush=True)
    print(f"\n{machine_line()}")


if __name__ == "__main__":
    main()
