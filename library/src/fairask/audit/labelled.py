"""certify(): one certificate from labelled rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.bounds.methods import METHODS
from fairask.audit.certificate import Certificate
from fairask.audit.questions import QUESTIONS, AuditMetric, Question, check_question
from fairask.audit.sample import Sample, SampleDraws, build_sample
from fairask.checks import check_count, check_share, renamed
from fairask.errors import EmptyCellWarning, suggest
from fairask.metrics import Float

_RATE = {1: "tpr", 0: "fpr", None: "selection_rate"}
LABELS_TARGET = (
    "the population that the labelled rows are a random sample of (of a finite pool, the bounds are if "
    "anything too wide)"
)
_DRAWN = (
    "The classifier is randomised: its decision on each labelled row was drawn once with a fixed seed, and "
    "the drawn decisions were counted. This is valid; bounds from its probabilities would be narrower."
)
_POOL = "the pool that the rows were drawn from, without replacement"
_BET_ON_POOL = (
    "The propensities are the true probabilities of the draws, and no row of the pool ever had less than the "
    "floor. Labelling may stop, or go on, at any time."
)
_BET_ON_ROWS = (
    "Within each group, the labelled rows were drawn uniformly at random from a population. Labelling may "
    "stop, or go on, at any time."
)


def _refuse_training_rows(indices: ArrayLike | None, trained_on: ArrayLike | None) -> None:
    if trained_on is None:
        return
    if indices is None:
        raise ValueError("trained_on was given without indices=: the rows being certified must be named too")
    shared = np.intersect1d(np.asarray(indices), np.asarray(trained_on))
    if len(shared):
        raise ValueError(
            f"{len(shared)} of the labelled rows trained this model (for instance row {shared[0]}), so its "
            "violation on them is not that on other rows: draw fresh labels after the last fit"
        )


def _pick(method: str, sample: Sample, ratio: bool) -> str:
    if ratio:
        if _uneven(sample) or method not in ("auto", "clopper-pearson"):
            raise ValueError("a ratio is certified by method='clopper-pearson', from labels of equal weight")
        return "clopper-pearson"
    if method == "auto":
        return "hajek" if _uneven(sample) else "exact"
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; {suggest(method, [*METHODS, 'auto', 'known'])}")
    if _uneven(sample) and not METHODS[method].weighted:
        raise ValueError(
            f"method={method!r} takes no weights or propensities that differ within a group; use 'hajek' "
            "(or 'betting' with propensities)"
        )
    if method == "betting" and sample.weight is not None:
        raise ValueError("method='betting' takes propensities, not sample_weight")
    return method


def _weights(sample: Sample) -> Float:
    weight = np.ones(len(sample.codes)) if sample.weight is None else sample.weight
    return weight if sample.propensities is None else weight / sample.propensities


def _uneven(sample: Sample) -> bool:
    weight = _weights(sample)
    parts = [weight[sample.codes == g] for g in range(len(sample.groups))]
    return any(np.ptp(part) > 1e-9 * part.max() for part in parts)


def _rates(sample: Sample, label: int | None, value: Float) -> tuple[float, ...]:
    weight = _weights(sample) * sample.rows(label)
    k = len(sample.groups)
    total = np.bincount(sample.codes, weights=weight, minlength=k)
    hits = np.bincount(sample.codes, weights=weight * value, minlength=k)
    return tuple(float(h / t) if t > 0 else math.nan for h, t in zip(hits, total, strict=True))


def _warn_empty(names: Sequence[object], rates: dict[str, tuple[float, ...]]) -> None:
    for name, values in rates.items():
        empty = [str(g) for g, v in zip(names, values, strict=True) if math.isnan(v)]
        if empty:
            warnings.warn(
                f"no labelled row gives the {name} of group {', '.join(empty)}: the violation is unknown and "
                "nothing can be certified until such rows are labelled",
                EmptyCellWarning,
                stacklevel=3,
            )


@renamed("alpha", "tolerance")
def certify(
    y: ArrayLike | None,
    pred: ArrayLike,
    groups: ArrayLike,
    metric: AuditMetric = "tprp",
    tolerance: float = 0.1,
    delta: float = 0.05,
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    *,
    candidates: int = 1,
    pos_label: object = None,
    random_state: int = 0,
    **draws: Unpack[SampleDraws],
) -> Certificate:
    """Certify that a fixed model's violation is at most ``tolerance``, except with probability ``delta``.

    Parameters
    ----------
    y : array-like of 0 and 1, or None
        Labels drawn after the model was fixed. None for ``metric="dp"`` on a whole pool, which needs none.
    pred : array-like
        The model's predictions on the same rows; soft values are a randomised classifier's P(h=1).
    groups : array-like
        Protected attribute, two groups or more.
    metric : {"tprp", "fprp", "eo", "dp", "tpr-ratio", "fpr-ratio", "selection-ratio"}
        The violation; of a ratio, 1 minus the least ratio of two groups.
    tolerance, delta : float
        Tolerance, and the probability of error.
    method : str
        ``"auto"`` (``"exact"``, or ``"hajek"`` when weights differ within a group), ``"exact"``,
        ``"newcombe"``, ``"clopper-pearson"``, ``"hajek"``, ``"betting"``, ``"theorem"``,
        ``"theorem-split"`` or, for ``"dp"`` on a whole pool, ``"known"``.
    sample_weight : array-like, optional
        Weights of the rows.
    candidates : int
        How many models were tried on these same labels before this one was chosen; each is certified at
        ``delta / candidates``.
    pos_label : optional
        The value of ``y`` that counts as 1.
    random_state : int
        Seed with which a randomised classifier's decisions are drawn, for methods that count them.
    propensities : array-like, optional
        The probability with which each row was drawn, at the moment of its draw.
    pool_size, propensity_floor : int, float, optional
        For ``"betting"`` with propensities: rows of the pool, and the least probability any row
        had in any draw.
    indices, trained_on : array-like, optional
        Identities of these rows and of those that trained the model; an overlap is refused.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    >>> pred = np.where(rng.random(2000) < 0.85, y, 1 - y)
    >>> certificate = certify(y, pred, groups)
    >>> certificate.verdict, certificate.method, round(certificate.upper, 3)
    ('certified', 'exact', 0.038)
    """
    question = QUESTIONS[check_question(metric)]
    check_share(tolerance, "tolerance")
    check_share(delta, "delta")
    check_count(candidates, "candidates")
    _refuse_training_rows(draws.get("indices"), draws.get("trained_on"))
    if y is None and question.labels:
        raise ValueError(f"metric={metric!r} needs labels: give y (only 'dp' on a whole pool needs none)")
    sample = build_sample(
        y, pred, groups, sample_weight, draws, pos_label=pos_label, random_state=random_state
    )
    known = method == "known" or (method == "auto" and y is None)
    if method == "known" and question.labels:
        raise ValueError(f"method='known' is for metric='dp', got metric={metric!r}: other rates need labels")
    name = "known" if known else _pick(method, sample, question.ratio)
    soft = known or METHODS[name].soft
    value = sample.score if soft else sample.decision
    rates = {_RATE[label]: _rates(sample, label, value) for label in question.conditions}
    _warn_empty(sample.groups, rates)
    estimate = max(question.violation(values) for values in rates.values())
    if known:
        bounds, valid, target = (estimate, estimate), "known", "the pool given, all of it"
        assumptions: tuple[str, ...] = ("The rows given are the whole pool.",)
    else:
        bounds = _bounds(name, sample, question, delta / candidates, estimate)
        valid, assumptions, target = METHODS[name].valid, *_assumptions(name, sample, candidates)
    return Certificate.of(
        (estimate, *bounds),
        metric=metric,
        tolerance=tolerance,
        delta=delta,
        method=name,
        valid=valid,
        assumptions=assumptions,
        target=target,
        n_labels=0 if sample.y is None else len(sample.codes),
        rows=len(sample.codes),
        groups=tuple(sample.groups),
        positives=_counts(sample, 1),
        negatives=_counts(sample, 0),
        rates=rates,
        unclear=tuple(
            str(g) for i, g in enumerate(sample.groups) if any(math.isnan(v[i]) for v in rates.values())
        ),
    )


def _bounds(
    name: str, sample: Sample, question: Question, delta: float, estimate: float
) -> tuple[float, float]:
    """Bounds of a method on the violation; they enclose the estimate where there is one."""
    ratios = METHODS[name].ratios
    bound = ratios if question.ratio and ratios is not None else METHODS[name].bounds
    lower, upper = bound(sample, question.conditions, delta)
    return (lower, upper) if math.isnan(estimate) else (min(lower, estimate), max(upper, estimate))


def _assumptions(name: str, sample: Sample, candidates: int) -> tuple[tuple[str, ...], str]:
    """What a method's bounds rest on, and what they are about."""
    assumptions, target = METHODS[name].assumptions, LABELS_TARGET
    if not METHODS[name].soft and not np.array_equal(sample.score, sample.decision):
        assumptions = (*assumptions, _DRAWN)
    if name == "betting":
        drawn = sample.propensities is not None
        assumptions = (*assumptions, _BET_ON_POOL if drawn else _BET_ON_ROWS)
        target = _POOL if drawn else LABELS_TARGET
    if candidates > 1:
        shared = (
            f"No more than {candidates} models were tried on these labels; each had delta / {candidates}."
        )
        assumptions = (*assumptions, shared)
    return assumptions, target


def _counts(sample: Sample, label: int) -> tuple[int, ...]:
    """Rows with this label in each group; 0 where there are no labels."""
    if sample.y is None:
        return (0,) * len(sample.groups)
    found = np.bincount(sample.codes, weights=sample.y == label, minlength=len(sample.groups))
    return tuple(int(n) for n in found)
