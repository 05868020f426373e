"""Wrong verdicts of audits: hostile scenarios, and small pools at a knife edge.

    python -m benchmarks.certificate_runs [--part hostile knife] [--audits 2000] [--pools 1000]

Results go to ``results/certificates/PART.csv``, one row per setting; rows that are there are not run again.
The tables are printed from these files.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.certificate_hostile import HOSTILE, Hostile
from benchmarks.certificate_truth import built
from fairask.audit.plan import AuditPlan
from fairask.audit.simulation import play

HERE = Path(__file__).resolve().parent.parent / "results" / "certificates"
DELTA = 0.05


class Rows:
    """A CSV file of results by key; what is there is not computed again."""

    def __init__(self, part: str) -> None:
        self.path = HERE / f"{part}.csv"
        self.rows = list(csv.DictReader(self.path.open())) if self.path.exists() else []

    def once(self, key: dict[str, object], make: Callable[[], dict[str, object]]) -> dict[str, str]:
        """The row with this key, made and written if it is not there."""
        named = {name: str(value) for name, value in key.items()}
        for row in self.rows:
            if named.items() <= row.items():
                return row
        row = named | {k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in make().items()}
        new = not self.path.exists()
        HERE.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)
        return row


def audited(s: Hostile, audits: int, side: str, seed: int) -> dict[str, object]:
    """Share of wrong verdicts with the tolerance a hair below the gap, or at it."""
    truth, layout, gap = built(s, audits, largest=side == "refuted")
    tolerance = gap - 1e-7 if side == "certified" else gap + 1e-7
    plan = AuditPlan(s.metric, tolerance, DELTA, s.budget, s.looks)
    schedule = plan.schedule(float(truth.size[0, ~layout.known].sum()), s.models)
    codes, used = play(truth, schedule, layout, np.random.default_rng([4, seed]))
    wrong = (codes == (1 if side == "certified" else 2)).any(axis=1)
    return {"gap": gap, "wrong": float(wrong.mean()), "labels": float(used.mean())}


def hostile(args: argparse.Namespace) -> None:
    rows = Rows("hostile")
    allowed = DELTA + 2.6 * np.sqrt(DELTA * (1 - DELTA) / args.audits)
    print(f"\nHostile scenarios: share of wrong verdicts in {args.audits:,} audits, delta {DELTA}")
    print(f"{'scenario':32} {'gap':>9} {'false certified':>16} {'false refuted':>14}")
    worst = (0.0, "")
    for i, s in enumerate(HOSTILE):
        found = [
            rows.once(
                {"scenario": s.name, "side": side, "audits": args.audits},
                lambda s=s, side=side, i=i: audited(s, args.audits, side, i),
            )
            for side in ("certified", "refuted")
        ]
        shares = [float(row["wrong"]) for row in found]
        worst = max(worst, (max(shares), s.name))
        mark = "*" if max(shares) > allowed else ""
        print(
            f"{s.name:32} {float(found[0]['gap']):>9.4f} {shares[0]:>16.4f} {shares[1]:>14.4f} {mark}",
            flush=True,
        )
    print(f"worst: {worst[0]:.4f} ({worst[1]}); * is above delta + 2.6 standard errors ({allowed:.4f})")


def small_pool(rng: np.random.Generator) -> Hostile:
    """A small pool that its audit may exhaust."""
    rows = tuple(int(v) for v in rng.integers(15, 160, 2))
    rate = rng.uniform(0.2, 0.95)
    low = rate - rng.choice([0.05, 0.1, 0.2, 0.3]) * rng.uniform(0.5, 1)
    budget = int(sum(rows) * rng.uniform(0.3, 1))
    return Hostile(
        "small", rows, tuple(rng.uniform(0.1, 0.8, 2)), (rate, max(low, 0.02)), tuple(rng.uniform(0, 0.4, 2)),
        budget=max(budget, 10), looks=int(rng.choice([1, 2, 5, 10])),
    )  # fmt: skip


def knife(args: argparse.Namespace) -> None:
    """Audit small random pools; audit those above delta again with other draws, to tell chance from error."""
    rows, again = Rows("knife"), Rows("knife_again")
    pools = dict(small_pools(args.pools))
    first = {
        seed: rows.once(
            {"pool": seed, "audits": args.audits},
            lambda s=s, seed=seed: audited(s, args.audits, "certified", seed),
        )
        for seed, s in pools.items()
    }
    doubtful = [seed for seed, row in first.items() if float(row["wrong"]) > DELTA]
    more = {
        seed: again.once(
            {"pool": seed, "audits": args.again},
            lambda seed=seed: audited(pools[seed], args.again, "certified", 1_000_000 + seed),
        )
        for seed in doubtful
    }
    found = {seed: float(row["wrong"]) for seed, row in more.items()}
    n, worst = len(first), max(found, key=found.__getitem__, default=None)
    print(f"\nSmall pools with the tolerance a hair below the gap: {n:,} pools, {args.audits:,} audits each")
    print(
        f"  above {DELTA}: {len(doubtful)} pools; worst {max(float(r['wrong']) for r in first.values()):.4f}"
    )
    error = np.sqrt(DELTA * (1 - DELTA) / args.again)
    print(f"  these again with {args.again:,} other audits each (standard error {error:.4f}):")
    for bar in (DELTA, 0.055, 0.06):
        count = sum(share > bar for share in found.values())
        print(f"    above {bar:g}: {count} pools ({count / n:.2%} of all)")
    if worst is not None:
        print(f"    worst {found[worst]:.4f}, which was {float(first[worst]['wrong']):.4f}")


def small_pools(pools: int) -> Iterator[tuple[int, Hostile]]:
    """Random pools with a number each; those without a gap or with an empty stratum are left out."""
    for block in range(-(-pools // 50)):
        rng = np.random.default_rng([9, block])
        for seed in range(50):
            s = small_pool(rng)
            truth, _, gap = built(s, 1)
            if 0.001 < gap < 0.9 and not (truth.size == 0).any():
                yield 50 * block + seed, s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", default=["hostile", "knife"])
    parser.add_argument("--audits", type=int, default=2000)
    parser.add_argument("--pools", type=int, default=1000)
    parser.add_argument("--again", type=int, default=10_000, help="audits of a small pool that is in doubt")
    args = parser.parse_args()
    start = time.perf_counter()
    for part in args.part:
        {"hostile": hostile, "knife": knife}[part](args)
    print(f"took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
