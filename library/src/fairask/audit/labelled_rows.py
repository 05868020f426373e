"""One certificate from a sample of labelled rows, or from the decisions on a whole pool."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import fisher_exact

from fairask.audit.bounds.exact import exact_upper
from fairask.audit.bounds.methods import METHODS, RateCounts, pairs
from fairask.audit.bounds.proportions import clopper_pearson, clopper_pearson_upper, newcombe_upper
from fairask.audit.certificate import Certificate, GroupComparison, verdict_of
from fairask.audit.plan import QUESTIONS, TARGETS, AuditMetric, AuditPlan, Question, check_question
from fairask.checks import check_count, check_lengths, check_share
from fairask.errors import EmptyCellWarning, UserError, suggest
from fairask.metrics import RATES, Float, Int, binary_labels, encode_groups, soft_predictions
from fairask.report.words import DRAWN_ONCE, unknown_groups_sentence

_SAMPLE = (
    "the population of which {} are a random sample (of a finite pool, the bounds are too wide rather than "
    "too narrow)"
)
_POOL = "the pool given, all of it"
_WHOLE = "The rows given are the whole pool."
_FRESH = (
    "The model was fixed before these labels were drawn, and none of them trained it.",
    "Within each group, the labelled rows were drawn uniformly at random.",
)
_SEEN = (
    "The model was fixed before it decided about these rows, and none of them trained it.",
    "Within each group, the rows are a random sample.",
)
_DRAWN = (
    "The classifier is randomised: its decision on each labelled row was drawn once with a fixed seed, and "
    "the drawn decisions were counted. This is valid; bounds from its probabilities would be narrower."
)
#: Labels that exist are refused as a random part if a part as uneven as theirs is this improbable.
_UNEVEN = 0.001
#: Rows of a group above which the exact bound, which looks at all tables, would take minutes. The
#: Clopper-Pearson bound is as valid, and hardly wider there.
_MOST_EXACT = 100_000
#: Rows times pairs up to which the exact bound of each pair takes seconds.
_MOST_COMPARED = 1_000_000


def certify(
    y: ArrayLike | None,
    pred: ArrayLike,
    groups: ArrayLike,
    metric: AuditMetric = "tprp",
    tolerance: float = 0.1,
    delta: float = 0.05,
    method: str = "auto",
    *,
    candidates: int = 1,
    pos_label: object = None,
    random_state: int = 0,
    indices: ArrayLike | None = None,
    trained_on: ArrayLike | None = None,
) -> Certificate:
    """Certify that a fixed model's gap is at most ``tolerance``, except with probability ``delta``.

    Parameters
    ----------
    y : array-like of 0 and 1, or None
        Labels of rows that were drawn uniformly within each group (any number from each) after the model was
        fixed. None for ``metric="dp"`` on a whole pool, which needs none.
    pred : array-like
        The model's predictions on the same rows; soft values are a randomised classifier's P(h=1).
    groups : array-like
        Protected attribute, two groups or more.
    metric : {"tprp", "fprp", "eo", "dp", "tpr-ratio", "fpr-ratio", "selection-ratio"}
        The gap; of a ratio, 1 minus the least ratio of two groups.
    tolerance, delta : float
        Tolerance, and the probability of error.
    method : str
        ``"auto"`` (``"exact"``; of a ratio ``"clopper-pearson"``), ``"exact"``, ``"newcombe"``,
        ``"clopper-pearson"`` or, for selection rates of a whole pool, ``"known"``.
    candidates : int
        How many models were tried on these same labels before this one was chosen; each is certified at
        ``delta / candidates``.
    pos_label : optional
        The value of ``y`` that counts as 1.
    random_state : int
        Seed with which a randomised classifier's decisions are drawn.
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
    _refuse_training_rows(indices, trained_on)
    if y is None and question.labels:
        raise ValueError(f"metric={metric!r} needs labels: give y (only 'dp' on a whole pool needs none)")
    score, (names, codes) = soft_predictions(pred, pos_label), encode_groups(groups)
    truth = None if y is None else binary_labels(y, pos_label)
    lengths = {"pred": len(score), "groups": len(codes)} | ({} if truth is None else {"y": len(truth)})
    if not check_lengths(**lengths):
        raise ValueError("pred is empty: a certificate needs at least one row")
    if len(names) < 2:
        raise ValueError(f"groups must hold at least two groups, got only {names[0]!r}")
    name = _method(method, question, metric, truth is None)
    said = score
    if name != "known" and not ((score == 0) | (score == 1)).all():
        said = (np.random.default_rng(random_state).random(len(score)) < score).astype(np.float64)
    k = len(names)
    hits: dict[int | None, Float] = {}
    sizes: dict[int | None, Int] = {}
    for label in question.conditions:
        rows = slice(None) if label is None or truth is None else truth == label
        hits[label] = np.bincount(codes[rows], weights=said[rows], minlength=k).astype(np.float64)
        sizes[label] = np.bincount(codes[rows], minlength=k)
    if name == "known":
        assumptions: tuple[str, ...] = (_WHOLE,)
    else:
        assumptions = _SEEN if truth is None else _FRESH
        assumptions = assumptions if said is score else (*assumptions, _DRAWN)
        if candidates > 1:
            tried = f"No more than {candidates} models were tried on these labels"
            assumptions = (*assumptions, f"{tried}; each had delta / {candidates}.")
    seen = [(0,) * k if truth is None else np.bincount(codes[truth == v], minlength=k) for v in (1, 0)]
    made = _certificate(
        hits,
        sizes,
        name,
        delta / candidates,
        metric=metric,
        tolerance=tolerance,
        delta=delta,
        assumptions=assumptions,
        n_labels=0 if truth is None else len(codes),
        rows=len(codes),
        groups=tuple(names),
        positives=tuple(int(n) for n in seen[0]),
        negatives=tuple(int(n) for n in seen[1]),
    )
    _warn_empty(made.groups, made.rates)
    return made


def certify_known(
    groups: Sequence[object], labels: Int, rows: Int, plan: AuditPlan, target: str, *, drawn: bool = False
) -> list[Certificate]:
    """Certificates of all claims of a plan from labels that exist already, of all rows or a random part.

    Bounds are those of :func:`certify`. Where all rows of a pool have labels, its gap is computed.

    Parameters
    ----------
    groups : sequence
    labels : ndarray of shape (2, 2, groups)
        Rows with a label: by label, decision and group.
    rows : ndarray of shape (2, groups)
        All rows: by decision and group.
    plan : AuditPlan
    target : {"pool", "population"}
    drawn : bool
        Whether the model is randomised and its decisions were drawn.

    Examples
    --------
    >>> from fairask.audit.plan import AuditPlan
    >>> labels = np.array([[[80, 80], [20, 20]], [[10, 12], [90, 88]]])
    >>> made = certify_known(["a", "b"], labels, labels.sum(axis=0), AuditPlan(), "pool")[0]
    >>> made.verdict, made.valid, round(made.estimate, 3)
    ('certified', 'known', 0.02)
    """
    told, whole = int(labels.sum()), bool((labels.sum(axis=0) == rows).all())
    if not told:
        raise UserError("no row has a label", "Name the column that has the labels")
    if not whole:
        _refuse_uneven(groups, labels.sum(axis=0), rows)
    counted, claims = whole and target == "pool", plan.claims(1)
    part = "Every row has a label."
    if not whole:
        part = (
            f"The {told:,} rows with a label are a random part of all {int(rows.sum()):,}, within each group."
        )
    rests = ["The model was fixed before the labels were looked at, and none of these rows trained it."]
    rests += ["The labels are right.", part, *([DRAWN_ONCE] if drawn else [])]
    if target == "population":
        rests.append("The rows are a random sample of the population.")
    if not counted and len(claims) > 1:
        rests.append(f"{len(claims)} claims share the error equally: all verdicts hold together.")
    made = []
    for claim in claims:
        delta = plan.delta / (1 if counted else len(claims))
        question = claim.question
        if not question.labels:
            by_stratum = rows.T.ravel()
            made.append(parity(groups, by_stratum, target, claim.tolerance, delta, claim.metric, drawn=drawn))
            continue
        sizes: dict[int | None, Int] = {label: labels[label].sum(axis=0) for label in question.labels}
        large = max(int(size.max()) for size in sizes.values()) > _MOST_EXACT
        name = "clopper-pearson" if question.ratio or large else "exact"
        found = _certificate(
            {label: labels[label, 1].astype(np.float64) for label in question.labels},
            sizes,
            "known" if counted else name,
            delta,
            metric=claim.metric,
            tolerance=claim.tolerance,
            delta=plan.delta,
            assumptions=tuple(rests),
            n_labels=told,
            rows=told,
            groups=tuple(map(str, groups)),
            positives=tuple(labels[1].sum(axis=0).tolist()),
            negatives=tuple(labels[0].sum(axis=0).tolist()),
        )
        made.append(replace(found, target=TARGETS[target].format(size=int(rows.sum()))))
    return made


def accuracy_limits(
    size: Float, right: Float, wrong: Float, skipped: Float, level: float
) -> tuple[float, float, float]:
    """The accuracy on rows that were labelled at random within strata, with limits.

    Each stratum has exact limits, and all hold together with probability 1 - ``level``. Rows that nobody
    could label are wrong for the lower limit and right for the upper one.

    Examples
    --------
    >>> nothing = np.zeros(2)
    >>> accuracy_limits(np.array([10.0, 90.0]), np.array([8.0, 81.0]), np.array([2.0, 9.0]), nothing, 0.05)
    (0.89, 0.89, 0.89)
    """
    held = size > 0
    size, right, wrong, skipped = (v[held] for v in (size, right, wrong, skipped))
    told, asked = right + wrong, right + wrong + skipped
    share, each = size / size.sum(), level / (2 * len(size))
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(told > 0, right / told, math.nan)
    n = np.maximum(asked, 1)
    low = np.where(asked > 0, clopper_pearson(right, n, each)[0], 0.0)
    high = np.where(asked > 0, clopper_pearson(right + skipped, n, each)[1], 1.0)
    whole = asked == size
    low, high = np.where(whole, right / n, low), np.where(whole, (right + skipped) / n, high)
    found = [float(np.round(share @ v, 12)) for v in (value, low, high)]
    return found[0], found[1], found[2]


def _refuse_uneven(groups: Sequence[object], labelled: Int, rows: Int) -> None:
    """Raise UserError where labels are so much rarer for one decision that they are no random part."""
    for g, group in enumerate(groups):
        have, lack = labelled[:, g], rows[:, g] - labelled[:, g]
        if fisher_exact([have, lack])[1] < _UNEVEN / len(groups):
            no, yes = 100 * have / np.maximum(rows[:, g], 1)
            raise UserError(
                f"of group {group!r} {yes:.3g} % of the rows decided 1 have a label, and {no:.3g} % of those "
                "decided 0: such labels are no random part",
                "Say --not-random: they are counted as they are, and labels of other rows are asked for",
            )


def parity(
    groups: Sequence[object],
    sizes: Int,
    target: str,
    tolerance: float,
    delta: float,
    metric: str = "dp",
    *,
    unknown: tuple[int, int] = (0, 0),
    drawn: bool = False,
) -> Certificate:
    """Certificate for ``"dp"`` or ``"selection-ratio"`` from the rows of strata ``2 * group + decision``.

    ``unknown`` are the rows of unknown group, decided 0 and 1: the bounds hold whichever they belong to.
    ``drawn`` says that the model is randomised.

    Examples
    --------
    >>> found = parity(["a", "b"], np.array([50, 50, 60, 40]), "pool", 0.2, 0.05)
    >>> found.verdict, found.method, round(found.estimate, 3)
    ('certified', 'known', 0.1)
    """
    size = sizes[0::2] + sizes[1::2]
    here = np.flatnonzero(size)
    hits, size, names = sizes[1::2][here], size[here], tuple(str(groups[g]) for g in here.tolist())
    small = size.max() <= _MOST_EXACT and not QUESTIONS[metric].ratio and not any(unknown)
    made = _certificate(
        {None: hits.astype(np.float64)},
        {None: size},
        "known" if target == "pool" else "exact" if small else "clopper-pearson",
        delta,
        metric=metric,
        tolerance=tolerance,
        delta=delta,
        assumptions=(*((_WHOLE,) if target == "pool" else _SEEN), *([DRAWN_ONCE] if drawn else [])),
        n_labels=0,
        rows=int(size.sum()),
        groups=names,
        positives=(0,) * len(names),
        negatives=(0,) * len(names),
    )
    return _of_any_group(made, hits, size, unknown, delta) if any(unknown) else made


def _of_any_group(
    made: Certificate, hits: Int, size: Int, unknown: tuple[int, int], delta: float
) -> Certificate:
    """Widen a certificate of selection rates for rows of unknown group, decided 0 and 1.

    A group's rate is least if all of those decided 0 are its own, and greatest if all decided 1 are. Two
    groups can be at opposite ends at once, because these are different rows.
    """
    least, most = (hits, size + unknown[0]), (hits + unknown[1], size + unknown[1])
    each = pairs(len(size))

    def ends(level: float) -> tuple[Float, Float]:
        if made.method == "known":
            return least[0] / least[1], most[0] / most[1]
        return clopper_pearson(*least, level / 2)[0], clopper_pearson(*most, level / 2)[1]

    # As in other certificates, lower bounds share the error, and upper bounds need not.
    (low, high), (lowest, highest) = ends(delta), ends(delta / len(each))
    compared = []
    for pair, (a, b) in zip(made.comparisons, each, strict=True):
        lower, upper = lowest[a] - highest[b], high[a] - low[b]
        if QUESTIONS[made.metric].ratio:
            lower = max(1 - highest[a] / lowest[b], -1.0) if lowest[b] else -1.0
            upper = 1 - low[a] / high[b] if high[b] else 0.0
        verdict = verdict_of(lower, upper, made.tolerance)
        compared.append(replace(pair, lower=float(lower), upper=float(upper), verdict=verdict))
    lower, upper = (max([0.0, *(getattr(c, end) for c in compared)]) for end in ("lower", "upper"))
    verdict, n = verdict_of(lower, upper, made.tolerance), sum(unknown)
    return replace(
        made,
        lower=lower,
        upper=upper,
        verdict=verdict,
        # More rows do not tell of which group these are.
        more_labels=0 if verdict != "undecided" or made.method == "known" else None,
        comparisons=tuple(compared),
        unknown_groups=n,
        assumptions=(*made.assumptions, unknown_groups_sentence(n, int(size.sum()) + n)),
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
            "gap on them is not that on other rows: draw fresh labels after the last fit"
        )


def _method(method: str, question: Question, metric: str, whole: bool) -> str:
    """Return the name of the method, or raise for one that the question does not have."""
    if method == "known" and question.labels:
        raise ValueError(f"method='known' is for metric='dp', got metric={metric!r}: other rates need labels")
    if method == "known" or (method == "auto" and whole):
        return "known"
    if method == "auto":
        return "clopper-pearson" if question.ratio else "exact"
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; {suggest(method, [*METHODS, 'auto', 'known'])}")
    if question.ratio and METHODS[method].ratios is None:
        raise ValueError("a ratio is certified by method='clopper-pearson'")
    return method


def _certificate(
    hits: dict[int | None, Float],
    sizes: dict[int | None, Int],
    method: str,
    level: float,
    *,
    metric: str,
    groups: tuple[object, ...],
    **said: Any,
) -> Certificate:
    """Bound the gap at a level; the bounds enclose the estimate where there is one."""
    question = QUESTIONS[metric]
    with np.errstate(invalid="ignore"):
        rates = {RATES[label]: tuple(map(float, hits[label] / sizes[label])) for label in hits}
    # Nobody is selected: no group less often than another.
    nobody = not question.labels and not hits[None].any()
    estimate = 0.0 if nobody else float(np.max([question.gap(values) for values in rates.values()]))
    lower, upper = estimate, estimate
    if math.isnan(estimate):
        # A group's rate does not exist: the gap is at least that of the others.
        others = [[v for v in values if not math.isnan(v)] for values in rates.values()]
        lower = max([0.0, *(question.gap(values) for values in others if any(values))])
        upper = 1.0
    if method != "known":
        counts: RateCounts = {label: (np.rint(hits[label]).astype(np.int64), sizes[label]) for label in hits}
        found = METHODS[method]
        bound = found.ratios if question.ratio and found.ratios is not None else found.differences
        lower, upper = bound(counts, level)
        if not math.isnan(estimate):
            lower, upper = min(lower, estimate), max(upper, estimate)
    return Certificate.of(
        (estimate, lower, upper),
        comparisons=_comparisons(hits, sizes, method, level, question, groups, said["tolerance"], upper),
        metric=metric,
        method=method,
        valid="known" if method == "known" else METHODS[method].valid,
        target=_POOL
        if method == "known"
        else _SAMPLE.format("the labelled rows" if said["n_labels"] else "these rows"),
        groups=groups,
        rates=rates,
        unclear=tuple(str(g) for i, g in enumerate(groups) if any(math.isnan(v[i]) for v in rates.values())),
        **said,
    )


def _comparisons(
    hits: dict[int | None, Float],
    sizes: dict[int | None, Int],
    method: str,
    level: float,
    question: Question,
    groups: tuple[object, ...],
    tolerance: float,
    most: float,
) -> tuple[GroupComparison, ...]:
    """Every ordered pair of groups: the gap of the first over the second, or 1 minus the ratio of the first
    to the second. The bound on the largest gap, ``most``, holds for each pair too."""
    found, each = [], pairs(len(groups))
    small = max(int(np.max(size)) for size in sizes.values()) * len(each) <= _MOST_COMPARED
    upper_of = {"exact": exact_upper if small else clopper_pearson_upper, "newcombe": newcombe_upper}.get(
        method, clopper_pearson_upper
    )
    for a, b in each:
        gaps, lows, highs = [], [], []
        for label, size in sizes.items():
            t, n = hits[label], size
            if not n[a] or not n[b]:
                gaps, lows, highs = [math.nan], [-1.0], [1.0]
                break
            first, second = float(t[a] / n[a]), float(t[b] / n[b])
            gap = first - second
            if question.ratio:
                gap = 0.0 if first == second else 1 - first / second if second else -1.0
            gaps.append(gap)
            if method == "known":
                lows.append(gap)
                highs.append(gap)
            elif question.ratio:
                least, top = clopper_pearson(t, n, level / 2)
                highs.append(float(1 - least[a] / top[b]))
                least, top = clopper_pearson(t, n, level / (len(sizes) * len(each)) / 2)
                lows.append(float(1 - top[a] / least[b]) if least[b] > 0 else -1.0)
            else:
                ta, na, tb, nb = int(t[a]), int(n[a]), int(t[b]), int(n[b])
                lows.append(-float(upper_of(tb, nb, ta, na, level / (len(sizes) * len(each)))))
                highs.append(float(upper_of(ta, na, tb, nb, level)))
        # The gap is that of one of the conditions: its upper bound needs no split, lower bounds do.
        estimate, low = max(gaps), max(max(lows), -1.0)
        high = min(max(highs), max(most, estimate) if not math.isnan(estimate) else 1.0)
        lower, upper = min(low, high), high
        found.append(
            GroupComparison(
                str(groups[a]), str(groups[b]), max(estimate, -1.0), lower, upper,
                verdict_of(lower, upper, tolerance),
            )
        )  # fmt: skip
    return tuple(found)


def _warn_empty(names: Sequence[object], rates: dict[str, tuple[float, ...]]) -> None:
    for name, values in rates.items():
        empty = [str(g) for g, v in zip(names, values, strict=True) if math.isnan(v)]
        if empty:
            warnings.warn(
                f"no labelled row gives the {name} of group {', '.join(empty)}: the gap is unknown and "
                "nothing can be certified until such rows are labelled",
                EmptyCellWarning,
                stacklevel=3,
            )
