"""The methods of a certificate: what each computes, promises and assumes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairask.certify.bounds.betting import betting_upper
from fairask.certify.bounds.clopper_pearson import clopper_pearson, clopper_pearson_upper
from fairask.certify.bounds.exact import exact_p_value, exact_upper
from fairask.certify.bounds.hajek import hajek_upper
from fairask.certify.bounds.newcombe import newcombe_upper
from fairask.certify.bounds.theorem import printed_bounds, split_bounds
from fairask.certify.sample import Sample, family_bounds

__all__ = ["METHODS", "BoundMethod"]

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


def _from_counts(upper: Callable[[int, int, int, int, float], float]) -> Bound:
    def bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
        table = {label: sample.counts(label) for label in conditions}

        def one(label: int | None, a: int, b: int, level: float) -> float:
            hits, size = table[label]
            if size[a] == 0 or size[b] == 0:
                return 1.0
            return float(upper(int(hits[a]), int(size[a]), int(hits[b]), int(size[b]), level))

        return family_bounds(sample, conditions, delta, one)

    return bounds


def _exact_bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
    """The exact bounds of a family: only pairs that could be the worst are inverted, the others tested."""
    table = {label: sample.counts(label) for label in conditions}
    members = [
        (int(hits[a]), int(size[a]), int(hits[b]), int(size[b]))
        for hits, size in table.values()
        for a, b in sample.pairs()
    ]
    if any(m[1] == 0 or m[3] == 0 for m in members):
        high, members = 1.0, [m for m in members if m[1] and m[3]]
    else:
        high = 0.0
    near = {m: float(newcombe_upper(*m, delta)) for m in members}
    for m in sorted(set(members), key=lambda m: -near[m]):
        # Newcombe's limit is close: well below the largest bound found, a test at that bound decides.
        if high < 1 and (near[m] > high - 0.002 or exact_p_value(*m, high, delta) > delta):
            high = max(high, exact_upper(*m, delta))
    level, low = delta / (len(conditions) * len(sample.groups) * (len(sample.groups) - 1)), 0.0
    for m in sorted(set(members), key=lambda m: near[m]):
        if near[m] < -low + 0.002:
            low = max(low, -exact_upper(*m, level))
    return low, min(high, 1.0)


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


def _from_sample(upper: Callable[[Sample, int | None, int, int, float], float]) -> Bound:
    def bounds(sample: Sample, conditions: Conditions, delta: float) -> tuple[float, float]:
        table = {label: sample.counts(label)[1] for label in conditions}

        def one(label: int | None, a: int, b: int, level: float) -> float:
            if table[label][a] == 0 or table[label][b] == 0:
                return 1.0
            return upper(sample, label, a, b, level)

        return family_bounds(sample, conditions, delta, one)

    return bounds


def _newcombe(ta: int, na: int, tb: int, nb: int, level: float) -> float:
    return float(newcombe_upper(ta, na, tb, nb, level))


def _clopper_pearson(ta: int, na: int, tb: int, nb: int, level: float) -> float:
    return float(clopper_pearson_upper(ta, na, tb, nb, level))


METHODS: dict[str, BoundMethod] = {
    "exact": BoundMethod(_exact_bounds, "finite-sample", (_FRESH, _UNIFORM)),
    "newcombe": BoundMethod(_from_counts(_newcombe), "asymptotic", (_FRESH, _UNIFORM)),
    "clopper-pearson": BoundMethod(
        _from_counts(_clopper_pearson), "finite-sample", (_FRESH, _UNIFORM), ratios=_ratio_bounds
    ),
    "hajek": BoundMethod(
        _from_sample(hajek_upper), "asymptotic", (_FRESH, _KNOWN_DRAWS), weighted=True, soft=True
    ),
    "betting": BoundMethod(
        _from_sample(betting_upper), "finite-sample", (_FRESH, _ORDER), weighted=True, soft=True
    ),
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
