"""Hostile scenarios as strata: the truth of each pool, and what the audit is told of it."""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmarks.certificate_hostile import Hostile
from fairask.audit.layout import Counts, Layout
from fairask.audit.plan import AuditPlan
from fairask.audit.simulation import Truth


def gap_of(size: np.ndarray, ones: np.ndarray, layout: Layout, metric: str, model: int = 0) -> float:
    """The gap of strata whose labels are all known."""
    schedule = AuditPlan(metric).schedule(1e9)  # type: ignore[arg-type]
    claim = dataclasses.replace(schedule.claims[0], model=model)
    whole = Counts.whole(size, ones)
    return float(dataclasses.replace(schedule, claims=(claim,)).bounds(whole, layout, 0).estimate[0])


def built(s: Hostile, audits: int, *, largest: bool = False) -> tuple[Truth, Layout, float]:
    """Truth of as many equal pools as there are audits, the layout of their strata, and the gap.

    Of several models, the gap of the fairest, or with ``largest`` of the other end.
    """
    size, ones = s.pool()
    k = len(s.rows)
    gap = gap_of(size.ravel(), ones.ravel(), Layout.plain(k), s.metric)
    layout, noise = Layout.plain(k), None
    size, ones = size.ravel(), ones.ravel()
    lost_ones = lost_zeros = np.zeros_like(size)
    if any(s.skip):
        z0, o0, z1, o1 = s.skip
        lost_ones = np.rint(ones * np.tile([o0, o1], k))
        lost_zeros = np.rint((size - ones) * np.tile([z0, z1], k))
    if s.noise:
        table = np.tile([*s.noise, max(s.noise)], (2, 2, 1))
        layout = dataclasses.replace(layout, noise=table)
        noise = np.repeat(s.noise, 2)
    if s.unknown:
        # Positives that were missed lose their group twice as often.
        gone_ones = np.rint(ones * s.unknown * np.tile([1.6, 0.8], k))
        gone = gone_ones + np.rint((size - ones) * s.unknown)
        size, ones = size - gone, ones - gone_ones
        extra = [np.array([v[0::2].sum(), v[1::2].sum()]) for v in (gone, gone_ones)]
        size, ones = np.concatenate([size, extra[0]]), np.concatenate([ones, extra[1]])
        layout = wider(layout, np.array([k, k]), np.array([[0, 1]]))
        lost_ones = lost_zeros = np.zeros_like(size)
    if s.score:
        size, ones, layout = binned(size, ones, layout, s.score)
        lost_ones = lost_zeros = np.zeros_like(size)
    if s.models > 1:
        size, ones, layout, gaps = several(s, size, ones)
        gap = max(gaps) if largest else min(gaps)
        lost_ones = lost_zeros = np.zeros_like(size)
    shape = (audits, len(size))
    whole = [np.broadcast_to(v, shape) for v in (size, ones, lost_ones, lost_zeros)]
    return Truth(*whole, noise=noise), layout, gap


def wider(layout: Layout, group: np.ndarray, decision: np.ndarray) -> Layout:
    """A layout with more strata."""
    n = len(group)
    return dataclasses.replace(
        layout,
        group=np.concatenate([layout.group, group]),
        decision=np.concatenate([layout.decision, decision], axis=1),
        parent=np.concatenate([layout.parent, layout.parent.max() + 1 + np.arange(n)]),
        known=np.concatenate([layout.known, np.zeros(n, dtype=bool)]),
        cost=np.ones(len(layout.cost) + n),
    )


def binned(
    size: np.ndarray, ones: np.ndarray, layout: Layout, kind: str
) -> tuple[np.ndarray, np.ndarray, Layout]:
    """Strata cut into three bins of a score that is good, random or wrong."""
    share = {"good": [0.05, 0.25, 0.7], "random": [1 / 3] * 3, "wrong": [0.7, 0.25, 0.05]}[kind]
    parts, found = [], []
    for n, y in zip(size, ones, strict=True):
        cut = np.diff(np.rint(n * np.arange(4) / 3))
        hit = np.floor(np.minimum(y * np.array(share), cut))
        while hit.sum() < y:
            hit[np.argmax(cut - hit)] += 1
        parts.append(cut)
        found.append(hit)
    each = np.repeat(np.arange(len(size)), 3)
    prior = np.tile([0.1, 0.3, 0.6], len(size))
    binned_layout = dataclasses.replace(
        layout, group=layout.group[each], decision=layout.decision[:, each], parent=layout.parent[each],
        known=layout.known[each], cost=np.ones(len(each)), prior=prior,
    )  # fmt: skip
    return np.concatenate(parts), np.concatenate(found), binned_layout


def several(
    s: Hostile, size: np.ndarray, ones: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Layout, list[float]]:
    """Three models: the second and third differ from the first in a tenth of their decisions."""
    rows, hits, group, decision = [], [], [], []
    for i, (n, y) in enumerate(zip(size, ones, strict=True)):
        g, d = i // 2, i % 2
        for flips, share in (((0, 0), 0.8), ((1, 0), 0.1), ((0, 1), 0.1)):
            rows.append(np.rint(n * share))
            hits.append(min(np.rint(y * share), rows[-1]))
            group.append(g)
            decision.append([d, d ^ flips[0], d ^ flips[1]])
    strata = np.arange(len(rows))
    layout = dataclasses.replace(
        Layout.plain(len(s.rows)), group=np.array(group), decision=np.array(decision).T, parent=strata,
        known=np.zeros(len(rows), dtype=bool), cost=np.ones(len(rows)),
    )  # fmt: skip
    found = np.array(rows), np.array(hits)
    return *found, layout, [gap_of(*found, layout, s.metric, m) for m in range(3)]
