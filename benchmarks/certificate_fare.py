# ruff: noqa: E501
"""Active learning by FARE, then an audit: false certificates about the whole pool and about the population.

    python benchmarks/certificate_fare.py [--runs 500] [--audits 40]

A run draws a pool of 1,500 rows, learns from 300 labels by FARE, and audits the model many times with 600 more.
The tolerance is a hair below the violation (on the pool, or on 20,000 fresh rows), so that every certificate
is false. "left over" is the audit of version 0.1.0, which left out the rows that trained the model. In "skips"
2 % of the pool, positives that the model misses, cannot be labelled. Results go to
``results/certificates/fare.csv``; runs that are there are not run again.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from certificate_runs import Rows
from fairask import FairActiveLearner, simulate
from fairask.certify import AuditPlan
from fairask.certify.audit.simulate import Truth, play
from fairask.certify.audit.strata import Strata
from fairask.metrics import violation
from populations import ten, twelve

NAMES = (
    "base rates",
    "groups differ in slope",
    "label noise",
    "interaction",
    "rare positives",
    "three groups",
)
ROWS, LABELS, FRESH, BUDGET = 1500, 300, 20_000, 600


def one(name: str, seed: int, audits: int) -> dict[str, object]:
    rng = np.random.default_rng([31, seed])
    population = {**twelve(), **ten()}[name]
    X, y, groups = population.draw(ROWS, rng)
    fresh_X, fresh_y, fresh_groups = population.draw(FRESH, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = FairActiveLearner(X, groups, profile="paper", batch_size=50, random_state=seed)
        simulate(learner, y, LABELS)
        model = learner.current_model()
    said = model.predict(X, sensitive_features=groups, random_state=seed)
    fresh = violation(
        fresh_y, model.predict_proba(fresh_X, sensitive_features=fresh_groups)[:, 1], fresh_groups
    )
    known = {int(row): int(y[row]) for row in learner.labelled_indices_}
    whole = violation(y, said, groups)
    found: dict[str, object] = {"pool_violation": whole, "population_violation": fresh}
    strata = Strata.of_rows(said, groups, known=known, seed=seed)
    rest = Strata.of_rows(said, groups, trained_on=list(known), seed=seed)
    for column, which, target, gap, skips in (
        ("pool", strata, "pool", whole, False),
        ("population_false", strata, "population", fresh, False),
        ("skips", strata, "pool", whole, True),
        ("left_over", rest, "pool", whole, False),
    ):
        if not 0.002 < gap < 0.9:
            found[column] = "nan"
            continue
        size = which.sizes.astype(float)
        ones = np.array([y[q].sum() for q in which.queues], dtype=float) + which.known[1]
        lost = np.zeros_like(size)
        if skips:
            missed = np.where(~which.layout.known & (which.layout.decision[0] == 0), ones, 0.0)
            lost = np.floor(missed * min(0.02 * ROWS / max(missed.sum(), 1), 1))
        shape = (audits, len(size))
        truth = Truth(*(np.broadcast_to(v, shape) for v in (size, ones, lost, np.zeros_like(size))))
        plan = AuditPlan("tprp", gap - 1e-7, 0.05, BUDGET, 5, target)
        left = float(size[~which.layout.known].sum())
        codes, _ = play(truth, plan.schedule(left), which.layout, np.random.default_rng([32, seed]))
        found[column] = float(np.mean(codes == 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--audits", type=int, default=40)
    args = parser.parse_args()
    rows = Rows("fare")
    for seed in range(args.runs):
        for name in NAMES:
            key = {"population": name, "seed": seed, "audits": args.audits}
            rows.once(key, lambda name=name, seed=seed: one(name, seed, args.audits))
    columns = ("pool", "population_false", "skips", "left_over")
    print("False certificates with the tolerance a hair below the violation; delta 0.05")
    print(f"{'population':24} {'runs':>5} " + " ".join(f"{c.replace('_', ' '):>16}" for c in columns))
    for name in NAMES:
        mine = [row for row in rows.rows if row["population"] == name]
        means = [np.nanmean([float(row[c]) for row in mine]) for c in columns]
        print(f"{name:24} {len(mine):>5} " + " ".join(f"{m:>16.3f}" for m in means))


if __name__ == "__main__":
    main()
