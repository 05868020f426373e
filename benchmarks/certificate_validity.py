"""Whether certificates are valid: how often simulated audits certify a pool beyond the tolerance.

python -m benchmarks.certificates --part validity audits
"""

from __future__ import annotations

import json

import numpy as np

from benchmarks.certificate_scenarios import (
    SCENARIOS,
    Scenario,
    balanced_counts,
    labelled,
    sample_of,
    sampled_pools,
)
from fairask.audit.plan import AuditPlan
from fairask.audit.bounds.proportions import clopper_pearson_upper
from fairask.audit.bounds.exact import exact_p_value
from fairask.audit.bounds.methods import pairs
from fairask.audit.bounds.proportions import newcombe_upper
from fairask.audit.simulation import run_audits
from paper.bounds import METHODS, pool_wealth, uniform_wealth

ALPHA, DELTA = 0.1, 0.05


def machine(part: str, ok: bool, **found: object) -> bool:
    print("fairask-bench:", json.dumps({"benchmark": "certificates", "part": part, "ok": bool(ok), **found}))
    return bool(ok)


def largest(upper, hits: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Largest bound over ordered pairs, for all samples at once."""
    bounds = [upper(hits[:, a], size[:, a], hits[:, b], size[:, b], DELTA) for a, b in pairs(size.shape[1])]
    return np.max(bounds, axis=0)


def validity_of(s: Scenario, gap: float, audits: int, rng: np.random.Generator) -> dict[str, float]:
    """Share of samples or audits that certify though the gap is at least tolerance."""
    tpr, k, n = s.rates(gap, flip=bool(rng.integers(2))), len(s.pool), s.labels
    out: dict[str, float] = {}
    hits, size = balanced_counts(s, tpr, n, audits, rng)
    seen = (size > 0).all(axis=1)
    hits, size = hits[seen], size[seen]
    newcombe = largest(newcombe_upper, hits, size)
    out["newcombe"] = np.sum(newcombe <= ALPHA) / audits
    out["clopper-pearson"] = np.sum(largest(clopper_pearson_upper, hits, size) <= ALPHA) / audits
    # The exact bound is never this much below Newcombe's (see the tightness table), so the rest need no test.
    close = np.flatnonzero(newcombe <= ALPHA + 0.01)
    passed = sum(
        all(
            exact_p_value(hits[i, a], size[i, a], hits[i, b], size[i, b], ALPHA, DELTA) <= DELTA
            for a, b in pairs(k)
        )
        for i in close
    )
    out["exact"] = passed / audits
    bounds = {name: METHODS[name] for name in ("theorem", "theorem-split", "hajek")}
    counts = dict.fromkeys([*bounds, "betting", "betting (pool)"], 0)
    goal = -np.log(DELTA)
    for _ in range(audits):
        y, pred, group = labelled(s, tpr, n, rng, balanced=False)
        for name in ("theorem", "theorem-split"):
            counts[name] += bounds[name](sample_of(y, pred, group, k), (1,), DELTA)[1] <= ALPHA
        # Propensities that differ by up to nine times and depend on the prediction, as a learner's do.
        y, pred, group = labelled(s, tpr, 3 * n, rng)
        ratio = np.where(pred == 1, 1.0, 0.5) * np.where(rng.random(3 * n) < 0.3, 1.0, 0.22)
        kept = np.flatnonzero(rng.random(3 * n) < ratio)[:n]
        drawn = sample_of(y[kept], pred[kept], group[kept], k, propensities=ratio[kept])
        if all((drawn.counts(1)[1]) > 0):
            counts["hajek"] += bounds["hajek"](drawn, (1,), DELTA)[1] <= ALPHA
        y, pred, group = labelled(s, tpr, n, rng)
        counts["betting"] += all(
            uniform_wealth(pred[m], group[m] == a, ALPHA).min() >= goal
            for a, b in pairs(k)
            for m in [(y == 1) & ((group == a) | (group == b))]
        )
    out |= {name: c / audits for name, c in counts.items() if name != "betting (pool)"}
    out["betting (pool)"] = pool_betting(s, gap, audits, rng)
    return out | audits_of(s, gap, 2 * audits, rng)


def audits_of(s: Scenario, gap: float, audits: int, rng: np.random.Generator) -> dict[str, float]:
    """Share of audits that certify, about the pool and about the population."""
    out = {}
    for target in ("pool", "population"):
        plan = AuditPlan("tprp", ALPHA, DELTA, s.labels, 5, target).schedule(sum(s.pool))
        shape = (audits, len(s.pool), 2)
        rows, ones = s.strata(gap, flip=bool(rng.integers(2)))
        if target == "population":
            rows, ones = sampled_pools(s, rows, ones, audits, rng)
        verdict, _ = run_audits(np.broadcast_to(rows, shape), np.broadcast_to(ones, shape), plan, rng)
        out[f"audit ({target})"] = float(np.mean(verdict == 1))
    return out


def audits_only(audits: int) -> bool:
    """The two columns of :func:`validity` that are about audits."""
    worst: dict[str, float] = {}
    print(f"\nAudits: share certified though the gap is at or above tolerance = {ALPHA}; {2 * audits:,} each")
    for i, s in enumerate(SCENARIOS):
        for gap in (ALPHA, 1.2 * ALPHA):
            row = audits_of(s, gap, 2 * audits, np.random.default_rng([6, i, round(gap * 1000)]))
            print(f"{s.name:22} {gap:>4.2f} " + " ".join(f"{v:>10.4f}" for v in row.values()), flush=True)
            worst = {name: max(v, worst.get(name, 0.0)) for name, v in row.items()}
    allowed = DELTA + 2.6 * np.sqrt(DELTA * (1 - DELTA) / (2 * audits))
    return machine("audits", max(worst.values()) <= allowed, audits=2 * audits, worst=worst)


def pool_betting(s: Scenario, gap: float, audits: int, rng: np.random.Generator) -> float:
    """Betting on draws without replacement from a small pool, the smaller group drawn more often."""
    if len(s.pool) > 2:
        return float("nan")
    small = Scenario(s.name, (1200, 1200), s.base, s.tpr, s.fpr, s.labels)
    size, ones = small.strata(gap)
    y = np.concatenate(
        [
            np.repeat([0.0, 1.0], [int(size[g, b] - ones[g, b]), int(ones[g, b])])
            for g in (0, 1)
            for b in (0, 1)
        ]
    )
    pred = np.concatenate([np.full(int(size[g, b]), float(b)) for g in (0, 1) for b in (0, 1)])
    group = np.repeat([0, 1], 1200)
    weight = np.where(pred == 1, 1.0, 0.6)
    n, goal, certified = min(s.labels, 800), -np.log(DELTA), 0
    for _ in range(audits):
        # Exponential clocks give successive draws without replacement, proportional to the weights.
        order = np.argsort(rng.exponential(size=2400) / weight)[:n]
        w = weight[order]
        q = w / (weight.sum() - np.concatenate([[0.0], np.cumsum(w)[:-1]]))
        floor = 0.6 / weight.sum()
        certified += all(
            pool_wealth(
                pred[order], y[order], group[order] == a, group[order] == b, q, 2400, floor, ALPHA
            ).min()
            >= goal
            for a, b in pairs(2)
        )
    return certified / audits


def validity(audits: int) -> bool:
    allowed = DELTA + 2.6 * np.sqrt(DELTA * (1 - DELTA) / audits)
    allowed_audit = DELTA + 2.6 * np.sqrt(DELTA * (1 - DELTA) / (2 * audits))
    print(
        f"\nValidity: share certified though the gap is at or above tolerance = {ALPHA}; delta = {DELTA}, "
        f"{audits:,} samples"
    )
    print(
        f"(2 x {audits:,} audits); * marks more than delta + 2.6 standard errors ({allowed:.3f}; "
        f"audits {allowed_audit:.3f})"
    )
    table, names, ok = {}, [], True
    for i, s in enumerate(SCENARIOS):
        for gap in (ALPHA, 1.2 * ALPHA):
            row = validity_of(s, gap, audits, np.random.default_rng([5, i, round(gap * 1000)]))
            if not names:
                names = list(row)
                print(f"{'scenario':22} {'gap':>4} " + " ".join(f"{n[:15]:>15}" for n in names))
            marks = []
            for n in names:
                bad = row[n] > (allowed_audit if n.startswith("audit") else allowed)
                ok &= not bad
                marks.append(f"{row[n]:>14.4f}{'*' if bad else ' '}")
            print(f"{s.name:22} {gap:>4.2f} " + " ".join(marks), flush=True)
            table[f"{s.name}|{gap:g}"] = {n: None if np.isnan(v) else v for n, v in row.items()}
    return machine("validity", ok, audits=audits, shares=table)
