"""The methods of a certificate: what each computes, promises and assumes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairask.audit.bounds.betting import betting_below, betting_upper
from fairask.audit.bounds.clopper_pearson import clopper_pearson, clopper_pearson_upper
from fairask.audit.bounds.exact import exact_p_value, exact_upper
from fairask.audit.bounds.hajek import hajek_upper
from fairask.audit.bounds.newcombe import newcombe_upper
from fairask.audit.bounds.theorem import printed_bounds, split_bounds
from fairask.audit.sample import Sample
from fairask.metrics import Float

Conditions = tuple[int | None, ...]
Bound = Callable[[Sample, Conditions, float], tuple[float, float]]

_FRESH = "The model was fixed before these labels were drawn, and none of them trained it."
_UNIFORM = "Within each group, the labelled rows were drawn uniformly at random."
_IID = "The labelled rows are independent draws from the population, groups included."
_KNOWN_DRAWS = "Each row's weight is the inverse of the probability with which it was drawn."
_ORDER = "The rows are given in the order in which they were drawn."


@dataclass(frozen=True)
class BoundMethod:
    """A way to bound the violation.

    Attributes
    ----------
    bounds : callable
        ``(sample, conditions, delta) -> (lower, upper)``.
    valid : str
        ``"finite-sample"`` (holds for any number of labels) or ``"asymptotic"``.
    assumptions : tuple of str
        What must be true for the promise to hold, in plain words.
    weighted, soft : bool
        Whether unequal weights and a randomised classifier's probabilities are used as they are.
    ratios : callable, optional
        The same for 1 minus the least ratio of two rates.
    """

    bounds: Bound
    valid: str
    assumptions: tuple[str, ...]
    weighted: bool = False
    soft: bool = False
    ratios: Bound | None = None


#: Bound on rate_a - rate_b given a label, at a level; and whether it is at most a difference.
Upper = Callable[[int | None, int, int, float], float]
Below = Callable[[int | None, int, int, float, float], bool]


def _family(
    sample: Sample, conditions: Conditions, delta: float, upper: Upper, below: Below | None = None
) -> tuple[float, float]:
    """Bounds on the largest of a family of differences from one-sided bounds on each.

    The largest difference is one of the family, and the largest bound falls below it only if that one's own
    bound does: the upper bounds need no split of delta. A lower bound is wrong as soon as any member's is, so
    those share delta equally. Where ``below`` tests a difference for less than inverting the test costs, only
    members that could be the largest are inverted.
    """
    table = {label: sample.counts(label) for label in conditions}
    near = {}
    for label, (hits, size) in table.items():
        for a, b in sample.pairs():
            known = size[a] > 0 and size[b] > 0
            counts = (hits[a], size[a], hits[b], size[b])
            near[label, a, b] = float(newcombe_upper(*counts, delta)) if known else np.inf
    high, low, level = 0.0, 0.0, delta / len(near)
    for member in sorted(near, key=lambda m: -near[m]):
        if np.isinf(near[member]):
            high = 1.0
        elif high < 1 and (below is None or near[member] > high - 0.002 or not below(*member, high, delta)):
            high = max(high, upper(*member, delta))
    for member in sorted(near, key=lambda m: near[m]):
        # A member that is passed over can only make the lower bound smaller.
        if not np.isinf(near[member]) and (below is None or near[member] < 0.002 - low):
            low = max(low, -upper(*member, level))
    return low, min(high, 1.0)


def _from_counts(
    upper: Callable[[int, int, int, int, float], Float | float],
    p_value: Callable[[int, int, int, int, float, float], float] | None = None,
) -> Bound:
    def bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
        table = {label: sample.counts(label) for label in conditions}

        def counts(label: int | None, a: int, b: int) -> tuple[int, int, int, int]:
            hits, size = table[label]
            return int(hits[a]), int(size[a]), int(hits[b]), int(size[b])

        def one(label: int | None, a: int, b: int, level: float) -> float:
            return float(upper(*counts(label, a, b), level))

        def below(label: int | None, a: int, b: int, d: float, level: float) -> bool:
            assert p_value is not None
            return p_value(*counts(label, a, b), d, level) <= level

        return _family(sample, conditions, delta, one, None if p_value is None else below)

    return bounds


def _ratio_bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
    """Bounds on 1 minus the least ratio, from each rate's exact limits at half the level."""
    low, high = 0.0, 0.0
    family = len(conditions) * len(sample.groups) * (len(sample.groups) - 1)
    for label in conditions:
        hits, size = sample.counts(label)
        if (size == 0).any():
            return 0.0, 1.0
        least, most = clopper_pearson(hits, size, delta / 2)
        lower, upper = clopper_pearson(hits, size, delta / family / 2)
        for a, b in sample.pairs():
            high = max(high, 1 - float(least[a] / most[b]))
            low = max(low, 1 - float(upper[a] / lower[b])) if lower[b] > 0 else low
    return low, high


def _hajek(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
    return _family(sample, conditions, delta, lambda *member: hajek_upper(sample, *member))


def _betting(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
    return _family(
        sample,
        conditions,
        delta,
        lambda *member: betting_upper(sample, *member),
        lambda *member: betting_below(sample, *member),
    )


METHODS: dict[str, BoundMethod] = {
    "exact": BoundMethod(_from_counts(exact_upper, exact_p_value), "finite-sample", (_FRESH, _UNIFORM)),
    "newcombe": BoundMethod(_from_counts(newcombe_upper), "asymptotic", (_FRESH, _UNIFORM)),
    "clopper-pearson": BoundMethod(
        _from_counts(clopper_pearson_upper), "finite-sample", (_FRESH, _UNIFORM), ratios=_ratio_bounds
    ),
    "hajek": BoundMethod(_hajek, "asymptotic", (_FRESH, _KNOWN_DRAWS), weighted=True, soft=True),
    "betting": BoundMethod(_betting, "finite-sample", (_FRESH, _ORDER), weighted=True, soft=True),
    "theorem": BoundMethod(
        printed_bounds,
        "asymptotic",
        (
            _FRESH,
            _IID,
            "The theorem is used as printed: its proof gives each of its events the whole delta, so the "
            "stated probability is not proved for small samples.",
        ),
    ),
    "theorem-split": BoundMethod(split_bounds, "finite-sample", (_FRESH, _IID)),
}
