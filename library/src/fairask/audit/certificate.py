"""What a certificate says and how it is written down: as text, JSON, a page; sealed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from importlib.resources import files
from typing import Any, Self

from scipy.special import ndtri

from fairask.audit.plan import QUESTIONS, ROUNDING
from fairask.cards import card
from fairask.checks import check_choice
from fairask.report.words import enclosed, one_line, outward, visible
from fairask.tables.groups import UNKNOWN

#: Name and version of what :meth:`Certificate.to_dict` writes.
SCHEMA, VERSION = "fairask-certificate", 1

#: Schemas by document: a certificate, ``certificate.json`` and ``audit.json`` of an audit's folder, a form.
JSON_SCHEMAS = {
    "certificate": "certificate-1",
    "audit": "audit-1",
    "audit-state": "audit-state-3",
    "form": "form-1",
}
#: The state of an audit and its certificates for programs, in the folder of an audit.
STATE, CERTIFICATE = "audit.json", "certificate.json"
#: What the owner of a study signed of its export: the digests of its files.
SIGNED = "signed.json"

_POWER = 0.8
_COLOURS = {"certified": "#1a7f4b", "refuted": "#b3261e", "undecided": "#8a6100"}
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1d1d1f}
h1{font-size:1.35rem;border-left:.4rem solid var(--c);padding-left:.8rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.3rem .6rem;
border-bottom:1px solid #ddd}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
h2{font-size:1.1rem}td{overflow-wrap:anywhere}th{vertical-align:top}small{color:#555}
@media(prefers-color-scheme:dark){body{background:#161618;color:#ececee}td,th{border-color:#444}small{color:#aaa}}
"""


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
    """Further labels that would likely decide (chance 0.8) if the gap is what it seems.

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
    """Evidence about a model's gap, with what it rests on.

    Attributes
    ----------
    estimate, lower, upper : float
        The gap measured on the labels and its bounds. The upper bound is below the true gap
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
        Whose gap is bounded.
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
        Every pair of groups that was compared (gap of the first over the second).
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
        """Rebuild a certificate from :meth:`to_dict`.

        Examples
        --------
        >>> from fairask.audit import certify
        >>> made = certify([1] * 8, [1] * 8, [0, 1] * 4)
        >>> Certificate.from_dict(made.to_dict()).digest == made.digest
        True
        """
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
        goal, point, low, high = self._as_asked()
        if question.ratio:
            within, beyond, less, more = ("at least", "below", "or more", "or less")
        if self.valid == "known" and low != high:
            sure = "computed on the whole pool"
            if self.unknown_groups:
                sure = f"whichever group {self.unknown_groups:,} rows belong to"
        elif self.valid == "known":
            side = within if self.verdict == "certified" else beyond
            value = _beside(point, goal)
            verdict = self.verdict.capitalize()
            return f"{verdict}: {what} is {value}, {side} {goal:g} (computed on the whole pool)."
        least, most = _significant(low, up=False), _significant(high, up=True)
        # The end that decides: of a difference the upper one certifies, of a ratio the lower one.
        passed, failed = (least, most) if question.ratio else (most, least)
        if self.verdict == "certified":
            return f"Certified: {what} is {within} {goal:g} ({sure}: {passed} {less})."
        if self.verdict == "refuted":
            return f"Refuted: {what} is {beyond} {goal:g} ({sure}: {failed} {more})."
        return f"Undecided: {what} may lie on either side of {goal:g} ({sure}: between {least} and {most})."

    def _as_asked(self) -> tuple[float, float, float, float]:
        """The goal, the estimate and the bounds: of a ratio as a ratio, though it is kept as one less it."""
        found = self.tolerance, self.estimate, self.lower, self.upper
        if not QUESTIONS[self.metric].ratio:
            return found
        goal, point, high, low = (round(1 - value, 12) for value in found)
        return goal, point, low, high

    def advice(self) -> str:
        """Return what further labels would bring.

        Examples
        --------
        >>> from fairask.audit import certify
        >>> certify([1] * 400, [1] * 400, [0, 1] * 200).advice()
        'Decided: no further labels are needed.'
        """
        what = "labels" if QUESTIONS[self.metric].labels else "rows"
        if self.verdict != "undecided":
            return f"Decided: no further {what} are needed."
        if self.more_labels == 0:
            return f"No {what} are left that could decide."
        if self.unclear:
            return f"Cannot tell for {', '.join(self.unclear)}: too few {what} there, or none exist."
        if self.more_labels is None:
            return (
                "The estimate is too close to the tolerance, or too little is known, to say how many more "
                f"{what} would decide."
            )
        return f"About {self.more_labels:,} more {what} drawn in the same way would likely decide."

    def __str__(self) -> str:
        _, point, low, high = self._as_asked()
        estimate = "unknown" if math.isnan(point) else f"{point:.4f}"
        least, most = enclosed(low, high, 4)
        lines = [
            self.headline(),
            f"  estimate {estimate}, bounds [{least:.4f}, {most:.4f}], {self.n_labels:,} labels",
            f"  about: {one_line(self.target)}",
            f"  method: {self.method} ({self.valid}), metric {self.metric}, delta {self.delta:g}",
        ]
        for g, group in enumerate(self.groups):
            values = ", ".join(f"{_spoken(name)} {rate[g]:.3f}" for name, rate in self.rates.items())
            seen = f"{self.positives[g]} positives, {self.negatives[g]} negatives, " if self.n_labels else ""
            lines.append(f"  group {one_line(group)}: {seen}{values}")
        lines.append(f"  {self.advice()}")
        lines += ["  It rests on:"] + [f"  - {one_line(text)}" for text in self.assumptions]
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
        others = "".join(_section(c, self) for c in also)
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
            for name, value in (facts or {}).items()
        )
        made = f"<h2>How it was made</h2><table>{rows}</table>" if rows else ""
        rests = "".join(f"<li>{escape(text)}</li>" for text in self.assumptions)
        return visible(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fairness certificate</title>'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<style>:root{{--c:{_COLOURS[self.verdict]}}}{_STYLE}</style></head>"
            f"<body><h1>{escape(self.headline())}</h1><p>{escape(self._bounds())} {escape(self.advice())}</p>"
            f"{_groups(self)}<p>About: {escape(self.target)}. Labels used: {self.n_labels:,}.</p>"
            f"{others}<h2>What it rests on</h2><ul>{rests}</ul>{made}"
            f"<p><small>metric {escape(self.metric)}, method {escape(self.method)} "
            f"({escape(self.valid)}), delta {self.delta:g}</small></p></body></html>"
        )

    def _bounds(self) -> str:
        goal, point, low, high = self._as_asked()
        what, asked = ("Ratio", "least allowed") if QUESTIONS[self.metric].ratio else ("Gap", "tolerance")
        measured = "unknown" if math.isnan(point) else f"{point:.3f}"
        least, most = enclosed(low, high, 3)
        return f"{what} measured: {measured}; bounds {least:.3f} to {most:.3f}; {asked} {goal:g}."

    def _repr_html_(self) -> str:
        facts = {"labels": f"{self.n_labels:,}", "about": self.target}
        rests = ("What it rests on", self.assumptions)
        return card(self.headline(), f"{self._bounds()} {self.advice()}", facts, folded=rests)


def _spoken(rate: str) -> str:
    return rate.replace("_", " ")


def _significant(limit: float, *, up: bool) -> str:
    """Write a limit in three significant digits, rounded outward."""
    digits = 2 - math.floor(math.log10(abs(limit))) if abs(limit) > 1e-9 else 3
    return f"{outward(limit, digits, up=up):.3g}"


def _beside(value: float, goal: float) -> str:
    """Write a value in three significant digits, or in as many as show on which side of the goal it is."""
    for digits in range(3, 17):
        said = f"{value:.{digits}g}"
        if (float(said) > goal) == (value > goal):
            return said
    return repr(value)


def _section(certificate: Certificate, first: Certificate) -> str:
    """A certificate from the same labels in short, and what it rests on besides."""
    more = " ".join(text for text in certificate.assumptions if text not in first.assumptions)
    besides = f" It also rests on this: {escape(more)}" if more else ""
    return (
        f"<section><h2>About {escape(certificate.target)}</h2><p>{escape(certificate.headline())}</p>"
        f"<p>{escape(certificate._bounds())} {escape(certificate.advice())}{besides}</p></section>"
    )


def _groups(certificate: Certificate) -> str:
    counts = {"positives": certificate.positives, "negatives": certificate.negatives}
    columns = {name: [f"{n:,}" for n in seen] for name, seen in counts.items() if certificate.n_labels}
    columns |= {_spoken(name): [f"{share:.3f}" for share in rate] for name, rate in certificate.rates.items()}
    head = "".join(f'<th class="n">{escape(name)}</th>' for name in columns)
    rows = "".join(
        f"<tr><td>{escape(str(group))}</td>"
        + "".join(f'<td class="n">{cells[g]}</td>' for cells in columns.values())
        + "</tr>"
        for g, group in enumerate(certificate.groups)
    )
    return f"<table><tr><th>group</th>{head}</tr>{rows}</table>"


def json_schema(document: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a document: "certificate", "audit", "audit-state" or "form".

    The schema of "audit" refers to that of a certificate by its ``$id``.

    Examples
    --------
    >>> json_schema("certificate")["properties"]["version"]
    {'const': 1}
    """
    name = JSON_SCHEMAS[check_choice(document, "document", JSON_SCHEMAS)]
    text = files("fairask.audit").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def digest_of_settings(settings: Mapping[str, Any]) -> str:
    """The sha256 of settings, whatever their order.

    Examples
    --------
    >>> digest_of_settings({"a": 1, "b": 2}) == digest_of_settings({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the sha256 of all that it says, as ``sealed``.

    Examples
    --------
    >>> is_sealed(seal({"verdict": "certified"}))
    True
    """
    said = {name: value for name, value in document.items() if name not in ("sealed", "signature")}
    return said | {"sealed": digest_of_settings(said)}


def written(document: Mapping[str, Any]) -> str:
    """Return a document as the text of its file; no other text of the same document is accepted.

    Examples
    --------
    >>> written({"verdict": "refuted"})
    '{\\n "verdict": "refuted"\\n}\\n'
    """
    return visible(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def pages_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the text and the page of the certificates of an audit, by the names of their files.

    They follow from ``certificate.json`` alone, so that a page that was changed is noticed.
    """
    first, *also = (Certificate.from_dict(one) for one in document["certificates"].values())
    facts = dict(document["made_from"])
    text = "\n\n".join(str(c) for c in (first, *also))
    text += "\n\n" + "\n".join(one_line(f"{name}: {value}") for name, value in facts.items()) + "\n"
    return {"certificate.txt": visible(text), "certificate.html": first.to_html(also=also, facts=facts)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Whether a document says what it said when it was sealed.

    Examples
    --------
    >>> is_sealed(seal({"verdict": "refuted"}) | {"verdict": "certified"})
    False
    """
    return bool(document.get("sealed") == seal(document)["sealed"])


def issue(certificate: Certificate, **digests: str) -> dict[str, Any]:
    """Return a certificate for JSON with the digests of what it was issued for, and its own.

    Examples
    --------
    >>> from fairask.audit import certify
    >>> document = issue(certify([1] * 8, [1] * 8, [0, 1] * 4), model="ab12")
    >>> document["digests"], check_certificate(document, model="ab12")
    ({'model': 'ab12'}, [])
    """
    named = dataclasses.replace(certificate, digests={**certificate.digests, **digests})
    return named.to_dict() | {"digest": named.digest}


def check_certificate(document: Mapping[str, Any], **digests: str) -> list[str]:
    """Return what is wrong with a certificate: nothing if it is whole and was issued for these digests.

    Parameters
    ----------
    document : mapping
        What :func:`issue` returned.
    **digests : str
        Digests of what it should have been issued for, such as ``model=`` and ``pool=``.

    Examples
    --------
    >>> from fairask.audit import certify
    >>> document = issue(certify([1] * 8, [1] * 8, [0, 1] * 4), model="ab12")
    >>> check_certificate(document | {"upper": 0.01}, model="cd34")
    ['it was changed after it was issued', 'it was issued for another model']
    """
    if document.get("schema") != SCHEMA:
        return ["it is not a certificate of fairask"]
    problems = []
    try:
        whole = Certificate.from_dict(document)
        if whole.digest != document.get("digest"):
            problems.append("it was changed after it was issued")
    except (KeyError, TypeError, ValueError):
        return ["it is damaged"]
    for name, value in digests.items():
        if name not in whole.digests:
            problems.append(f"it does not say for which {name} it was issued")
        elif whole.digests[name] != value:
            problems.append(f"it was issued for another {name}")
    return problems


def joint_verdict(verdicts: Mapping[str, str], target: str) -> str:
    """Return the verdict on all claims about a target: refuted if any is, certified if all are.

    Examples
    --------
    >>> joint_verdict({"pool": "certified", "pool:fprp": "undecided", "population": "refuted"}, "pool")
    'undecided'
    """
    mine = {verdict for name, verdict in verdicts.items() if name.partition(":")[0] == target}
    return next((v for v in ("refuted", "undecided") if v in mine), "certified")
