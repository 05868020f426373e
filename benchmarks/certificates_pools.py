"""Audits of the learner's own models on the real pools: labels to decide, and wrong verdicts.

    python -m benchmarks.certificates_pools [--audits 2000] [--seeds 5] [--labels 200] [--budget 2000]

Needs the tables of compas and drug (``fairask datasets pull``). For every pool and seed a model is learned by
FARE, its training rows are left out, and the rest of the pool, whose labels are known, is audited many times.
Prints one table and one machine line (JSON after ``fairask-bench:``).
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from fairask.audit import simulate_audit
from fairask.datasets import load
from fairask import FairActiveLearner, simulate

POOLS = ("adult", "compas", "drug", "german")
DELTA = 0.05


def frozen_model(name: str, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, decision probabilities and groups of the rows that did not train the model."""
    data = load(name)
    learner = FairActiveLearner(
        data.X, data.groups, profile="paper", tolerance=0.1, batch_size=50, random_state=seed
    )
    simulate(learner, data.y, labels)
    rest = np.setdiff1d(np.arange(len(data.y)), learner.labelled_indices_)
    score = learner.current_model().predict_proba(data.X[rest])[:, 1]
    return np.asarray(data.y)[rest], score, np.asarray(data.groups)[rest]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audits", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--budget", type=int, default=2000)
    args = parser.parse_args()
    start = time.perf_counter()
    print(
        f"Audits of FARE's models ({args.labels} training labels, {args.seeds} seeds), budget {args.budget:,}"
        f", delta {DELTA}, {args.audits:,} audits a model"
    )
    print(
        f"{'pool':8} {'tolerance':>5} {'gaps of the models':32} {'decided':>8} {'mean labels':>12} "
        f"{'wrong':>7} {'worst model':>12}"
    )
    rows, ok = [], True
    for name in POOLS:
        models = [frozen_model(name, args.labels, seed) for seed in range(args.seeds)]
        for tolerance in (0.1, 0.15):
            runs = [
                simulate_audit(
                    *m,
                    tolerance=tolerance,
                    delta=DELTA,
                    budget=args.budget,
                    n_audits=args.audits,
                    random_state=i,
                )
                for i, m in enumerate(models)
            ]
            gaps = [r.gap for r in runs]
            wrong = [r.wrong for r in runs]
            decided = float(np.mean([1 - r.undecided for r in runs]))
            used = float(np.mean([r.mean_labels for r in runs]))
            ok &= max(wrong) <= DELTA + 2.6 * np.sqrt(DELTA * (1 - DELTA) / args.audits)
            rows.append(
                {
                    "pool": name,
                    "tolerance": tolerance,
                    "gaps": gaps,
                    "decided": decided,
                    "labels": used,
                    "wrong": wrong,
                }
            )
            print(
                f"{name:8} {tolerance:>5.2f} {', '.join(f'{g:.3f}' for g in gaps):32} {decided:>8.1%} "
                f"{used:>12.0f} {np.mean(wrong):>7.2%} {max(wrong):>12.2%}",
                flush=True,
            )
    print(f"took {time.perf_counter() - start:.0f} s")
    print("fairask-bench:", json.dumps({"benchmark": "certificates_pools", "ok": bool(ok), "rows": rows}))


if __name__ == "__main__":
    main()
