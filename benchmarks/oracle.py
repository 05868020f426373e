"""EmpiricalFairOracle against fairlearn's ExponentiatedGradient: same rows, same pairwise tolerance.

Rows are random samples of Adult and German Credit with random columns, so that both solvers see real,
correlated data. fairlearn bounds each group's distance from the overall rate, so half the pairwise
tolerance is the bound that guarantees it. Times are processor seconds on one BLAS thread, so that other
programs on the machine do not count; ours are the least of three. "One fit" is our time without a constraint,
one logistic regression: no oracle that begins with it can be faster.

    python -m benchmarks.oracle [--seeds 6] [--tolerance 0.05]
"""

from benchmarks._machine import machine_line

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairask import EmpiricalFairOracle, group_gap
from fairask.datasets import load
from fairask.errors import FairaskWarning

SIZES = ((100, 20, "german"), (250, 30, "german"), (400, 100, "adult"), (2000, 100, "adult"))


def sample(data, n, d, seed):
    """n rows and the d most telling of their columns, as dense as the table allows."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(data.y), n, replace=False)
    X = data.X[rows]
    varying = np.flatnonzero(np.ptp(X, axis=0) > 1e-9)
    X = X[:, rng.permutation(varying)[:d]]
    # Rare levels are constant in small samples: noise columns keep the shape as named.
    X = np.hstack([X, rng.normal(size=(n, d - X.shape[1]))])
    return (X - X.mean(axis=0)) / X.std(axis=0), data.y[rows], data.groups[rows]


def seconds(call, repeats):
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        best = min(best, time.process_time() - start)
    return best, result


def main():
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient, TruePositiveRateParity

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--tolerance", type=float, default=0.05)
    args = parser.parse_args()
    warnings.simplefilter("ignore", FairaskWarning)
    warnings.filterwarnings("ignore", module="fairlearn|sklearn|pandas")
    tables = {name: load(name) for name in ("adult", "german")}
    print(
        "| rows | columns | metric | fairlearn | fairask | times faster | one fit | their error | ours "
        "| excess | gap |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for n, d, name in SIZES:
        for metric, constraint in (("tprp", TruePositiveRateParity), ("eo", EqualizedOdds)):
            theirs, ours, free, errors, gaps = [], [], [], [], []
            for seed in range(args.seeds):
                X, y, groups = sample(tables[name], n, d, seed)

                def rival(X=X, y=y, groups=groups, constraint=constraint):
                    bound = constraint(difference_bound=args.tolerance / 2)
                    return ExponentiatedGradient(LogisticRegression(C=np.inf), bound).fit(
                        X, y, sensitive_features=groups
                    )

                def oracle(X=X, y=y, groups=groups, metric=metric, tolerance=args.tolerance):
                    return EmpiricalFairOracle(metric=metric, tolerance=tolerance).fit(X, y, groups)

                t, model = seconds(rival, 1)
                theirs.append(t)
                soft = np.clip(model._pmf_predict(X)[:, 1], 0, 1)
                oracle()
                t, fair = seconds(oracle, 3)
                ours.append(t)
                free.append(seconds(lambda oracle=oracle: oracle(tolerance=1.0), 3)[0])
                errors.append((np.abs(soft - y).mean(), fair.error_))
                gaps.append(group_gap(y, fair.predict_proba(X)[:, 1], groups, metric))
            e = np.array(errors)
            print(
                f"| {n} | {d} | {metric} | {np.mean(theirs):.2f} s | {np.mean(ours) * 1e3:.1f} ms "
                f"| {np.sum(theirs) / np.sum(ours):.0f} | {np.mean(free) * 1e3:.1f} ms "
                f"| {e[:, 0].mean():.4f} | {e[:, 1].mean():.4f} "
                f"| {(e[:, 1] - e[:, 0]).max():+.4f} | {max(gaps):.4f} |",
                flush=True,
            )
    print(f"\n{args.seeds} samples a row, tolerance {args.tolerance}. {machine_line()}")


if __name__ == "__main__":
    main()
