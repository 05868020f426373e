"""Audits where outcomes exist for the accepted only: what they save, and whether they keep the promise.

    python -m benchmarks.certificate_observed [--part cost validity] [--audits 500] [--seeds 3] [--runs 1000]

Cost: labels (and their cost, if label 0 costs twice as much) that decide as an audit does that ignores the
outcomes of the accepted, on Adult, Bank and a made-up table like the law school's. With "and a score" a model
fitted on the accepted rows' outcomes says which rejected rows may be positive. Validity: the scenarios below
were written down before they were run; the tolerance is a hair below the gap, so that every certificate is
false.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.certificate_scores import near
from fairask.audit.plan import AuditPlan, allocate
from fairask.audit.simulation import CERTIFIED, Truth, play
from fairask.audit.layout import Counts
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata
from fairask.datasets import load
from fairask.metrics import group_gap

DELTA, LABELS = 0.05, 250
#: Budgets above what an audit without observed outcomes needs.
BUDGETS = {"adult": 7000, "bank": 3200, "law school": 1600}


def law_school(rng: np.random.Generator, n: int = 20_000) -> tuple[Any, Any, Any]:
    """Applicants like those of the law school table: nine in ten pass the bar, fewer of a tenth of them."""
    groups = (rng.random(n) < 0.16).astype(int)
    skill = rng.normal(size=n) - 1.1 * groups
    X = np.stack([skill + 0.8 * rng.normal(size=n), skill + 0.9 * rng.normal(size=n)], axis=1)
    y = (rng.random(n) < 1 / (1 + np.exp(-(2.6 + 1.3 * skill)))).astype(int)
    return X, y, groups


def table(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Features, labels, decisions and groups of the rows that did not train the model."""
    rng = np.random.default_rng([31, seed])
    if name == "law school":
        X, y, groups = law_school(rng)
    else:
        data = load(name)
        X, y, groups = np.asarray(data.X, dtype=float), np.asarray(data.y), np.asarray(data.groups)
    X = StandardScaler().fit_transform(X)
    order = rng.permutation(len(y))
    train, rest = np.split(order, [LABELS])
    score = LogisticRegression(C=0.05, max_iter=2000).fit(X[train], y[train]).predict_proba(X[rest])[:, 1]
    # Of applicants who mostly succeed, three in four are admitted.
    cut = np.quantile(score, 0.25) if name == "law school" else 0.5
    return X[rest], y[rest], (score > cut).astype(int), groups[rest]


def audits(
    rows: PoolRows,
    plan: AuditPlan,
    n: int,
    *,
    seed: int,
    lost: Any = None,
    tolerance: float | None = None,
    by_group: bool = False,
) -> tuple[float, float, float]:
    """Share that certifies, mean labels, and mean cost of labels if label 0 costs twice as much."""
    bins = 1 if rows.score is None else plan.score_bins(len(rows.names))
    strata = Strata.of_rows(rows, seed=seed, bins=bins, most=0)
    assert strata.ones is not None
    size, ones, layout = strata.sizes.astype(float), strata.ones, strata.layout
    # Of strata that are known, what is told are the labels that were observed.
    zeros_told, ones_told, _ = strata.known.astype(float)
    schedule = plan.schedule(float(size[~layout.known].sum()))
    if tolerance is not None:
        schedule = replace(schedule, claims=(replace(schedule.claims[0], tolerance=tolerance),))
    lost_ones = np.where(layout.known, ones - ones_told, 0.0)
    lost_zeros = np.where(layout.known, size - ones - zeros_told, 0.0)
    if lost is not None:
        lost_ones, lost_zeros = lost_ones + lost[0](strata), lost_zeros + lost[1](strata)
    shape = (n, len(size))
    truth = Truth(*(np.broadcast_to(v, shape) for v in (size, ones, lost_ones, lost_zeros)))
    paid: list[Any] = []

    class Spent(type(schedule)):  # type: ignore[misc]
        """Keeps what was found of each audit at its last look; may draw labels by group alone."""

        def next_counts(self, counts: Counts, layout: Any, look: int, pilot: Counts | None = None) -> Any:
            if not by_group:
                return super().next_counts(counts, layout, look, pilot)
            weight = counts.size / np.maximum(counts.size @ layout.members.T @ layout.members, 1.0)
            return allocate(weight, counts.labels, counts.size, self.totals[look])

        def verdicts(self, counts: Counts, layout: Any, look: int, before: Any) -> Any:
            if strata.observed is not None and strata.observed.random:
                # Of known strata only what was observed is told; no row of theirs was skipped.
                counts = replace(counts, skipped=np.where(layout.known, 0.0, counts.skipped))
            code, found = super().verdicts(counts, layout, look, before)
            over = (code > 0).all(axis=1) | (look == len(self.totals) - 1)
            bought = np.where(layout.known, 0.0, counts.ones + 2 * counts.zeros).sum(axis=1)
            paid.extend(bought[over].tolist())
            return code, found

    made = Spent(schedule.claims, schedule.delta, schedule.totals, schedule.population)
    codes, used = play(truth, made, layout, np.random.default_rng([seed, 5]))
    return float(np.mean(codes[:, 0] == CERTIFIED)), float(used.mean()), float(np.mean(paid))


def costs(names: list[str], seeds: range, n: int) -> None:
    """Print labels and their cost with and without the outcomes of the accepted."""
    print(f"Labels to decide, and their cost if label 0 costs twice; {len(seeds)} models, {n:,} audits each")
    print(
        f"{'':20} {'labels':>8} {'saved by':>9} {'saved by':>9} {'with a':>7}  "
        f"{'cost saved by':>13} {'with a':>7}"
    )
    print(f"{'table':11} {'accepted':>8} {'by group':>8} {'placing':>9} {'observed':>9} {'score':>7}  "
          f"{'observed':>13} {'score':>7}")  # fmt: skip
    for name in names:
        found, share = np.zeros((4, 2)), 0.0
        for seed in seeds:
            X, y, pred, groups = table(name, seed)
            plan = AuditPlan("tprp", near(group_gap(y, pred, groups)), DELTA, BUDGETS[name], 20)
            seen = {int(row): int(y[row]) for row in np.flatnonzero(pred)}
            share += float(pred.mean()) / len(seeds)
            forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
            score = forest.fit(X[pred == 1], y[pred == 1]).predict_proba(X)[:, 1]
            for i, more in enumerate(({}, {}, {"observed": seen}, {"observed": seen, "score": score})):
                rows = PoolRows.of_arrays(pred, groups, truth=y, **more)
                found[i] += audits(rows, plan, n, seed=seed, by_group=not i)[1:]
        labels, cost = (1 - found / found[0]).T
        print(f"{name:11} {share:>8.0%} {found[0, 0] / len(seeds):>8.0f} {labels[1]:>9.1%} {labels[2]:>9.1%} "
              f"{labels[3]:>7.1%}  {cost[2]:>13.1%} {cost[3]:>7.1%}", flush=True)  # fmt: skip
        beside = 1 - found / found[1]
        print(f"{'':11} beside placing alone: labels {beside[2, 0]:.1%}, with a score "
              f"{beside[3, 0]:.1%}; cost {beside[2, 1]:.1%} and {beside[3, 1]:.1%}", flush=True)  # fmt: skip


def scenarios() -> dict[str, dict[str, Any]]:
    """Written down before they were run: the groups' rows, base rates and decisions, what is observed."""
    plain = {"rows": (4000, 3000), "base": (0.5, 0.4), "tpr": (0.8, 0.7), "fpr": (0.2, 0.2), "budget": 600}
    return {
        "plain": plain,
        "rare positives": plain | {"base": (0.06, 0.05), "budget": 1200},
        "tiny strata": plain | {"rows": (600, 60), "base": (0.5, 0.4), "tpr": (0.85, 0.65), "budget": 150},
        "most accepted": plain | {"tpr": (0.97, 0.9), "fpr": (0.6, 0.6), "budget": 300},
        "three groups, one tiny": plain | {"rows": (4000, 3000, 90), "base": (0.5, 0.4, 0.3),
                                           "tpr": (0.8, 0.75, 0.6), "fpr": (0.2, 0.2, 0.2)},
        "ratio": plain | {"metric": "tpr-ratio"},
        "false positive rates": plain | {"metric": "fprp", "fpr": (0.3, 0.2)},
        # Somebody with other knowledge accepted good cases that the model rejects: their outcomes exist too.
        "good cases accepted against the model": plain | {"against": (0.25, 0.05)},
        "bad cases accepted against the model": plain | {"against": (0.02, 0.25)},
        # Outcomes of accepted rows are missing because of what they are: the bounds must allow for it.
        "a tenth of good outcomes missing": plain | {"gone": (0.1, 0.0), "budget": 1500},
        "a tenth of bad outcomes missing": plain | {"gone": (0.0, 0.1), "budget": 1500},
        "missing at random, declared": plain | {"gone": (0.3, 0.3), "missing": "random"},
        "missing at random, tiny group": plain | {"rows": (2000, 120), "gone": (0.3, 0.3),
                                                  "missing": "random"},
        # Rejected rows that nobody can label: half of the good ones, or few of them.
        "rejected rows skipped": plain | {"skip": 0.1, "budget": 1500},
    }  # fmt: skip


def validity(runs: int) -> None:
    """Print how often audits of the scenarios certify falsely."""
    print(f"False certificates in {runs:,} audits, the tolerance a hair below the gap, delta {DELTA}")
    worst = 0.0
    for number, (name, s) in enumerate(scenarios().items()):
        rng = np.random.default_rng([32, number])
        k = len(s["rows"])
        group = np.repeat(np.arange(k), s["rows"])
        y, pred = np.zeros(len(group), dtype=int), np.zeros(len(group), dtype=int)
        for g in range(k):  # exact counts, so that the gap is as it is written
            mine = np.flatnonzero(group == g)
            positive = round(len(mine) * s["base"][g])
            hit, wrong = round(positive * s["tpr"][g]), round((len(mine) - positive) * s["fpr"][g])
            y[mine[:positive]] = 1
            pred[mine[:hit]] = pred[mine[positive : positive + wrong]] = 1
        chance = np.where(pred == 1, 1.0, 0.0)
        if "against" in s:
            chance = np.where(pred == 0, np.where(y == 1, *s["against"]), chance)
        if "gone" in s:
            chance = np.where(pred == 1, 1 - np.where(y == 1, *s["gone"]), chance)
        lost = None
        if "skip" in s:
            share = s["skip"]

            def skipped(strata: Strata, share: float = share) -> Any:
                return np.where(strata.layout.known, 0.0, np.rint(share * strata.ones))

            lost = (skipped, lambda strata: 0.0)
        plan = AuditPlan(s.get("metric", "tprp"), 0.1, DELTA, s["budget"], 5)
        whole = Strata.of_rows(PoolRows.of_arrays(pred, group, truth=y), most=0)
        size, ones = whole.sizes.astype(float), whole.ones
        assert ones is not None
        told = Counts.whole(size, ones)
        gap = float(plan.schedule(1e9).bounds(told, whole.layout, 0).estimate[0])
        share_false, part = 0.0, 20 if s.get("missing") == "random" else 1
        for i in range(part):  # outcomes that are missing at random are other ones in each audit
            rows_seen = np.flatnonzero(rng.random(len(y)) < chance)
            seen = {int(row): int(y[row]) for row in rows_seen}
            rows = PoolRows.of_arrays(pred, group, truth=y, observed=seen, missing=s.get("missing", "worst"))
            share_false += audits(
                rows, plan, runs // part, seed=1000 * number + i, lost=lost, tolerance=gap - 1e-7
            )[0] / part  # fmt: skip
        worst = max(worst, share_false)
        print(f"{name:40} gap {gap:.4f}  {share_false:.4f}", flush=True)
    bar = DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / runs)
    print(f"worst: {worst:.4f}; delta and three standard errors: {bar:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", default=["cost", "validity"], choices=["cost", "validity"])
    parser.add_argument("--audits", type=int, default=200, help="audits of each model, for the cost")
    parser.add_argument("--seeds", type=int, default=2, help="models of each table")
    parser.add_argument("--runs", type=int, default=1000, help="audits of each scenario")
    parser.add_argument("--only", nargs="+", default=list(BUDGETS))
    args = parser.parse_args()
    start = time.perf_counter()
    if "cost" in args.part:
        costs(args.only, range(300, 300 + args.seeds), args.audits)
    if "validity" in args.part:
        validity(args.runs)
    print(f"took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
