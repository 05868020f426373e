# ruff: noqa: E501
"""Active learning by FARE, then an audit: false certificates about the whole pool and about the population.

    python -m benchmarks.certificate_fare [--runs 500] [--audits 20]

A run draws a pool of 1,500 rows, learns from 300 labels by FARE, and audits the model many times with 600 more.
The tolerance is a hair below the gap (on the pool, or on 60,000 fresh rows), so that every certificate
is false. In "skips" 2 % of the pool, positives that the model misses, cannot be labelled. "population, same pool" takes
the learner's pool for a sample of the population, as ``learner.audit`` never does; "population, fresh rows"
audits the same model over 1,500 rows that the learner never saw. Results go to ``results/certificates/fare.csv``; runs
that are there are not run again.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import warnings
from collections.abc import Iterable

import numpy as np

from benchmarks.certificate_runs import Rows
from fairask import FairActiveLearner, simulate
from fairask.audit.plan import AuditPlan
from fairask.audit.simulation import Truth, play, run_audits
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata
from fairask.metrics import group_gap
from benchmarks.populations import Population, ten, twelve

NAMES = (
    "base rates",
    "groups differ in slope",
    "label noise",
    "interaction",
    "rare positives",
    "three groups",
)
ROWS, LABELS, FRESH, BUDGET = 1500, 300, 60_000, 600
COLUMNS = {
    "pool": "pool",
    "skips": "skips",
    "same_pool": "population, same pool",
    "fresh_rows": "population, fresh rows",
}


@functools.cache
def populations() -> dict[str, Population]:
    return {**twelve(), **ten()}


def fresh_pools(
    y: np.ndarray, said: np.ndarray, groups: np.ndarray, pools: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels 1 by (group, decision) of pools drawn from the population of the fresh rows."""
    k = int(groups.max()) + 1
    joint = np.bincount(4 * groups + 2 * said + y, minlength=4 * k)
    cells = rng.multinomial(ROWS, joint / joint.sum(), pools).reshape(pools, k, 2, 2).astype(float)
    return cells.sum(axis=-1), cells[..., 1]


def one(name: str, seed: int, audits: int) -> dict[str, object]:
    rng = np.random.default_rng([31, seed])
    population = populations()[name]
    X, y, groups = population.draw(ROWS, rng)
    fresh_X, fresh_y, fresh_groups = population.draw(FRESH, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = FairActiveLearner(X, groups, profile="paper", batch_size=100, random_state=seed)
        simulate(learner, y, LABELS)
        model = learner.current_model()
    said = model.predict(X, sensitive_features=groups, random_state=seed)
    fresh_said = model.predict(fresh_X, sensitive_features=fresh_groups, random_state=seed)
    fresh = group_gap(fresh_y, fresh_said, fresh_groups)
    known = {int(row): int(y[row]) for row in learner.labelled_indices_}
    whole = group_gap(y, said, groups)
    found: dict[str, object] = {"pool_gap": whole, "population_gap": fresh}
    strata = Strata.of_rows(PoolRows.of_arrays(said, groups, known=known, seed=seed), seed=seed)
    for column, target, gap, skips in (
        ("pool", "pool", whole, False),
        ("skips", "pool", whole, True),
        ("same_pool", "population", fresh, False),
    ):
        if not 0.002 < gap < 0.9:
            found[column] = "nan"
            continue
        size = strata.sizes.astype(float)
        ones = np.array([y[q].sum() for q in strata.queues], dtype=float) + strata.known[1]
        lost = np.zeros_like(size)
        if skips:
            missed = np.where(~strata.layout.known & (strata.layout.decision[0] == 0), ones, 0.0)
            lost = np.floor(missed * min(0.02 * ROWS / max(missed.sum(), 1), 1))
        shape = (audits, len(size))
        truth = Truth(*(np.broadcast_to(v, shape) for v in (size, ones, lost, np.zeros_like(size))))
        plan = AuditPlan("tprp", gap - 1e-7, 0.05, BUDGET, 5, target)
        left = float(size[~strata.layout.known].sum())
        codes, _ = play(truth, plan.schedule(left), strata.layout, np.random.default_rng([32, seed]))
        found[column] = float(np.mean(codes == 1))
    found["fresh_rows"] = "nan"
    if 0.002 < fresh < 0.9:
        rng = np.random.default_rng([33, seed])
        pools = fresh_pools(fresh_y, fresh_said, fresh_groups, audits, rng)
        plan = AuditPlan("tprp", fresh - 1e-7, 0.05, BUDGET, 5, "population")
        codes, _ = run_audits(*pools, plan.schedule(ROWS), rng)
        found["fresh_rows"] = float(np.mean(codes == 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--audits", type=int, default=20)
    args = parser.parse_args()
    rows = Rows("fare")
    for seed in range(args.runs):
        for name in NAMES:
            key = {"population": name, "seed": seed, "audits": args.audits}
            rows.once(key, lambda name=name, seed=seed: one(name, seed, args.audits))
    print("False certificates with the tolerance a hair below the gap; delta 0.05")
    print(f"{'population':24} {'runs':>5} " + " ".join(f"{text:>22}" for text in COLUMNS.values()))
    for name in NAMES:
        mine = [row for row in rows.rows if row["population"] == name]
        print(f"{name:24} {len(mine):>5} {_means(mine, COLUMNS)}")
    print("by the gap (of the pool, or of the population):")
    for low, high in itertools.pairwise((0.0, 0.06, 0.1, 0.15, 1.0)):
        shown = []
        for of, columns in (("pool", ["pool", "skips"]), ("population", ["same_pool", "fresh_rows"])):
            mine = [row for row in rows.rows if low <= float(row[f"{of}_gap"]) < high]
            shown.append(_means(mine, columns))
        print(f"{f'{low:g} to {high:g}':30} {' '.join(shown)}")
    print("about the population, where its gap is above 0.1 (mean and standard error over runs):")
    for column in ("same_pool", "fresh_rows"):
        found = np.array([float(row[column]) for row in rows.rows if float(row["population_gap"]) >= 0.1])
        found = found[~np.isnan(found)]
        print(f"  {COLUMNS[column]}: {found.mean():.3f} ± {found.std(ddof=1) / len(found) ** 0.5:.3f}")


def _means(rows: list[dict[str, str]], columns: Iterable[str]) -> str:
    return " ".join(f"{np.nanmean([float(row[column]) for row in rows]):>22.3f}" for column in columns)


if __name__ == "__main__":
    main()
