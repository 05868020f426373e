# ruff: noqa: E501
"""Labels to decide with and without a score, on the real pools.

    python -m benchmarks.certificate_scores [--audits 1000] [--seeds 5] [--only adult bank]

For every pool and seed a logistic regression learns from 250 labels; the other rows, whose labels are known, are
audited many times. The score is the model's own probability, that of a
random forest of 500 other labels (last year's model, say), or random. Results go to
``results/certificates/scores.csv``; rows that are there are not run again.
"""

from __future__ import annotations

import argparse
import functools
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.certificate_runs import Rows
from fairask.audit import simulate_audit
from fairask.datasets import load
from fairask.metrics import group_gap

POOLS = ("adult", "bank", "drug", "german", "compas", "crime")
LABELS, OLD = 250, 500
#: Budgets of about one and a half times what an audit without a score needs.
BUDGETS = {
    "adult": 7000,
    "bank": 3200,
    "drug": 900,
    "german": 450,
    "compas": 2500,
    "crime": 1200,
}
KINDS = ("none", "own", "old", "random")


@functools.lru_cache(maxsize=4)
def audited_pool(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Labels, decisions, groups and scores of the rows that did not train the model."""
    data = load(name)
    rng = np.random.default_rng([21, seed])
    y, groups = np.asarray(data.y), np.asarray(data.groups)
    X = StandardScaler().fit_transform(np.asarray(data.X, dtype=float))
    order = rng.permutation(len(y))
    train, old, rest = np.split(order, [LABELS, LABELS + OLD])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=0.05, max_iter=2000).fit(X[train], y[train])
    score = model.predict_proba(X[rest])[:, 1]
    forest = RandomForestClassifier(300, min_samples_leaf=3, random_state=0).fit(X[old], y[old])
    scores = {
        "own": score,
        "old": forest.predict_proba(X[rest])[:, 1],
        "random": rng.random(len(rest)),
    }
    return y[rest], (score > 0.5).astype(int), groups[rest], scores


def near(gap: float) -> float:
    """A tolerance at .08 from the truth, on the side where there is room: neither trivial nor hopeless."""
    return gap + 0.08 if gap < 0.2 else gap - 0.08


def one(name: str, seed: int, kind: str, audits: int) -> dict[str, object]:
    y, pred, groups, scores = audited_pool(name, seed)
    gap = group_gap(y, pred, groups)
    tolerance = near(gap)
    found = simulate_audit(
        y, pred, groups, tolerance=tolerance, budget=BUDGETS[name], looks=20, n_audits=audits,
        score=scores.get(kind), random_state=seed,
    )  # fmt: skip
    return {
        "gap": gap, "tolerance": tolerance, "labels": found.mean_labels, "undecided": found.undecided,
        "wrong": found.wrong,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--first",
        type=int,
        default=100,
        help="the first seed; the settings saw 0 and 1",
    )
    parser.add_argument("--only", nargs="+", default=list(POOLS))
    args = parser.parse_args()
    rows = Rows("scores")
    print(f"Labels to decide, mean of {args.seeds} models and {args.audits:,} audits each")
    print(f"{'pool':8} {'no score':>9} " + " ".join(f"{kind:>8}" for kind in KINDS[1:]) + f" {'wrong':>7}")
    for name in args.only:
        mean, wrong = {}, 0.0
        for kind in KINDS:
            found = [
                rows.once(
                    {"pool": name, "seed": seed, "score": kind, "audits": args.audits},
                    lambda seed=seed, kind=kind, name=name: one(name, seed, kind, args.audits),
                )
                for seed in range(args.first, args.first + args.seeds)
            ]
            mean[kind] = float(np.mean([float(row["labels"]) for row in found]))
            wrong = max([wrong, *(float(row["wrong"]) for row in found)])
        change = " ".join(f"{mean[kind] / mean['none'] - 1:>8.1%}" for kind in KINDS[1:])
        print(f"{name:8} {mean['none']:>9.0f} {change} {wrong:>7.3f}", flush=True)


if __name__ == "__main__":
    main()
