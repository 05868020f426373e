"""What a certificate says, and how it is written down."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from scipy.special import ndtri

from fairask.audit._card import certificate_card
from fairask.audit._page import render
from fairask.audit.questions import QUESTIONS, ROUNDING
from fairask.tables.groups import UNKNOWN

#: Name and version of what :meth:`Certificate.to_dict` writes.
SCHEMA, VERSION = "fairask-certificate", 1

_POWER = 0.8


def verdict_of(lower: float, upper: float, tolerance: float) -> str:
    """Return "certified", "refuted" or "undecided".

    Examples
    --------
    >>> verdict_of(0.0, 0.08, 0.1), verdict_of(0.12, 0.3, 0.1), verdict_of(0.0, 0.2, 0.1)
    ('certified', 'refuted', 'undecided')
    >>> verdict_of(0.4 - 0.3, 0.4 - 0.3, 0.1)
    'certified'
    """
    if upper <= tolerance + ROUNDING:
        return "certified"
    return "refuted" if lower > tolerance + ROUNDING else "undecided"


def labels_needed(
    estimate: float, lower: float, upper: float, tolerance: float, delta: float, n: int
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
    if verdict_of(lower, upper, tolerance) != "undecided":
        return 0
    if math.isnan(estimate) or estimate == tolerance:
        return None
    radius = upper - estimate if estimate < tolerance else estimate - lower
    z, beyond = -float(ndtri(delta)), float(ndtri(_POWER))
    factor = ((z + beyond) / z * radius / (tolerance - estimate)) ** 2
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
class GroupComparison:
    """Two groups compared; each bound holds by itself with probability 1 - delta."""

    first: str
    second: str
    estimate: float
    lower: float
    upper: float
    verdict: str


@dataclass(frozen=True)
class Certificate:
    """Evidence about a model's violation, with what it rests on.

    Attributes
    ----------
    estimate, lower, upper : float
        The violation measured on the labels and its bounds. The upper bound is below the true violation
        with probability at most ``delta``; so is the lower bound above it.
    verdict : str
        ``"certified"`` (upper bound at most ``tolerance``), ``"refuted"`` (lower bound above it) or
        ``"undecided"``.
    metric, tolerance, delta, method : str, float, float, str
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
        Further labels it would likely take to decide; 0 when decided or when no row is left to label,
        None when no number is sensible.
    comparisons : tuple of GroupComparison
        Every pair of groups that was compared (violation of the first over the second).
    unclear : tuple of str
        Groups with too few labels for any statement.
    skipped, unknown_groups : int
        Rows without a label that were asked for, and rows whose group is unknown; the bounds allow for both.
    corrected : int
        Labels that were changed after a look had used them.
    model : int
        Which model, where several were audited at once.
    digests : dict
        What it was issued for: ``"model"``, ``"pool"`` and ``"settings"``, as far as known.

    Examples
    --------
    >>> from fairask.audit import certify
    >>> certificate = certify([1] * 400, [1] * 400, [0, 1] * 200, tolerance=0.1)
    >>> certificate.verdict, certificate.estimate
    ('certified', 0.0)
    """

    estimate: float
    lower: float
    upper: float
    verdict: str
    metric: str
    tolerance: float
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
    comparisons: tuple[GroupComparison, ...] = ()
    unclear: tuple[str, ...] = ()
    skipped: int = 0
    unknown_groups: int = 0
    corrected: int = 0
    model: int = 0
    digests: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        found: tuple[float, float, float],
        *,
        tolerance: float,
        delta: float,
        n_labels: int,
        most: int | None = None,
        rows: int | None = None,
        **values: Any,
    ) -> Self:
        """Make a certificate of (estimate, lower, upper): the verdict and further labels follow from these.

        ``most`` is the largest number of further labels there are, ``rows`` what the estimate is from if
        that is not ``n_labels``.
        """
        estimate, lower, upper = found
        n = n_labels if rows is None else rows
        more = labels_needed(estimate, lower, upper, tolerance, delta, n) if n else None
        return cls(
            estimate=estimate,
            lower=lower,
            upper=upper,
            verdict=verdict_of(lower, upper, tolerance),
            tolerance=float(tolerance),
            delta=float(delta),
            n_labels=n_labels,
            more_labels=min(more, most) if more and most is not None else more,
            **values,
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a certificate from :meth:`to_dict`, also as 0.1.0 wrote it.

        Examples
        --------
        >>> from fairask.audit import certify
        >>> made = certify([1] * 8, [1] * 8, [0, 1] * 4)
        >>> Certificate.from_dict(made.to_dict()).digest == made.digest
        True
        """
        if "alpha" in values:  # 0.1.0
            values = {**values, "tolerance": values["alpha"]}
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        known |= {n: math.nan for n in ("estimate",) if known[n] is None}
        known["rates"] = {
            name: tuple(math.nan if v is None else v for v in rate) for name, rate in known["rates"].items()
        }
        for name in ("assumptions", "groups", "positives", "negatives", "unclear"):
            known[name] = tuple(known.get(name, ()))
        blank = {"estimate": math.nan}
        known["comparisons"] = tuple(
            GroupComparison(**{**c, **(blank if c["estimate"] is None else {})})
            for c in known.get("comparisons", ())
        )
        return cls(**known)

    @property
    def digest(self) -> str:
        """The sha256 of what the certificate says, its ``digests`` included: its signature.

        Examples
        --------
        >>> from fairask.audit import certify
        >>> len(certify([1] * 8, [1] * 8, [0, 1] * 4).digest)
        64
        """
        said = {name: value for name, value in self.to_dict().items() if name != "digest"}
        return hashlib.sha256(json.dumps(said, sort_keys=True, allow_nan=False).encode()).hexdigest()

    def __post_init__(self) -> None:
        if UNKNOWN in self.groups and UNKNOWN_ASSUMED not in self.assumptions:
            object.__setattr__(self, "assumptions", (*self.assumptions, UNKNOWN_ASSUMED))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON takes (an unknown estimate is ``None``).

        Examples
        --------
        >>> from fairask.audit import certify
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
            return plain(vars(value)) if isinstance(value, GroupComparison) else value

        named = {"schema": SCHEMA, "version": VERSION}
        return named | {name: plain(value) for name, value in vars(self).items()}

    def headline(self) -> str:
        """Return the verdict as one sentence.

        Examples
        --------
        >>> from fairask.audit import certify
        >>> print(certify([1] * 400, [1] * 400, [0, 1] * 200).headline())
        Certified: the difference in true positive rates is at most 0.1 (95% confidence: 0.0149 or less).
        """
        question = QUESTIONS[self.metric]
        what = f"the {question.words}"
        sure = f"{100 * (1 - self.delta):g}% confidence"
        within, beyond, less, more = ("at most", "above", "or less", "or more")
        goal, low, high, point = self.tolerance, self.lower, self.upper, self.estimate
        if question.ratio:
            within, beyond, less, more = ("at least", "below", "or more", "or less")
            goal, point = round(1 - self.tolerance, 10), 1 - self.estimate
            low, high = 1 - self.lower, 1 - self.upper
        if self.valid == "known":
            side = within if self.verdict == "certified" else beyond
            verdict, value = self.verdict.capitalize(), f"{point:.3g}"
            return f"{verdict}: {what} is {value}, {side} {goal:g} (computed on the whole pool)."
        if self.verdict == "certified":
            return f"Certified: {what} is {within} {goal:g} ({sure}: {high:.3g} {less})."
        if self.verdict == "refuted":
            return f"Refuted: {what} is {beyond} {goal:g} ({sure}: {low:.3g} {more})."
        ends = sorted((low, high))
        return (
            f"Undecided: {what} may lie on either side of {goal:g} "
            f"({sure}: between {ends[0]:.3g} and {ends[1]:.3g})."
        )

    def advice(self) -> str:
        """Return what further labels would bring.

        Examples
        --------
        >>> from fairask.audit import certify
        >>> certify([1] * 400, [1] * 400, [0, 1] * 200).advice()
        'Decided: no further labels are needed.'
        """
        if self.verdict != "undecided":
            return "Decided: no further labels are needed."
        if self.more_labels == 0:
            return "No labels are left that could decide."
        if self.unclear:
            return f"Cannot tell for {', '.join(self.unclear)}: too few labels there, or none exist."
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
        >>> from fairask.audit import certify
        >>> certify([1] * 8, [1] * 8, [0, 1] * 4).to_html().startswith("<!doctype html>")
        True
        """
        return render(self, also, facts)

    def _repr_html_(self) -> str:
        return certificate_card(self)
