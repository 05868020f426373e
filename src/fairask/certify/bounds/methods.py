"""The methods of a certificate: what each computes, promises and assumes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairask.certify.bounds.betting import betting_upper
from fairask.certify.bounds.clopper_pearson import clopper_pearson_upper
from fairask.certify.bounds.exact import exact_upper
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
    """

    bounds: Bound
    valid: str
    assumptions: tuple[str, ...]
    weighted: bool = False
    soft: bool = False


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
    "exact": BoundMethod(_from_counts(exact_upper), "finite-sample", (_FRESH, _UNIFORM)),
    "newcombe": BoundMethod(_from_counts(_newcombe), "asymptotic", (_FRESH, _UNIFORM)),
    "clopper-pearson": BoundMethod(_from_counts(_clopper_pearson), "finite-sample", (_FRESH, _UNIFORM)),
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
