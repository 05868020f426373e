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
import dataclasses
import functools
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.certificate_runs import Rows
from fairask.audit import simulate_audit
from fairask.audit.plan import AuditPlan
from fairask.audit.strata import Counts, Layout
from fairask.audit.plan import Schedule, allocate
from fairask.audit.simulation import Truth, play
from fairask.audit.strata import PoolRows, Strata
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


def variance(strata: Strata, y: np.ndarray) -> float:
    """Variance of the gap per label, if labels are placed with all shares known (Neyman)."""
    layout, size = strata.layout, strata.sizes.astype(float)
    share = np.array([y[queue].mean() if len(queue) else 0.0 for queue in strata.queues])
    decided, root = layout.decision[0] == 1, 0.0
    for g in range(layout.n_groups):
        mine, mass = layout.group == g, size * share
        one, zero = mass[mine & decided].sum(), mass[mine & ~decided].sum()
        slope = np.where(decided, zero, one) / (one + zero) ** 2 * size
        root += float((slope * np.sqrt(share * (1 - share)))[mine].sum())
    return root**2


def ideal(names: list[str], seeds: range) -> None:
    """Print what four bins of each score would save if labels were placed ideally."""
    print("Labels that ideal placement would save with four bins, by model")
    for name in names:
        for kind in ("own", "old"):
            saved = []
            for seed in seeds:
                y, pred, groups, scores = audited_pool(name, seed)
                plain = variance(Strata.of_rows(PoolRows.of_arrays(pred, groups)), y)
                binned = Strata.of_rows(PoolRows.of_arrays(pred, groups, score=scores[kind]), bins=4)
                saved.append(1 - variance(binned, y) / plain)
            print(f"{name:8} {kind:4} " + " ".join(f"{v:>6.1%}" for v in saved), flush=True)


@dataclasses.dataclass(frozen=True)
class KnownShares(Schedule):
    """Places labels by the true shares of label 1, which no audit knows."""

    shares: tuple[float, ...] = ()

    def next_counts(self, counts: Counts, layout: Layout, look: int) -> np.ndarray:
        share = np.clip(np.array(self.shares), 0.01, 0.99) + np.zeros_like(counts.size)
        weight = self._neyman(counts.size, share, layout)
        weight = np.maximum(weight, 0.05 * weight.max(axis=-1, keepdims=True))
        return allocate(weight, counts.labels, counts.size, self.totals[look])


def placed(names: list[str], seeds: range, audits: int) -> None:
    """Print what the model's own score saves, with labels placed as audits do and by the true shares."""
    print(f"Labels saved by the model's own score, {len(seeds)} models and {audits:,} audits each")
    print(f"{'pool':8} {'as audits do':>14} {'by true shares':>15}")
    for name in names:
        used = np.zeros(3)
        for seed in seeds:
            y, pred, groups, scores = audited_pool(name, seed)
            tolerance = near(group_gap(y, pred, groups))
            plan = AuditPlan("tprp", tolerance, budget=BUDGETS[name], looks=20, random_state=seed)
            for i, bins in enumerate((1, plan.score_bins(2), plan.score_bins(2))):
                rows = PoolRows.of_arrays(pred, groups, seed=seed, score=scores["own"])
                strata = Strata.of_rows(rows, seed=seed, bins=bins)
                size = strata.sizes.astype(float)
                ones = np.array([y[queue].sum() for queue in strata.queues], dtype=float)
                schedule = plan.schedule(len(y))
                if i == 2:
                    whole = {field.name: vars(schedule)[field.name] for field in dataclasses.fields(schedule)}
                    schedule = KnownShares(**whole, shares=tuple(ones / np.maximum(size, 1)))
                truth = Truth(*(np.broadcast_to(v, (audits, len(size))) for v in (size, ones)))
                used[i] += play(truth, schedule, strata.layout, np.random.default_rng(seed))[1].mean()
        print(f"{name:8} {1 - used[1] / used[0]:>14.1%} {1 - used[2] / used[0]:>15.1%}", flush=True)


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
    parser.add_argument(
        "--ideal", action="store_true", help="what ideal placement would save; runs no audits"
    )
    parser.add_argument(
        "--placed", action="store_true", help="what the own score saves if labels are placed by true shares"
    )
    args = parser.parse_args()
    if args.placed:
        placed(args.only, range(args.first, args.first + args.seeds), args.audits)
        return
    if args.ideal:
        ideal(args.only, range(args.first, args.first + args.seeds))
        return
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
