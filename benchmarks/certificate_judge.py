"""A judge beside people: the labels that it saves, and whether audits keep the promise with a bad one.

    python -m benchmarks.certificate_judge [--part saving validity] [--audits 200] [--seeds 2] [--runs 1000]

Saving: labels that audits of six public tables need, as in ``certificate_scores``, with judges whose answers
are right in 85 % of the rows (of each group and label alike), right in 85 % but 20 points less in the second
group, as right as the audited model, coins, and wrong in 85 %. Validity: the scenarios below were written
down before they were run; the tolerance is a hair below the gap, so that every certificate is false.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.certificate_scores import BUDGETS, POOLS, audited_pool, near
from fairask.audit.plan import AuditPlan
from fairask.audit.simulation import CERTIFIED, Truth, play, simulate_rows
from fairask.audit.layout import Counts
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata
from fairask.metrics import group_gap

DELTA = 0.05


def answers(y: Any, right: Any, rng: np.random.Generator) -> Any:
    """What a judge says who is right with this probability in each row."""
    return np.where(rng.random(len(y)) < right, y, 1 - y)


def judges(y: Any, pred: Any, groups: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Answers of each judge; None for no judge."""
    second = groups == np.unique(groups)[-1]
    as_model = float((y == pred).mean())
    many = np.stack([answers(y, 0.75, rng) for _ in range(3)], axis=1)
    return {
        "none": None,
        "right in 85 %": answers(y, 0.85, rng),
        "20 less in one": answers(y, np.where(second, 0.65, 0.85), rng),
        "as the model": answers(y, as_model, rng),
        "three of 75 %": many,
        "a coin": answers(y, 0.5, rng),
        "wrong in 85 %": answers(y, 0.15, rng),
    }


def saving(names: list[str], seeds: range, audits: int) -> None:
    """Print the labels that each judge saves."""
    print(f"Labels to decide, {len(seeds)} models and {audits:,} audits each; below zero is saved")
    kinds: list[str] = []
    for name in names:
        used: dict[str, float] = {}
        wrong = 0.0
        for seed in seeds:
            y, pred, groups, _ = audited_pool(name, seed)
            plan = AuditPlan(
                "tprp", near(group_gap(y, pred, groups)), DELTA, BUDGETS[name], 20, random_state=seed
            )
            for kind, said in judges(y, pred, groups, np.random.default_rng([41, seed])).items():
                rows = PoolRows.of_arrays(pred, groups, seed=seed, truth=y, judge=said)
                found = simulate_rows(rows, plan, audits)
                used[kind] = used.get(kind, 0.0) + found.mean_labels / len(seeds)
                wrong = max(wrong, found.wrong)
        if not kinds:
            kinds = list(used)
            print(f"{'table':8} {'none':>7} " + " ".join(f"{kind:>15}" for kind in kinds[1:]) + "   wrong")
        change = " ".join(f"{used[kind] / used['none'] - 1:>15.1%}" for kind in kinds[1:])
        print(f"{name:8} {used['none']:>7.0f} {change} {wrong:>7.3f}", flush=True)


def scenarios() -> dict[str, dict[str, Any]]:
    """Written down before they were run: how often the judge is right, by group, decision and label."""
    plain = {"rows": (4000, 3000), "base": (0.5, 0.4), "tpr": (0.8, 0.7), "fpr": (0.2, 0.2), "budget": 600}
    rare = plain | {"base": (0.06, 0.05), "budget": 1500}
    good = np.full((2, 2, 2), 0.85)
    one_group = good - np.array([0.0, 0.2])[:, None, None]
    agrees = np.full((2, 2, 2), 0.85)  # with the model: it never finds a positive that the model missed
    agrees[:, 0, 1], agrees[:, 1, 0] = 0.02, 0.02
    agrees_in_one = good.copy()
    agrees_in_one[1] = agrees[1]
    return {
        "right in 85 %": plain | {"right": good},
        "20 points less in one group": plain | {"right": one_group},
        "20 points less in one group, rare": rare | {"right": one_group},
        "says what the model says": plain | {"right": agrees},
        "says what the model says, rare": rare | {"right": agrees},
        "says so in one group": plain | {"right": agrees_in_one},
        "says so in one group, rare": rare | {"right": agrees_in_one},
        "wrong in 85 %": plain | {"right": 1 - good},
        "a coin": plain | {"right": np.full((2, 2, 2), 0.5)},
        "a coin, rare": rare | {"right": np.full((2, 2, 2), 0.5)},
        "tiny group": plain | {"rows": (4000, 90), "tpr": (0.85, 0.65), "budget": 400, "right": good},
        "tiny group, says what the model says": plain | {"rows": (4000, 90), "tpr": (0.85, 0.65),
                                                         "budget": 400, "right": agrees},
        "missed positives skipped by people": plain | {"right": good, "skip": 0.1, "budget": 1500},
        "three groups, ratio": plain | {"rows": (4000, 3000, 1000), "base": (0.5, 0.4, 0.3),
                                        "tpr": (0.8, 0.75, 0.6), "fpr": (0.2, 0.2, 0.2), "budget": 1000,
                                        "metric": "tpr-ratio", "right": np.full((3, 2, 2), 0.8)},
    }  # fmt: skip


def validity(runs: int) -> None:
    """Print how often audits of the scenarios certify falsely."""
    print(f"False certificates in {runs:,} audits, the tolerance a hair below the gap, delta {DELTA}")
    worst = 0.0
    for number, (name, s) in enumerate(scenarios().items()):
        rng = np.random.default_rng([42, number])
        group = np.repeat(np.arange(len(s["rows"])), s["rows"])
        y, pred = np.zeros(len(group), dtype=int), np.zeros(len(group), dtype=int)
        for g in range(len(s["rows"])):  # exact counts, so that the gap is as it is written
            mine = np.flatnonzero(group == g)
            positive = round(len(mine) * s["base"][g])
            hit, wrong = round(positive * s["tpr"][g]), round((len(mine) - positive) * s["fpr"][g])
            y[mine[:positive]] = 1
            pred[mine[:hit]] = pred[mine[positive : positive + wrong]] = 1
        said = answers(y, s["right"][group, pred, y], rng)
        rows = PoolRows.of_arrays(pred, group, truth=y, judge=said)
        plan = AuditPlan(s.get("metric", "tprp"), 0.1, DELTA, s["budget"], 5)
        strata = Strata.of_rows(rows, bins=plan.score_bins(len(s["rows"])), most=0)
        assert strata.ones is not None
        size, ones, layout = strata.sizes.astype(float), strata.ones, strata.layout
        schedule = plan.schedule(float(size.sum()), pilot=layout.pilot)
        told = Counts.whole(size, ones)
        gap = float(schedule.bounds(told, layout, 0).estimate[0])
        schedule = replace(schedule, claims=(replace(schedule.claims[0], tolerance=gap - 1e-7),))
        lost = np.rint(s.get("skip", 0.0) * ones * (layout.decision[0] == 0))
        truth = Truth(*(np.broadcast_to(v, (runs, len(size))) for v in (size, ones, lost, 0 * lost)))
        codes, _ = play(truth, schedule, layout, np.random.default_rng([43, number]))
        share = float(np.mean(codes[:, 0] == CERTIFIED))
        worst = max(worst, share)
        print(f"{name:40} gap {gap:.4f}  {share:.4f}", flush=True)
    bar = DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / runs)
    print(f"worst: {worst:.4f}; delta and three standard errors: {bar:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", default=["saving", "validity"], choices=["saving", "validity"])
    parser.add_argument("--audits", type=int, default=200, help="audits of each model, for the saving")
    parser.add_argument("--seeds", type=int, default=2, help="models of each table")
    parser.add_argument("--first", type=int, default=400, help="the first seed; the settings saw 0 and 1")
    parser.add_argument("--runs", type=int, default=1000, help="audits of each scenario")
    parser.add_argument("--only", nargs="+", default=list(POOLS))
    args = parser.parse_args()
    start = time.perf_counter()
    if "saving" in args.part:
        saving(args.only, range(args.first, args.first + args.seeds), args.audits)
    if "validity" in args.part:
        validity(args.runs)
    print(f"took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
