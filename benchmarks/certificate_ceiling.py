"""What a score, a judge and observed outcomes save of an audit's labels, beside the most they could.

    python -m benchmarks.certificate_ceiling [--audits 200] [--seeds 2] [--first 200] [--only adult bank]

The ceiling is that of an audit that knows the share of label 1 in every stratum before it begins and places
its labels by Neyman's rule, in this finite pool: the labels that give the difference of the true positive
rates the variance that it has with the labels of an audit without the option. A judge who is right in 85 % of
the rows, independently of the model, leaves 2 sqrt(.85 * .15) of each stratum's standard deviation, whatever
its share of label 1: at most 1 - 4 * .85 * .15 = 49 % of the labels can be saved in any pool.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.certificate_judge import answers
from benchmarks.certificate_observed import BUDGETS as OBSERVED
from benchmarks.certificate_observed import audits, table
from benchmarks.certificate_scores import BUDGETS, audited_pool, near
from fairask.audit.plan import AuditPlan
from fairask.audit.simulation import simulate_rows
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata
from fairask.metrics import Float, group_gap


def errors(rows: PoolRows, bins: int) -> tuple[Float, Float, Float]:
    """Of each stratum to draw from: the root of its part of the variance, its size, its group's size."""
    strata = Strata.of_rows(rows, bins=bins, most=0)
    layout, size = strata.layout, strata.sizes.astype(float)
    assert strata.ones is not None
    share = strata.ones / np.maximum(size, 1)
    decided, slope, people = layout.decision[0] == 1, np.zeros(len(size)), np.zeros(len(size))
    for g in range(layout.n_groups):
        mine = layout.group == g
        one, zero = strata.ones[mine & decided].sum(), strata.ones[mine & ~decided].sum()
        slope[mine] = (np.where(decided, zero, one) / (one + zero) ** 2)[mine]
        people[mine] = size[mine].sum()
    free = ~layout.known & (size > 0)
    return (slope * size * np.sqrt(share * (1 - share)))[free], size[free], people[free]


def variance(labels: float, found: tuple[Float, Float, Float], *, by_group: bool = False) -> float:
    """Variance of the gap with so many labels, placed by Neyman's rule or equally by group."""
    error, size, people = found
    weight = size / people if by_group else np.maximum(error, 1e-12)
    low, high = 0.0, float((size / weight).max())
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * weight, size).sum() < labels else (low, middle)
    placed = np.maximum(np.minimum(high * weight, size), 1e-9)
    return float((error**2 * (1 / placed - 1 / size)).sum())


def ceiling(labels: float, plain: PoolRows, more: PoolRows, bins: int, *, by_group: bool = False) -> float:
    """Share of the labels of a plain audit that an ideal one of the other rows saves."""
    goal, found = variance(labels, errors(plain, 1), by_group=by_group), errors(more, bins)
    low, high = 1.0, float(found[1].sum())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle, found) > goal else (low, middle)
    return 1 - high / labels


def show(name: str, kind: str, saved: list[float], most: list[float]) -> None:
    print(f"{name:11} {kind:22} {np.mean(saved):>8.1%} {np.mean(most):>8.1%}", flush=True)


def scores(name: str, seeds: range, n: int) -> None:
    """Print what scores and a judge save on a table."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for seed in seeds:
        y, pred, groups, said = audited_pool(name, seed)
        plan = AuditPlan("tprp", near(group_gap(y, pred, groups)), 0.05, BUDGETS[name], 20, random_state=seed)
        bins = max(plan.score_bins(2), 2)
        plain = PoolRows.of_arrays(pred, groups, seed=seed, truth=y)
        labels = simulate_rows(plain, plan, n).mean_labels
        judge = answers(y, 0.85, np.random.default_rng([41, seed]))
        kinds: dict[str, dict[str, Any]] = {
            "own score": {"score": said["own"]},
            "judge right in 85 %": {"judge": judge},
        }
        for kind, more in kinds.items():
            rows = PoolRows.of_arrays(pred, groups, seed=seed, truth=y, **more)
            saved, most = found.setdefault(kind, ([], []))
            saved.append(1 - simulate_rows(rows, plan, n).mean_labels / labels)
            most.append(ceiling(labels, plain, rows, bins))
    for kind, both in found.items():
        show(name, kind, *both)


def outcomes(name: str, seeds: range, n: int) -> None:
    """Print what observed outcomes save on a table, beside an audit that draws by group and ignores them."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for seed in seeds:
        X, y, pred, groups = table(name, seed)
        plan = AuditPlan("tprp", near(group_gap(y, pred, groups)), 0.05, OBSERVED[name], 20)
        plain = PoolRows.of_arrays(pred, groups, truth=y)
        labels = audits(plain, plan, n, seed=seed, by_group=True)[1]
        seen = {int(row): int(y[row]) for row in np.flatnonzero(pred)}
        forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0).fit(
            X[pred == 1], y[pred == 1]
        )
        kinds: dict[str, dict[str, Any]] = {
            "observed": {},
            "observed and a score": {"score": forest.predict_proba(X)[:, 1]},
        }
        for kind, more in kinds.items():
            rows = PoolRows.of_arrays(pred, groups, truth=y, observed=seen, **more)
            saved, most = found.setdefault(kind, ([], []))
            saved.append(1 - audits(rows, plan, n, seed=seed)[1] / labels)
            bins = plan.score_bins(2) if more else 1
            most.append(ceiling(labels, plain, rows, bins, by_group=True))
    for kind, both in found.items():
        show(name, kind, *both)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2, help="models of each table")
    parser.add_argument("--first", type=int, default=200, help="the first seed; the settings saw 0 and 1")
    parser.add_argument("--only", nargs="+", default=[*BUDGETS, "law school"])
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.seeds)
    print(f"Labels saved and the ceiling; {args.seeds} models of each table, {args.audits:,} audits each")
    print(f"{'table':11} {'with':22} {'saved':>8} {'ceiling':>8}")
    for name in args.only:
        if name in BUDGETS:
            scores(name, seeds, args.audits)
        if name in OBSERVED:
            outcomes(name, seeds, args.audits)


if __name__ == "__main__":
    main()
