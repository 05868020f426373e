"""What a round of the default costs: blind against aware, and against a round of the paper's FARE.

    python -m benchmarks.round_cost [--seeds 3]

A round is ask and tell with the fit that follows, one BLAS thread. Times are processor seconds, so that other
programs on the machine do not count; each is the least over the seeds. The made-up tables have 10,000 rows
and 31 features; "wide scales" means that features differ in scale by up to 10,000.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks._machine import machine_line

import numpy as np

from fairask import FairActiveLearner
from fairask.datasets import load

#: Dataset, labels, and whether rules must not read the group (the paper's never do by themselves).
ROUNDS = (("german", 125, False), ("adult", 700, False), ("adult", 700, True))
#: Groups, wide scales and metric of the made-up tables.
MADE_UP = ((2, False, "tprp"), (2, True, "tprp"), (2, False, "eo"), (4, False, "tprp"), (4, False, "eo"))


def seconds(X, y, groups, labels, seed, batch=25, first=1, **settings):
    """Mean processor seconds of a round, the ``first`` ones left out."""
    learner = FairActiveLearner(X, groups, batch_size=batch, random_state=seed, **settings)
    rounds = labels // batch
    for round_ in range(rounds):
        if round_ == first:
            start = time.process_time()
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
    return (time.process_time() - start) / (rounds - first)


def made_up(n_groups, wide, seed):
    """10,000 rows with 31 features, five of which tell the label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10_000, 31))
    groups = rng.choice(n_groups, size=len(X), p=[0.7] + [0.3 / (n_groups - 1)] * (n_groups - 1))
    X[:, 0] += groups
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-(X[:, :5].sum(axis=1) + 0.5 * groups)))).astype(int)
    if wide:
        X = X * 10.0 ** rng.uniform(0, 4, size=31) + 10.0 ** rng.uniform(0, 4, size=31)
    return X, y, groups


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    print("| 10,000 x 31, six rounds of 50 | aware, s | blind, s | ratio |\n|---|---|---|---|")
    for n_groups, wide, metric in MADE_UP:
        # The first round counts: there the model of the groups is fitted.
        aware, blind = (
            6 * min(
                seconds(*made_up(n_groups, wide, seed), 300, seed, 50, 0, blind=blind, metric=metric)
                for seed in seeds
            )
            for blind in (False, True)
        )  # fmt: skip
        title = f"{n_groups} groups, {metric}{', wide scales' if wide else ''}"
        print(f"| {title} | {aware:.2f} | {blind:.2f} | {blind / aware:.2f} |", flush=True)
    print("\n| dataset, labels | paper's FARE, ms a round | default, ms a round | ratio |\n|---|---|---|---|")
    for name, labels, blind in ROUNDS:
        data = load(name)
        rows = data.X, data.y, data.groups
        paper = min(seconds(*rows, labels, seed, profile="paper") for seed in seeds)
        ours = min(seconds(*rows, labels, seed, blind=blind) for seed in seeds)
        title = f"{name}, {labels}{', blind' if blind else ''}"
        print(f"| {title} | {1000 * paper:.0f} | {1000 * ours:.0f} | {ours / paper:.2f} |", flush=True)
    print(f"\n{machine_line()}")


if __name__ == "__main__":
    main()
