"""Certificates from labelled rows: bounds on the largest difference, or the least ratio, of rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from fairask.audit.bounds.exact import exact_p_value, exact_upper
from fairask.audit.bounds.proportions import clopper_pearson, clopper_pearson_upper, newcombe_upper
from fairask.metrics import Float, Int

#: Decisions 1 and rows of each group, by the label on which a rate is conditioned (None: on nothing).
RateCounts = Mapping[int | None, tuple[Int, Int]]
Bounds = tuple[float, float]
#: One difference of a family: the label, and the two groups.
Member = tuple[int | None, int, int]


def pairs(groups: int) -> list[tuple[int, int]]:
    """Ordered pairs of groups."""
    return list(permutations(range(groups), 2))


def family_bounds(
    counts: RateCounts,
    delta: float,
    upper: Callable[[Member, float], float],
    below: Callable[[Member, float, float], bool] | None = None,
) -> Bounds:
    """Bounds on the largest of a family of differences from one-sided bounds on each.

    The largest difference is one of the family, and the largest bound falls below it only if that one's own
    bound does: the upper bounds need no split of delta. A lower bound is wrong as soon as any member's is, so
    those share delta equally. Where ``below`` tests a difference for less than inverting the test costs, only
    members that could be the largest are inverted.
    """
    near: dict[Member, float] = {}
    for label, (hits, size) in counts.items():
        for a, b in pairs(len(size)):
            known = size[a] > 0 and size[b] > 0
            at = newcombe_upper(hits[a], size[a], hits[b], size[b], delta) if known else np.inf
            near[label, a, b] = float(at)
    high, low, level = 0.0, 0.0, delta / len(near)
    for member in sorted(near, key=lambda m: -near[m]):
        if np.isinf(near[member]):
            high = 1.0
        elif high < 1 and (below is None or near[member] > high - 0.002 or not below(member, high, delta)):
            high = max(high, upper(member, delta))
    for member in sorted(near, key=lambda m: near[m]):
        # A member that is passed over can only make the lower bound smaller.
        if not np.isinf(near[member]) and (below is None or near[member] < 0.002 - low):
            low = max(low, -upper(member, level))
    return low, min(high, 1.0)


def _table(counts: RateCounts, member: Member) -> tuple[int, int, int, int]:
    label, a, b = member
    hits, size = counts[label]
    return int(hits[a]), int(size[a]), int(hits[b]), int(size[b])


def _exact(counts: RateCounts, delta: float) -> Bounds:
    return family_bounds(
        counts,
        delta,
        lambda member, level: exact_upper(*_table(counts, member), level),
        lambda member, d, level: exact_p_value(*_table(counts, member), d, level) <= level,
    )


def _with(upper: Callable[[int, int, int, int, float], Float]) -> Callable[[RateCounts, float], Bounds]:
    def bounds(counts: RateCounts, delta: float) -> Bounds:
        return family_bounds(
            counts, delta, lambda member, level: float(upper(*_table(counts, member), level))
        )

    return bounds


def ratio_bounds(counts: RateCounts, delta: float) -> Bounds:
    """Bounds on 1 minus the least ratio of two rates, from each rate's exact limits at half the level."""
    low, high = 0.0, 0.0
    for hits, size in counts.values():
        if (size == 0).any():
            return 0.0, 1.0
        both = pairs(len(size))
        least, most = clopper_pearson(hits, size, delta / 2)
        lower, upper = clopper_pearson(hits, size, delta / (len(counts) * len(both)) / 2)
        for a, b in both:
            high = max(high, 1 - float(least[a] / most[b]))
            low = max(low, 1 - float(upper[a] / lower[b])) if lower[b] > 0 else low
    return low, high


@dataclass(frozen=True)
class BoundMethod:
    """A way to bound the gap.

    Attributes
    ----------
    differences, ratios : callable
        ``(counts, delta) -> (lower, upper)`` on the largest difference, and on 1 minus the least ratio; None
        where the method has no such bound.
    valid : str
        ``"finite-sample"`` (holds for any number of labels) or ``"asymptotic"``.
    """

    differences: Callable[[RateCounts, float], Bounds]
    valid: str
    ratios: Callable[[RateCounts, float], Bounds] | None = None


METHODS: dict[str, BoundMethod] = {
    "exact": BoundMethod(_exact, "finite-sample"),
    "newcombe": BoundMethod(_with(newcombe_upper), "asymptotic"),
    "clopper-pearson": BoundMethod(_with(clopper_pearson_upper), "finite-sample", ratio_bounds),
}
