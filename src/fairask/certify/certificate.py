"""What a certificate says, and how it is written down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtri

from fairask.certify._page import render
from fairask.data.groups import UNKNOWN

__all__ = ["Certificate", "labels_needed", "verdict_of"]

_POWER = 0.8

_NAMES = {
    "tprp": "difference in true positive rates",
    "fprp": "difference in false positive rates",
    "eo": "difference in true or false positive rates, whichever is larger,",
    "dp": "difference in selection rates",
}


def verdict_of(lower: float, upper: float, alpha: float) -> str:
    """Return "certified", "refuted" or "undecided".

    Examples
    --------
    >>> verdict_of(0.0, 0.08, 0.1), verdict_of(0.12, 0.3, 0.1), verdict_of(0.0, 0.2, 0.1)
    ('certified', 'refuted', 'undecided')
    """
    if upper <= alpha:
        return "certified"
    return "refuted" if lower > alpha else "undecided"


def labels_needed(
    estimate: float, lower: float, upper: float, alpha: float, delta: float, n: int
) -> int | None:
    """Further labels that would likely decide (chance 0.8) if the violation is what it seems.

    The distance from the estimate to the bound shrinks like one over the root of the labels.

    Examples
    --------
    >>> labels_needed(0.02, 0.0, 0.15, 0.1, 0.05, 400)
    2014
    >>> labels_needed(0.1, 0.0, 0.2, 0.1, 0.05, 400) is None
    True
    """
    if verdict_of(lower, upper, alpha) != "undecided":
        return 0
    if math.isnan(estimate) or estimate == alpha:
        return None
    radius = upper - estimate if estimate < alpha else estimate - lower
    z, beyond = -float(ndtri(delta)), float(ndtri(_POWER))
    factor = ((z + beyond) / z * radius / (alpha - estimate)) ** 2
    more = math.ceil(n * (factor - 1))
    # Past a thousandfold, the guess says only that the estimate sits on the tolerance.
    return None if factor > 1000 else max(more, 1)


#: What a certificate assumes where the group of some rows is unknown.
UNKNOWN_ASSUMED = (
    f"Rows whose group is unknown are compared as the group {UNKNOWN!r}. The rates of the other "
    "groups are those of rows whose group is known. They hold for whole groups if groups are missing "
    "at random."
)


@dataclass(frozen=True)
class Certificate:
    """Evidence about a model's violation, with what it rests on.

    Attributes
    ----------
    estimate, lower, upper : float
        The violation measured on the labels and its bounds. The upper bound is below the true violation
        with probability at most ``delta``; so is the lower bound above it.
    verdict : str
        ``"certified"`` (upper bound at most ``alpha``), ``"refuted"`` (lower bound above it) or
        ``"undecided"``.
    metric, alpha, delta, method : str, float, float, str
        What was asked for.
    valid : str
        ``"finite-sample"``, ``"asymptotic"`` or ``"known"`` (computed, not estimated).
    assumptions : tuple of str
        What must be true for the promise to hold.
    target : str
        Whose violation is bounded.
    n_labels : int
        Labels used.
    groups : tuple
        The groups; the next three have one entry for each.
    positives, negatives : tuple of int
        Labels 1 and 0 seen in each group.
    rates : dict
        The compared rates by name (``"tpr"``, ``"fpr"``, ``"selection_rate"``).
    more_labels : int or None
        Further labels it would likely take to decide; 0 when decided, None when no number is sensible.

    Examples
    --------
    >>> from fairask.certify import certify
    >>> certificate = certify([1] * 400, [1] * 400, [0, 1] * 200, alpha=0.1)
    >>> certificate.verdict, certificate.estimate
    ('certified', 0.0)
    """

    estimate: float
    lower: float
    upper: float
    verdict: str
    metric: str
    alpha: float
    delta: float
    method: str
    valid: str
    assumptions: tuple[str, ...]
    target: str
    n_labels: int
    groups: tuple[Any, ...]
    positives: tuple[int, ...]
    negatives: tuple[int, ...]
    rates: dict[str, tuple[float, ...]]
    more_labels: int | None

    def __post_init__(self) -> None:
        if UNKNOWN in self.groups and UNKNOWN_ASSUMED not in self.assumptions:
            object.__setattr__(self, "assumptions", (*self.assumptions, UNKNOWN_ASSUMED))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON takes (an unknown estimate is ``None``).

        Examples
        --------
        >>> from fairask.certify import certify
        >>> certify([1] * 8, [1] * 8, [0, 1] * 4).to_dict()["verdict"]
        'undecided'
        """

        def plain(value: Any) -> Any:
            if isinstance(value, float) and math.isnan(value):
                return None
            if isinstance(value, tuple | list):
                return [plain(v) for v in value]
            if isinstance(value, dict):
                return {k: plain(v) for k, v in value.items()}
            return value

        return {name: plain(value) for name, value in vars(self).items()}

    def headline(self) -> str:
        """Return the verdict as one sentence.

        Examples
        --------
        >>> from fairask.certify import certify
        >>> print(certify([1] * 400, [1] * 400, [0, 1] * 200).headline())
        Certified: the difference in true positive rates is at most 0.1 (95% confidence: 0.0149 or less).
        """
        what = f"the {_NAMES[self.metric]}"
        sure = f"{100 * (1 - self.delta):g}% confidence"
        if self.valid == "known":
            side = "at most" if self.verdict == "certified" else "above"
            verdict, value = self.verdict.capitalize(), f"{self.estimate:.3g}"
            return f"{verdict}: {what} is {value}, {side} {self.alpha:g} (computed on the whole pool)."
        if self.verdict == "certified":
            return f"Certified: {what} is at most {self.alpha:g} ({sure}: {self.upper:.3g} or less)."
        if self.verdict == "refuted":
            return f"Refuted: {what} is above {self.alpha:g} ({sure}: {self.lower:.3g} or more)."
        return (
            f"Undecided: {what} may lie on either side of {self.alpha:g} "
            f"({sure}: between {self.lower:.3g} and {self.upper:.3g})."
        )

    def advice(self) -> str:
        """Return what further labels would bring.

        Examples
        --------
        >>> from fairask.certify import certify
        >>> certify([1] * 400, [1] * 400, [0, 1] * 200).advice()
        'Decided: no further labels are needed.'
        """
        if self.more_labels == 0:
            return "Decided: no further labels are needed."
        if self.more_labels is None:
            return (
                "The estimate is too close to the tolerance, or too little is known, to say how many more "
                "labels would decide."
            )
        return f"About {self.more_labels:,} more labels drawn in the same way would likely decide."

    def __str__(self) -> str:
        estimate = "unknown" if math.isnan(self.estimate) else f"{self.estimate:.4f}"
        lines = [
            self.headline(),
            f"  estimate {estimate}, bounds [{self.lower:.4f}, {self.upper:.4f}], {self.n_labels:,} labels",
            f"  about: {self.target}",
            f"  method: {self.method} ({self.valid}), metric {self.metric}, delta {self.delta:g}",
        ]
        for g, group in enumerate(self.groups):
            values = ", ".join(f"{name} {rate[g]:.3f}" for name, rate in self.rates.items())
            lines.append(
                f"  group {group}: {self.positives[g]} positives, {self.negatives[g]} negatives, {values}"
            )
        lines.append(f"  {self.advice()}")
        lines += ["  It rests on:"] + [f"  - {text}" for text in self.assumptions]
        return "\n".join(lines)

    def to_html(self, also: Sequence[Certificate] = (), facts: Mapping[str, str] | None = None) -> str:
        """Return a self-contained page.

        Parameters
        ----------
        also : sequence of Certificate
            Other certificates to show in short below, such as the population's below the pool's.
        facts : mapping of str to str, optional
            How it was made, for a table at the end.

        Examples
        --------
        >>> from fairask.certify import certify
        >>> certify([1] * 8, [1] * 8, [0, 1] * 4).to_html().startswith("<!doctype html>")
        True
        """
        return render(self, also, facts)
