"""Why the default misjudges gaps on made-up comments: errors of the gap, by what the curves are fitted to.

    python -m benchmarks.curve_bias --trials 20

300 of 20,000 comments are labelled at random. Thresholds are those whose true positive rate is the same in
both groups by the fitted curves; the error is the gap that the other comments' labels show there. The curves
are fitted to the held-out scores of the labelled rows (what the default does), to the model's scores of 300
fresh rows, and of 6,000: the first less the second is what held-out scores do, the second less the third is
what the prior does.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import warnings
from typing import Any

import numpy as np
from scipy.special import logit

from fairask.tables.labels import prepare
from fairask.oracle import CalibratedFairOracle
from fairask.oracle.promise import SCORE_LIMIT, CalibrationCurves, fit_curves
from library.tests.tables.comments import comments

RATES = (0.4, 0.5, 0.6, 0.7, 0.8)
LABELS, POOL, MANY, COUNTED = 300, 5000, 6000, 3000


def gaps(curves: CalibrationCurves, scores: Any, y: Any, groups: Any) -> Any:
    """Error of the gap, and its deviation by the draws, at thresholds of equal estimated rates (rates, 2)."""
    errors = np.zeros((len(RATES), 2))
    draws = {}
    for g in (0, 1):
        own, labels = scores[groups == g], y[groups == g]
        ranked = np.sort(own[:COUNTED])[::-1]
        p = curves.draws(ranked, g)
        reached = np.cumsum(p, axis=0) / p.sum(axis=0)
        for r, rate in enumerate(RATES):
            cut = int(np.searchsorted(reached.mean(axis=1), rate))
            errors[r, g] = reached[cut].mean() - (own[labels == 1] >= ranked[cut]).mean()
            draws[r, g] = reached[cut]
    spread = [(draws[r, 0] - draws[r, 1]).std() for r in range(len(RATES))]
    return np.stack([errors[:, 0] - errors[:, 1], spread], axis=1)


def one(X: Any, y: Any, groups: Any, trial: int) -> dict[str, Any]:
    """Errors by what the curves are fitted to."""
    order = np.random.default_rng(trial).permutation(len(y))
    labelled, rest = order[:LABELS], order[LABELS:]
    oracle = CalibratedFairOracle(random_state=trial)
    oracle.fit(X[labelled], y[labelled], groups[labelled], pool=(X[rest[:POOL]], groups[rest[:POOL]]))
    model, seen = oracle.calibration_.model, groups[rest]
    p = np.clip(model.proba(X[rest], seen), 1e-6, 1.0 - 1e-6)
    scores = np.clip(logit(p), -SCORE_LIMIT, SCORE_LIMIT)
    held_out = logit(
        np.clip(model.scaling.proba(oracle.calibration_.out_of_fold, groups[labelled]), 1e-6, 1.0 - 1e-6)
    )
    fresh = slice(MANY, MANY + LABELS)
    given = {
        f"{LABELS} labels, held-out scores": (held_out, y[labelled], groups[labelled]),
        f"{LABELS} fresh labels": (scores[fresh], y[rest][fresh], seen[fresh]),
        f"{MANY:,} fresh labels": (scores[:MANY], y[rest][:MANY], seen[:MANY]),
    }
    return {
        name: gaps(
            fit_curves(
                s, labels.astype(float), codes, np.ones(len(s)), 2, scores[:POOL],
                n_draws=256, rng=np.random.default_rng(trial),
            ),
            scores, y[rest], seen,
        )
        for name, (s, labels, codes) in given.items()
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    trials = parser.parse_args().trials
    warnings.simplefilter("ignore")
    table = comments(20_000).drop(["likes", "replies", "hour"])
    rows = prepare(table, label="toxic", protected="group", use_protected=False)
    _, groups = np.unique(rows.groups, return_inverse=True)
    runs = [one(rows.X, rows.y, groups, trial) for trial in range(trials)]
    print(f"| curves from | {' | '.join(f'rate {rate}' for rate in RATES)} |\n|---{'|---' * len(RATES)}|")
    for name in runs[0]:
        found = np.array([run[name] for run in runs])
        errors, said = found[..., 0], found[..., 1].mean(axis=0)
        mean, deviation = errors.mean(axis=0), errors.std(axis=0, ddof=1)
        cells = [
            f"{m:+.3f} ± {d / trials**0.5:.3f} ({d:.3f}, said {s:.3f})"
            for m, d, s in zip(mean, deviation, said, strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\nMean error of the gap ± standard error (deviation of the errors, deviation by the draws).")


if __name__ == "__main__":
    main()
