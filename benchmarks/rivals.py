"""The paper's rivals: what they cost and where they end.

    python -m benchmarks.rivals                     speed table
    python -m benchmarks.rivals quality --trials 5  accuracy and gap beside the paper's
    python -m benchmarks.rivals panda               one PANDA trial on Drug

Needs the tables of `fairask datasets pull` (or FAIRASK_DATA). Runs on one core; seconds are of CPU time,
so that a busy machine does not count.
"""

from __future__ import annotations

import os

# Before numpy is imported: afterwards it no longer matters.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import platform
import time
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

from fairask import EmpiricalFairOracle, FairActiveLearner, evaluate, simulate
from fairask.datasets import load
from fairask.errors import FairaskWarning
from fairask.strategies.panda import PandaNotConverged
from fairask.strategies.baseline import Disparity, fit_plain

BUDGET = {"drug": 250, "german": 125, "compas": 250, "crime": 550, "bank": 1000, "adult": 700}
BATCH = {"drug": 25, "german": 25, "compas": 25, "crime": 50, "bank": 100, "adult": 100}
PAPER = {
    "fal": {
        "drug": (83.2, 0.144),
        "german": (67.2, 0.124),
        "compas": (66.6, 0.304),
        "crime": (95.5, 0.066),
        "bank": (81.3, 0.047),
        "adult": (83.2, 0.102),
    },
    "falcur": {
        "drug": (82.2, 0.160),
        "german": (63.7, 0.130),
        "compas": (66.8, 0.334),
        "crime": (94.7, 0.107),
        "bank": (79.2, 0.032),
        "adult": (80.8, 0.097),
    },
}


def trial(name, strategy, share, seed, budget=None, **settings):
    """One run in the paper's protocol.

    Returns seconds, accuracy and gap at the end of the budget, and accuracy and gap of a
    regression without penalty on the same labels (the paper does not say which its rivals end with).
    """
    data = load(name)
    budget = BUDGET[name] if budget is None else budget
    order = np.random.default_rng(seed).permutation(len(data.y))
    train, test = np.split(order, [int(0.75 * len(order))])
    pretrain = max(int(share * budget), 2)
    batch = 1 if strategy == "fal" else BATCH[name]
    if strategy == "falcur":
        settings["clusters"] = batch
    learner = FairActiveLearner(
        data.X[train],
        data.groups[train],
        strategy=strategy,
        profile="paper",
        strategy_params={"pretrain": pretrain, **settings},
        tolerance=1.0,
        margin=None,
        oracle=EmpiricalFairOracle(LogisticRegression(C=1.0), shift_threshold=False),
        risk_weights="none",
        fairness_weights="none",
        batch_size=batch,
        random_state=seed,
    )
    start = time.process_time()
    query = learner.ask(pretrain)
    learner.tell(query.indices, data.y[train][query.indices])
    simulate(learner, data.y[train], budget)
    seconds = time.process_time() - start
    held_out = data.X[test], data.y[test], data.groups[test]
    rows = train[learner.labelled_indices_]
    bare = EmpiricalFairOracle(tolerance=1.0, shift_threshold=False)
    bare.fit(data.X[rows], data.y[rows], sensitive_features=data.groups[rows])
    return seconds, *evaluate(learner.current_model(), *held_out), *evaluate(bare, *held_out)


def choice_against_fit(name, n_labels, repeats=15):
    """Seconds of one fit, and of refitting 64 candidates with both labels and measuring F (medians)."""
    data = load(name)
    codes = np.unique(data.groups, return_inverse=True)[1]
    rows = np.random.default_rng(0).permutation(len(data.y))
    known, candidates = rows[:n_labels], rows[n_labels : n_labels + 64]
    y = data.y[known].astype(float)
    pretrain = known[: n_labels // 4]
    unfairness = Disparity(data.X[pretrain], data.y[pretrain].astype(float), codes[pretrain], 2)
    times = []
    for _ in range(repeats):
        a = time.process_time()
        model = fit_plain(data.X[known], y)
        b = time.process_time()
        unfairness(model.refit(data.X[candidates], 3))
        times.append((b - a, time.process_time() - b))
    return np.median(times, axis=0)


def speed():
    print("| what | CPU seconds | limit |")
    print("|---|---|---|")
    for name, n in (("german", 125), ("drug", 250), ("bank", 1000), ("adult", 700)):
        fit, choice = choice_against_fit(name, n)
        ratio = choice / fit
        print(
            f"| FAL, 64 candidates, {name} with {n} labels | {choice:.4f} = {ratio:.1f} fits | 20 fits |",
            flush=True,
        )
    for name, strategy, limit in (("drug", "fal", 5), ("bank", "fal", 60), ("adult", "falcur", 60)):
        seconds, accuracy, gap, *_ = trial(name, strategy, 0.1, 0)
        print(
            f"| {strategy}, one trial on {name}, {BUDGET[name]} labels | {seconds:.1f} "
            f"({100 * accuracy:.1f} / {gap:.3f}) | {limit} |",
            flush=True,
        )


def quality(datasets, methods, trials, shares, falcur):
    print("| dataset | method | share | trials | accuracy | gap | no penalty | CPU seconds | paper |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in datasets:
        for strategy in methods:
            settings = falcur if strategy == "falcur" else {}
            paper = PAPER[strategy][name]
            for share in shares:
                runs = np.array([trial(name, strategy, share, seed, **settings) for seed in range(trials)])
                mean = runs.mean(axis=0)
                error = runs.std(axis=0, ddof=1) / np.sqrt(trials) if trials > 1 else np.full(5, np.nan)
                print(
                    f"| {name} | {strategy} | {share} | {trials} "
                    f"| {100 * mean[1]:.1f} ± {100 * error[1]:.1f} | {mean[2]:.3f} ± {error[2]:.3f} "
                    f"| {100 * mean[3]:.1f} / {mean[4]:.3f} | {mean[0]:.1f} | {paper[0]} / {paper[1]} |",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", nargs="?", default="speed", choices=["speed", "quality", "panda"])
    parser.add_argument("--datasets", nargs="+", default=list(BUDGET), choices=list(BUDGET))
    parser.add_argument("--methods", nargs="+", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--similarity", default="centroid", help="FAL-CUR's reading of similarity")
    parser.add_argument("--clustering", default="fair_km", help="FAL-CUR's clustering")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.25, 0.5])
    given = parser.parse_args()
    warnings.simplefilter("ignore", FairaskWarning)
    print(
        f"{platform.machine()}, 1 core, {platform.system()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, scikit-learn {sklearn.__version__}\n"
    )
    if given.part == "speed":
        speed()
    elif given.part == "quality":
        falcur = {"similarity": given.similarity, "clustering": given.clustering}
        quality(given.datasets, given.methods, given.trials, given.shares, falcur)
    else:
        panda(given.trials, given.shares)


def panda(trials, shares):
    print("| share | seed | CPU seconds | accuracy | gap | limit |")
    print("|---|---|---|---|---|---|")
    for share in shares:
        for seed in range(trials):
            start = time.process_time()
            try:
                _, accuracy, gap, *_ = trial("drug", "panda", share, seed)
                outcome = f"{100 * accuracy:.1f} | {gap:.3f}"
            except PandaNotConverged as error:
                outcome = f"not converged | {error}"
            print(f"| {share} | {seed} | {time.process_time() - start:.1f} | {outcome} | 300 |", flush=True)


if __name__ == "__main__":
    main()
