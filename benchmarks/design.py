"""lambda_diff: the duality gap, the time, and a conic solver (cvxpy with Clarabel) on the same problem.

python -m benchmarks.design
"""

from benchmarks._machine import machine_line

import time

import numpy as np

from fairask.design import disagreement_design
from fairask.rules import LinearRule
from fairask.pools import Pool


def rows_and_rules(n, d, k, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=d + 1)
    rules = [LinearRule(center + 0.3 * rng.normal(size=d + 1)) for _ in range(k)]
    return rng.normal(size=(n, d)).astype(dtype), rng.integers(2, size=n), rules


def by_clarabel(X, rules):
    """The program as the paper states it, one variable a row on which two classifiers differ."""
    import cvxpy

    predictions = np.array([rule.decide(X) for rule in rules])
    start = time.perf_counter()  # every round is a new problem, so building it counts, as it does for us
    differ = np.flatnonzero((predictions != predictions[0]).any(axis=0))
    n = len(differ)
    rate = cvxpy.Variable(n, pos=True)  # times n, for the solver's scaling
    inverse = cvxpy.inv_pos(rate)
    pairs = [
        (predictions[i] ^ predictions[j])[differ].astype(float) for i in range(len(rules)) for j in range(i)
    ]
    costs = np.array([p for p in pairs if p.any()]) / n
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.max(costs @ inverse)), [cvxpy.sum(rate) <= n])
    problem.solve(solver="CLARABEL")
    seconds = time.perf_counter() - start
    found = np.maximum(rate.value, 1e-12)
    found /= found.sum()
    return seconds, float((costs * n @ (1.0 / found)).max())


def from_predictions(X, rules):
    """As the rival: from the rows' predictions to a probability for each row."""
    predictions = np.array([rule.decide(X) for rule in rules])
    ones = np.ones(len(X))
    start = time.perf_counter()
    design = disagreement_design(predictions, ones)
    return time.perf_counter() - start, design


def ours(X, groups, rules):
    start = time.perf_counter()
    cells = Pool(X, groups, 2).by_prediction(rules)
    design = disagreement_design(cells.patterns, cells.counts)
    return time.perf_counter() - start, design, len(cells.counts)


def main():
    print("| problem | Clarabel | fairask | times faster | value, Clarabel / ours | gap |")
    print("|---|---|---|---|---|---|")
    for seed in range(5):
        X, groups, rules = rows_and_rules(2_000, 20, 10, seed)
        theirs, value = min((by_clarabel(X, rules) for _ in range(3)), key=lambda r: r[0])
        t, design = min((from_predictions(X, rules) for _ in range(9)), key=lambda r: r[0])
        print(
            f"| 2,000 rows, k = 10, seed {seed} | {theirs:.2f} s | {t * 1e3:.1f} ms | {theirs / t:.0f} "
            f"| {value / design.value:.4f} | {design.gap:.1e} |",
            flush=True,
        )
    print("\n| rows | bare matrix product | codes, histogram and design | beyond the product | cells | gap |")
    print("|---|---|---|---|---|---|")
    for n in (10_000, 100_000, 1_000_000):
        X, groups, rules = rows_and_rules(n, 20, 10, 0, np.float32)
        beta = np.array([rule.beta for rule in rules], dtype=np.float32)
        product = np.inf
        for _ in range(5):
            start = time.perf_counter()
            beta[:, :-1] @ X.T
            product = min(product, time.perf_counter() - start)
        t, design, cells = min((ours(X, groups, rules) for _ in range(5)), key=lambda r: r[0])
        print(
            f"| {n:,} | {product:.3f} s | {t:.3f} s | {t - product:.3f} s | {cells} | {design.gap:.1e} |",
            flush=True,
        )
    gaps, worst = [], None
    rng = np.random.default_rng(0)
    for _ in range(300):
        k, cells = int(rng.integers(2, 15)), int(rng.integers(2, 400))
        design = disagreement_design(
            rng.random((k, cells)) < rng.uniform(0.1, 0.9), rng.integers(1, 1000, cells)
        )
        if design is not None:
            gaps.append(design.gap)
            worst = max(worst or 0, design.n_iter)
    print(
        f"\n{len(gaps)} random problems: largest gap {max(gaps):.1e}, at most {worst} steps. {machine_line()}"
    )


if __name__ == "__main__":
    main()
