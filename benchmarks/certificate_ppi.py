"""The audit's estimate beside prediction-powered inference (ppi-python) on the same draws.

    python -m benchmarks.certificate_ppi [--draws 100] [--only adult bank]

For every pool the model and its score are those of ``benchmarks/certificate_scores.py``. Labels are drawn
uniformly within groups, by the audit without the score, and by the audit with it. From the same labels the
gap of true positive rates is estimated by counting (weighted by the draws), by PPI++ with the score
(numerators and denominators of the rates, tuned, weighted by the draws), and by the audit's strata.
Printed are root mean
square errors as multiples of counting on uniform draws. Results go to ``results/certificates/ppi.csv``; pools
that are there are not run again.
"""

from __future__ import annotations

import argparse

import numpy as np
from ppi_py import ppi_mean_pointestimate

from benchmarks.certificate_runs import Rows
from benchmarks.certificate_scores import BUDGETS, POOLS, audited_pool
from fairask.audit.plan import AuditPlan
from fairask.audit.layout import bins_for
from fairask.audit.layout import Counts
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata
from fairask.metrics import group_gap

COLUMNS = {
    "uniform_counting": "uniform: counting",
    "uniform_ppi": "uniform: PPI++",
    "audit_ppi": "audit: PPI++",
    "audit_strata": "audit: strata",
    "score_ppi": "audit + score: PPI++",
    "score_strata": "audit + score: strata",
}


def uniform(groups: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows drawn uniformly within groups, as many of each, and rows of the pool that each stands for."""
    rows, weight = [], []
    for g in np.unique(groups):
        mine = rng.permutation(np.flatnonzero(groups == g))[: n // 2]
        rows.append(mine)
        weight.append(np.full(len(mine), np.sum(groups == g) / len(mine)))
    return np.concatenate(rows), np.concatenate(weight)


def by_audit(
    strata: Strata, y: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The same, drawn as an audit of five looks draws."""
    queues = [rng.permutation(queue) for queue in strata.queues]
    schedule, size = AuditPlan(budget=n).schedule(len(y)), strata.sizes.astype(float)[None]
    taken = np.zeros(len(queues), dtype=np.int64)
    for look in range(len(schedule.totals)):
        ones = np.array([y[q[:t]].sum() for q, t in zip(queues, taken, strict=True)], dtype=float)[None]
        found = Counts(size, ones, taken[None] - ones, np.zeros_like(size))
        taken = schedule.next_counts(found, strata.layout, look)[0]
    parts = [q[:t] for q, t in zip(queues, taken, strict=True)]
    weight = [np.full(len(part), len(q) / max(len(part), 1)) for part, q in zip(parts, queues, strict=True)]
    return np.concatenate(parts), np.concatenate(weight)


def rates(y, said, groups, score, rows, weight) -> tuple[float, float]:
    """Gaps of true positive rates: weighted counting (the audit's strata, if it drew), and PPI++."""
    counted, powered = [], []
    for g in (0, 1):
        mine = rows[groups[rows] == g]
        w = weight[groups[rows] == g]
        hits = np.stack([y[mine] * said[mine], y[mine]], axis=1).astype(float)
        mean = (w[:, None] * hits).sum(axis=0)
        counted.append(mean[0] / mean[1])
        guess = np.stack([score * said, score], axis=1)
        found = ppi_mean_pointestimate(hits, guess[mine], guess[groups == g], w=w, lam_optim_mode="element")
        powered.append(float(found[0] / found[1]))
    return counted[1] - counted[0], powered[1] - powered[0]


def one(name: str, draws: int) -> dict[str, object]:
    y, said, named, scores = audited_pool(name, 300)
    groups = np.unique(named, return_inverse=True)[1]
    score, n = scores["own"], BUDGETS[name] // 3
    tpr = [said[(groups == g) & (y == 1)].mean() for g in (0, 1)]
    truth = tpr[1] - tpr[0]
    assert abs(abs(truth) - group_gap(y, said, groups)) < 1e-9
    bins = bins_for(n // 5, 4)
    plain = Strata.of_rows(PoolRows.of_arrays(said, groups))
    binned = Strata.of_rows(PoolRows.of_arrays(said, groups, score=score), bins=bins)
    rng = np.random.default_rng(77)
    errors: dict[str, list[float]] = {column: [] for column in COLUMNS}
    for _ in range(draws):
        for kind, drawn in (
            ("uniform", uniform(groups, n, rng)),
            ("audit", by_audit(plain, y, n, rng)),
            ("score", by_audit(binned, y, n, rng)),
        ):
            counted, powered = rates(y, said, groups, score, *drawn)
            errors[f"{kind}_{'counting' if kind == 'uniform' else 'strata'}"].append(counted - truth)
            errors[f"{kind}_ppi"].append(powered - truth)
    root = {column: float(np.sqrt(np.mean(np.square(found)))) for column, found in errors.items()}
    return {"labels": n, "gap": float(truth), **root}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--only", nargs="+", default=list(POOLS))
    args = parser.parse_args()
    rows = Rows("ppi")
    print(f"Root mean square error of the gap, {args.draws} draws; multiples of counting on uniform draws")
    print(f"{'pool':8} {'labels':>6} {'error':>7} " + " ".join(f"{text:>21}" for text in COLUMNS.values()))
    for name in args.only:
        row = rows.once({"pool": name, "draws": args.draws}, lambda name=name: one(name, args.draws))
        base = float(row["uniform_counting"])
        line = " ".join(f"{float(row[column]) / base:>21.2f}" for column in COLUMNS)
        print(f"{name:8} {int(row['labels']):>6,} {base:>7.4f} {line}", flush=True)


if __name__ == "__main__":
    main()
