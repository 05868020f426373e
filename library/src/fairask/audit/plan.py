"""The plan of an audit: what it must decide and may spend, the looks at its labels, and the bounds at a look.

Everything here is fixed before the first label is drawn. The functions of a schedule take a leading axis of
audits, so that one audit and thousands of simulated ones run through the same lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict, cast

import numpy as np

from fairask.audit.bounds.boundaries import boundaries
from fairask.audit.layout import Counts, Layout, RateLimits, bins_for
from fairask.checks import check_choice, check_count, check_number, check_seed, check_share
from fairask.metrics import Bool, Float, Int

#: The metrics of a model, and ratios of the same rates.
AuditMetric = Literal["tprp", "fprp", "eo", "dp", "tpr-ratio", "fpr-ratio", "selection-ratio"]

#: By so much a bound may pass the tolerance: 0.4 less 0.3 is above 0.1 in floating point.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Question:
    """What is compared between groups.

    Attributes
    ----------
    conditions : tuple
        The labels on which the compared rates are conditioned; None for selection rates.
    ratio : bool
        Whether rates are divided: the gap is then 1 minus the least ratio.
    words : str
        What is bounded.
    """

    conditions: tuple[int | None, ...]
    ratio: bool
    words: str

    def gap(self, rates: Sequence[float] | Float) -> float:
        """The largest difference of these rates, or 1 minus their least ratio; NaN if a rate is unknown.

        Examples
        --------
        >>> QUESTIONS["tpr-ratio"].gap([0.4, 0.5]), round(QUESTIONS["tprp"].gap([0.4, 0.5]), 3)
        (0.19999999999999996, 0.1)
        """
        if not self.ratio:
            return float(np.ptp(rates))
        return float(1 - np.min(rates) / np.max(rates)) if np.max(rates) > 0 else math.nan

    @property
    def labels(self) -> tuple[int, ...]:
        """The conditions that need labels."""
        return tuple(c for c in self.conditions if c is not None)


QUESTIONS: dict[str, Question] = {
    "tprp": Question((1,), False, "difference in true positive rates"),
    "fprp": Question((0,), False, "difference in false positive rates"),
    "eo": Question((1, 0), False, "difference in true or false positive rates, whichever is larger,"),
    "dp": Question((None,), False, "difference in selection rates"),
    "tpr-ratio": Question((1,), True, "least ratio of true positive rates"),
    "fpr-ratio": Question((0,), True, "least ratio of false positive rates"),
    "selection-ratio": Question((None,), True, "least ratio of selection rates"),
}
#: Which groups are compared: all pairs, or each group with all others together.
COMPARISONS = ("pairs", "rest")


def check_question(metric: object) -> AuditMetric:
    """Return ``metric`` if a certificate knows it, or raise naming the known ones.

    Examples
    --------
    >>> check_question("tpr-ratio")
    'tpr-ratio'
    """
    return cast(AuditMetric, check_choice(metric, "metric", QUESTIONS))


@dataclass(frozen=True)
class Claim:
    """That a model's gap of a metric is at most ``tolerance``."""

    metric: str
    tolerance: float
    model: int = 0

    @property
    def question(self) -> Question:
        """What is compared."""
        return QUESTIONS[self.metric]


#: Whose gap a certificate bounds.
TARGETS = {
    "pool": "the pool audited, all {size:,} rows of it",
    "population": "the population of which the {size:,} rows of the pool are a random sample",
}


#: Each look of an audit has boundaries of its own, which take time.
MOST_LOOKS = 1000


class PlanSettings(TypedDict, total=False):
    """The fields of :class:`AuditPlan` as keywords."""

    metric: AuditMetric
    tolerance: float
    delta: float
    budget: int
    looks: int
    target: str
    random_state: int
    compare: str
    also: Sequence[str]
    bins: int


@dataclass(frozen=True)
class AuditPlan:
    """What an audit is asked for.

    Attributes
    ----------
    metric, tolerance, delta : str, float, float
        Gap, tolerance and probability of error. Of a ratio, ``tolerance`` is 1 minus the least ratio
        allowed: 0.2 for four fifths.
    budget : int
        Most labels the audit may ask for, or their cost where labels have one.
    looks : int
        Batches the budget is cut into; the first is the pilot.
    target : {"pool", "population"}
        Whose gap decides when to stop. Both are reported.
    random_state : int
        Seed of the draws.
    compare : {"pairs", "rest"}
        All pairs of groups, or each group with all others together.
    also : sequence of str
        Further metrics to decide with the same labels, each with its own tolerance after a colon if that
        differs: ``["fprp", "tpr-ratio:0.2"]``. All verdicts together are wrong with probability ``delta``.
    bins : int
        Bins of the score within each group and decision, at most, if the audit has a score.

    Examples
    --------
    >>> AuditPlan(budget=500).schedule(9000).totals
    (100, 200, 300, 400, 500)
    >>> [claim.tolerance for claim in AuditPlan(also=["tpr-ratio:0.2"]).claims()]
    [0.1, 0.2]
    """

    metric: AuditMetric = "tprp"
    tolerance: float = 0.1
    delta: float = 0.05
    budget: int = 1000
    looks: int = 5
    target: str = "pool"
    random_state: int = 0
    compare: str = "pairs"
    also: Sequence[str] = ()
    bins: int = 4

    def __post_init__(self) -> None:
        check_question(self.metric)
        check_choice(self.target, "target", TARGETS)
        check_choice(self.compare, "compare", COMPARISONS)
        checked = {
            "tolerance": check_share(self.tolerance, "tolerance"),
            # With more error than half, or less than a billionth, the looks have no boundaries.
            "delta": check_number(check_share(self.delta, "delta"), "delta", 1e-9, 0.5),
            "budget": check_count(self.budget, "budget"),
            "looks": check_count(self.looks, "looks", most=MOST_LOOKS),
            "random_state": check_seed(self.random_state),
            "bins": check_count(self.bins, "bins"),
            "also": tuple(self.also),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self.claims()

    @classmethod
    def of(cls, plan: AuditPlan | None, settings: PlanSettings) -> AuditPlan:
        """Return ``plan`` or, without one, the plan with these settings."""
        if plan is not None and settings:
            raise TypeError(f"plan and {', '.join(settings)} were given: use dataclasses.replace(plan, ...)")
        return plan if plan is not None else cls(**settings)

    def claims(self, models: int = 1) -> list[Claim]:
        """Return what is to be decided: every metric of every model."""
        asked = [(self.metric, self.tolerance)]
        for text in self.also:
            name, _, own = text.partition(":")
            try:
                tolerance = float(own) if own else self.tolerance
            except ValueError:
                raise ValueError(f"also={text!r} must be a metric, or metric:tolerance") from None
            asked.append((check_question(name), check_share(tolerance, "tolerance")))
        return [Claim(metric, tolerance, model) for model in range(models) for metric, tolerance in asked]

    def schedule(self, pool_size: float, models: int = 1, *, pilot: int = 0) -> Schedule:
        """Return the looks at a pool of so many rows: at equal shares of the budget, after a pilot if any."""
        top = min(self.budget, pool_size)
        totals = sorted({max(1, round(top * k / self.looks)) for k in range(1, self.looks + 1)})
        if 0 < pilot < totals[0]:
            totals = [pilot, *totals]
        claims = tuple(claim for claim in self.claims(models) if claim.question.labels)
        share = top / pool_size if pool_size else 1.0
        return Schedule(claims, self.delta, tuple(totals), self.target == "population", share)

    def score_bins(self, groups: int, models: int = 1) -> int:
        """Bins of a score within each group and decision that the pilot can bear.

        Examples
        --------
        >>> AuditPlan(budget=500).score_bins(2), AuditPlan(budget=100).score_bins(2)
        (4, 1)
        """
        return bins_for(self.budget // self.looks, 2**models * groups, self.bins)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; ``AuditPlan(**values)`` gives the same plan."""
        return asdict(self) | {"also": list(self.also)}


@dataclass(frozen=True)
class Bounds:
    """Estimate and bounds on the gap, one entry per audit; ``by_pair`` with the pairs on an axis."""

    estimate: Float
    lower: Float
    upper: Float
    by_pair: tuple[Float, Float, Float]


@dataclass(frozen=True)
class Schedule:
    """The looks of an audit of one pool.

    Attributes
    ----------
    claims : tuple of Claim
        What is to be decided; the error is shared as Holm does, so that one claim's share passes on to the
        others once it is certified.
    delta : float
        Probability that any verdict is wrong.
    totals : tuple of int
        Labels (or their cost) in total at each look; the last is the budget.
    population : bool
        Whether the bounds are for the population that the pool was drawn from.
    share : float
        Share of the pool that the budget buys.
    """

    claims: tuple[Claim, ...]
    delta: float
    totals: tuple[int, ...]
    population: bool = False
    share: float = 0.0

    def levels(self, share: int, family: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Standard errors kept by the upper and the lower bound at each look, with delta / ``share``."""
        fractions = tuple(t / self.totals[-1] for t in self.totals)
        # Certifying needs every pair's bound below tolerance, and the worst pair alone must not fail, so the
        # upper bounds need no split. Refuting needs any one pair, so the lower bounds do.
        delta, drawn = self.delta / share, 0.0 if self.population else self.share
        return boundaries(fractions, delta, drawn), boundaries(fractions, delta / family, drawn)

    def bounds(self, counts: Counts, layout: Layout, look: int, claim: int = 0, share: int = 1) -> Bounds:
        """Evaluate a claim at one look (from 0), its error being delta / ``share``."""
        asked = self.claims[claim]
        family = len(asked.question.labels) * len(layout.pairs[0])
        z_upper, z_lower = (z[look] for z in self.levels(share, family))
        return bounds_at(asked, counts, layout, z_upper, z_lower, population=self.population)

    def verdicts(self, counts: Counts, layout: Layout, look: int, before: Int) -> tuple[Int, list[Bounds]]:
        """Decide all claims at a look: codes 0 open, 1 certified, 2 refuted, of shape (audits, claims).

        A claim is certified at delta divided by the claims not certified yet, and refuted at delta divided
        by those not refuted yet: one that is decided passes its share on (Holm's procedure with spending
        functions; Maurer and Bretz).
        """
        code, n = before.copy(), len(self.claims)
        tables = [[self.bounds(counts, layout, look, c, k + 1) for c in range(n)] for k in range(n)]
        upper = np.array([[found.upper for found in row] for row in tables])
        lower = np.array([[found.lower for found in row] for row in tables])
        audits, tolerances = np.arange(len(code)), [claim.tolerance for claim in self.claims]
        shares = np.zeros((2, len(code)), dtype=np.int64)
        for _ in range(n):
            shares = np.stack([n - 1 - np.minimum((code == v).sum(axis=1), n - 1) for v in (1, 2)])
            for c in range(n):
                now = np.where(upper[shares[0], c, audits] <= tolerances[c] + ROUNDING, 1, 0)
                now = np.where((now == 0) & (lower[shares[1], c, audits] > tolerances[c] + ROUNDING), 2, now)
                code[:, c] = np.where(code[:, c] > 0, code[:, c], now)
        found = [
            Bounds(
                tables[0][c].estimate,
                lower[shares[1], c, audits],
                upper[shares[0], c, audits],
                tables[int(shares[0].max(initial=0))][c].by_pair,
            )
            for c in range(n)
        ]
        return code, found

    def next_counts(self, counts: Counts, layout: Layout, look: int, pilot: Counts | None = None) -> Int:
        """Return how many rows of each stratum should be drawn by a look, given what was found so far.

        Labels go to (group, decision) by what was found there. Between the bins of one they go by shares that
        are fixed beforehand: a bin where a handful of labels found nothing would get no more of them, and its
        positives would be missed for good. For the same reason a judge is believed as far as the ``pilot``
        (what the first look found) agrees with him, whatever later labels say.
        """
        drawn = np.where(layout.known, 0.0, counts.labels)
        return self.place(counts.size, drawn, layout, self.totals[look], counts if look else None, pilot)

    def place(
        self,
        size: Float,
        drawn: Float,
        layout: Layout,
        total: float,
        found: Counts | None = None,
        pilot: Counts | None = None,
    ) -> Int:
        """Place ``total`` labels, given those drawn and, from these or other rows, what was ``found``."""
        free = np.where(layout.known, 0.0, size)
        weight = within = layout.within(free, pilot)
        if found is not None:
            whole = self._neyman(size, _guess(found, layout), layout)  # of each bin
            weight = whole / np.maximum(size, 1.0) * (free @ layout.siblings)
            weight = within * np.maximum(weight, 0.05 * weight.max(axis=-1, keepdims=True) * (free > 0))
        return allocate(weight / np.sqrt(layout.cost), drawn, free, total, layout.cost)

    def _neyman(self, size: Float, share: Float, layout: Layout) -> Float:
        """Labels per stratum that narrow the rates most, up to a factor, at these shares of label 1."""
        variance = np.zeros_like(size)
        own = layout.members[: layout.n_groups] + (layout.group == layout.n_groups)
        for asked in self.claims:
            decided = layout.decision[asked.model] == 1
            for label in asked.question.labels:
                mass = size * (share if label == 1 else 1 - share)
                one, zero = (mass @ (own * d).T for d in (decided, ~decided))
                total = np.maximum(one + zero, 1e-300) ** 2
                up, down = (zero / total) ** 2, (one / total) ** 2
                variance += size**2 * np.where(decided, up @ own, down @ own)
        return np.where(layout.known, 0.0, np.sqrt(variance * share * (1 - share)))


def bounds_at(
    asked: Claim, counts: Counts, layout: Layout, z_upper: float, z_lower: float, *, population: bool
) -> Bounds:
    """Evaluate a claim, its bounds being so many standard errors away; parity, with all labels 1."""
    out = []
    for label in asked.question.labels or (1,):
        narrow, wide = (
            layout.limits(counts, asked.model, label, z, population=population) for z in (z_upper, z_lower)
        )
        out.append(compare_rates(narrow, wide, layout.pairs, ratio=asked.question.ratio))
    estimate, lower, upper = (np.max(v, axis=0) for v in zip(*out, strict=True))
    whole = [np.max(v, axis=-1, initial=0.0) for v in (estimate, lower, upper)]
    return Bounds(whole[0], whole[1], np.minimum(whole[2], 1.0), (estimate, lower, upper))


def _guess(counts: Counts, layout: Layout) -> Float:
    """Share of label 1 in each (group, decision), the same in all its bins, for placing labels."""
    told, ones = counts.ones + counts.zeros, counts.ones
    # One success and one failure are added, so a stratum whose pilot found nothing still gets labels.
    bins = layout.siblings.sum(axis=0)
    of_bin = (ones + 1 / bins) / (told + 2 / bins)
    held = np.maximum(counts.size, 1e-9)
    return np.asarray((held * of_bin) @ layout.siblings / (held @ layout.siblings))


def _cut(limits: RateLimits, a: Int, b: Int) -> Bool:
    """Whether a limit of either rate of each pair is cut at 0 or 1."""
    return np.asarray(limits.cut[..., a] | limits.cut[..., b])


def _half_step(
    limits: RateLimits, a: Int, b: Int, of_a: Float | float = 1.0, of_b: Float | float = 1.0
) -> Float:
    """Half of the largest step in which a difference moves, as far as no other labels smooth it.

    Where nearly all of what is unknown are a few labels that each stand for many rows, the estimate lies on a
    lattice, and a limit without a correction for continuity errs more often than it says.
    """
    steps = np.stack([of_a * limits.step[..., a], of_b * limits.step[..., b]])
    own = np.stack([of_a**2 * limits.alone[..., a], of_b**2 * limits.alone[..., b]])
    error = of_a**2 * limits.error[..., a] + of_b**2 * limits.error[..., b]
    step = steps.max(axis=0)
    others = np.maximum(error - np.where(steps[0] >= steps[1], *own), 0.0)
    # The characteristic function of the others at the frequency of the lattice.
    return np.asarray(step / 2 * np.exp(-2 * np.pi**2 * others / np.maximum(step, 1e-12) ** 2))


def compare_rates(
    narrow: RateLimits, wide: RateLimits, pairs: tuple[Int, Int], *, ratio: bool
) -> tuple[Float, Float, Float]:
    """The differences of pairs of rates, or 1 minus their ratios, with lower and upper bounds."""
    return (_ratio if ratio else _difference)(narrow, wide, *pairs)


def _difference(narrow: RateLimits, wide: RateLimits, a: Int, b: Int) -> tuple[Float, Float, Float]:
    """Differences of pairs with bounds: limits combined in quadrature, as Newcombe's; cut ones are added."""
    unknown = np.isnan(narrow.rate[..., a]) | np.isnan(narrow.rate[..., b])
    high = narrow.most[..., a] - narrow.least[..., b]
    high = high + np.hypot((narrow.high - narrow.most)[..., a], (narrow.least - narrow.low)[..., b])
    low = wide.least[..., a] - wide.most[..., b]
    low = low - np.hypot((wide.least - wide.low)[..., a], (wide.high - wide.most)[..., b])
    high = np.where(_cut(narrow, a, b), narrow.high_apart[..., a] - narrow.low_apart[..., b], high)
    low = np.where(_cut(wide, a, b), wide.low_apart[..., a] - wide.high_apart[..., b], low)
    gap, half = narrow.rate[..., a] - narrow.rate[..., b], _half_step(narrow, a, b)
    high, low = high + half, low - half
    return gap, np.where(unknown, -1.0, low), np.where(unknown | np.isnan(high), 1.0, high)


def _ratio(narrow: RateLimits, wide: RateLimits, a: Int, b: Int) -> tuple[Float, Float, Float]:
    """1 minus the ratios of pairs, with bounds: limits of both rates combined as Donner and Zou do."""
    unknown = np.isnan(narrow.rate[..., a]) | np.isnan(narrow.rate[..., b])
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = narrow.least[..., a], narrow.most[..., b]
        x, y = (narrow.least - narrow.low)[..., a], (narrow.high - narrow.most)[..., b]
        root = np.sqrt(np.maximum(q * q * x * x + y * y * p * p - x * x * y * y, 0.0))
        least = np.where(p > 0, (p * p - x * x) / (p * q + root), 0.0)
        p, q = wide.most[..., a], wide.least[..., b]
        x, y = (wide.high - wide.most)[..., a], (wide.least - wide.low)[..., b]
        root = np.sqrt(np.maximum(q * q * x * x + y * y * p * p - x * x * y * y, 0.0))
        most = np.where(q > y, (p * q + root) / (q * q - y * y), np.inf)
        least = np.where(_cut(narrow, a, b), narrow.low_apart[..., a] / narrow.high_apart[..., b], least)
        most = np.where(_cut(wide, a, b), wide.high_apart[..., a] / wide.low_apart[..., b], most)
        p, q = narrow.rate[..., a], narrow.rate[..., b]
        gap, half = 1 - p / q, _half_step(narrow, a, b, 1 / q, p / q**2)
        least, most = least - half, most + half
    unsure = unknown | np.isnan(least) | np.isnan(most)
    return gap, np.where(unsure, -1.0, np.maximum(1 - most, -1.0)), np.where(unsure, 1.0, 1 - least)


def allocate(weight: Float, have: Float, size: Float, total: float, cost: Float | None = None) -> Int:
    """Whole labels per stratum, proportional to ``weight``, never below ``have`` nor above ``size``.

    With ``cost``, the labels' cost adds up to ``total``, up to one label.

    Examples
    --------
    >>> weight = np.array([[1.0, 3.0, 1.0, 1.0]])
    >>> allocate(weight, np.zeros((1, 4)), np.full((1, 4), 40.0), 60)[0].tolist()
    [10, 30, 10, 10]
    >>> allocate(weight, np.zeros((1, 4)), np.full((1, 4), 20.0), 60)[0].tolist()
    [14, 20, 13, 13]
    """
    shape = weight.shape
    w, low, high = (np.asarray(v, dtype=np.float64).reshape(shape[0], -1) for v in (weight, have, size))
    price = np.ones(w.shape[1]) if cost is None else cost
    goal = np.minimum(np.maximum(float(total), low @ price), high @ price)
    w = np.maximum(w, 1e-12 * w.max(axis=1, keepdims=True))
    w = np.where(w > 0, w, 1e-12)
    bottom, top = np.zeros(len(w)), (high / w).max(axis=1)
    for _ in range(50):
        middle = (bottom + top) / 2
        short = np.clip(middle[:, None] * w, low, high) @ price < goal
        bottom, top = np.where(short, middle, bottom), np.where(short, top, middle)
    exact = np.clip(top[:, None] * w, low, high)
    whole = np.floor(exact + 1e-9)
    missing = np.rint((goal - whole @ price) / (price.mean() if cost is not None else 1.0)).astype(np.int64)
    # Largest remainders first; strata that are full cannot take one more.
    rest = np.where(whole < high, exact - whole, -1.0)
    rank = np.argsort(np.argsort(-rest, axis=1, kind="stable"), axis=1, kind="stable")
    whole += rank < missing[:, None]
    return np.asarray(np.minimum(whole, high).astype(np.int64).reshape(shape))
