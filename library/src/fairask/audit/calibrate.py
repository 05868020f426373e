"""Replay an audit where it could be fooled: on pools like the one seen, with the violation at tolerance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairask.audit.layout import Counts, Layout
from fairask.audit.schedule import Schedule
from fairask.audit.simulate import CERTIFIED, run_audits
from fairask.metrics import Float


def null_pools(
    size: Float, hits: Float, labels: Float, tolerance: float, *, ratio: bool = False
) -> Iterator[Float]:
    """Pools with the given strata and a gap of tolerance, near what was found: labels of each stratum.

    For every ordered pair of groups, the pair's rates are put tolerance apart at three levels, and the base
    rates at three, each over plus or minus two standard errors.
    """
    none = np.zeros((1, size.size))
    counts = Counts(size.reshape(1, -1), hits.reshape(1, -1), (labels - hits).reshape(1, -1), none)
    limits = Layout.plain(len(size)).limits(counts, 0, 1, 2.0, population=False)
    low, high, known = limits.low[0], limits.high[0], np.nan_to_num(limits.rate[0], nan=0.5)
    share = (hits + 0.5) / (labels + 1)
    total = (size * share).sum(axis=-1)
    error = np.sqrt((size**2 * share * (1 - share) / np.maximum(labels, 1)).sum(axis=-1))
    groups = len(size)
    for a in range(groups):
        for b in range(groups):
            if a == b:
                continue
            centre = (known[a] + known[b]) / 2
            reach = max(high[a] - low[a], high[b] - low[b]) / 2
            levels = centre + reach * np.array([-1.0, 0.0, 1.0])
            levels = (
                np.clip(levels, 0.01, 1 - tolerance / 2)
                if ratio
                else np.clip(levels, tolerance / 2, 1 - tolerance / 2)
            )
            for level in np.unique(levels):
                wanted = np.full(groups, level)
                half = tolerance * level / (2 - tolerance) if ratio else tolerance / 2
                wanted[a], wanted[b] = level + half, level - half
                for step in (-2.0, 0.0, 2.0):
                    positive = np.maximum(total + step * error, 1.0)
                    pool = np.stack([positive * (1 - wanted), positive * wanted], axis=-1)
                    # A stratum holds only its rows: shrink a group's labels until both parts fit.
                    fit = np.minimum(1.0, (size / np.maximum(pool, 1e-9)).min(axis=-1, keepdims=True))
                    whole = np.rint(pool * fit)
                    if (whole.sum(axis=-1) > 0).all():
                        yield np.minimum(whole, size)


def worst_error(
    schedule: Schedule, counts: Counts, layout: Layout, n_audits: int, rng: np.random.Generator
) -> float:
    """Largest share of replayed audits that certify a pool whose violation of the first claim is tolerance.

    Strata are replayed by group and decision alone, without score, skips or noise.
    """
    claim, worst, k = schedule.claims[0], 0.0, layout.n_groups
    inside = layout.group < k
    code = (2 * layout.group + layout.decision[claim.model])[inside]
    size, ones, zeros = (
        np.bincount(code, weights=v[0, inside], minlength=2 * k).reshape(k, 2).astype(np.float64)
        for v in (counts.size, counts.ones, counts.zeros)
    )
    alone = Schedule((claim,), schedule.delta, schedule.totals, schedule.population)
    for label in claim.question.labels:
        pools = null_pools(
            size, ones if label == 1 else zeros, ones + zeros, claim.tolerance, ratio=claim.question.ratio
        )
        for pool in pools:
            truth = pool if label == 1 else size - pool
            shape = (n_audits, *size.shape)
            verdict, _ = run_audits(np.broadcast_to(size, shape), np.broadcast_to(truth, shape), alone, rng)
            worst = max(worst, float(np.mean(verdict == CERTIFIED)))
    return worst
