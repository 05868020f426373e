"""Simulated audits: how often they decide, what budgets buy, and how often they err where they could.

:func:`play` runs thousands of audits through the very lines of one. :func:`simulate_audit` runs them on a
pool whose labels are known, :func:`plan_audit` on one whose labels are guessed, and :func:`worst_error` on
pools like the one audited whose gap is exactly the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.bounds.methods import pairs
from fairask.audit.layout import Counts, Layout
from fairask.audit.plan import QUESTIONS, AuditPlan, PlanSettings, Question, Schedule
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata
from fairask.checks import check_count, check_lengths
from fairask.metrics import Float, Int, binary_labels

UNDECIDED, CERTIFIED, REFUTED = 0, 1, 2

BUDGETS = (100, 200, 400, 800, 1600, 3200)

#: Share of label 1 among rows decided 0 and 1, where no score says more.
ASSUMED = (0.1, 0.75)


@dataclass(frozen=True)
class Truth:
    """Pools whose labels are all known, one per simulated audit: arrays of shape (audits, strata).

    ``lost_ones`` and ``lost_zeros`` of the labels belong to rows that nobody can label; labels of known
    strata are told from the beginning. ``noise`` is the probability of a wrong label in each stratum,
    or that of labels 0 and of labels 1.
    """

    size: Float
    ones: Float
    lost_ones: Float | None = None
    lost_zeros: Float | None = None
    noise: Float | None = None


def run_audits(
    size: Float, ones: Float, schedule: Schedule, rng: np.random.Generator, layout: Layout | None = None
) -> tuple[Int, Int]:
    """Run one audit for each pool given by its strata; return verdicts and labels used.

    Parameters
    ----------
    size, ones : ndarray of shape (audits, groups, 2), or (audits, strata) with a layout
        Rows and labels 1 of each stratum (group, prediction).
    schedule : Schedule
        The looks of the audits.
    rng : Generator
        Source of the draws.
    layout : Layout, optional
        What the strata are, if not (group, prediction).

    Examples
    --------
    >>> size = np.full((100, 2, 2), 500.0)
    >>> schedule = AuditPlan(budget=400, looks=2).schedule(2000)
    >>> ones, rng = np.zeros_like(size) + [50.0, 450.0], np.random.default_rng(0)
    >>> verdict, used = run_audits(size, ones, schedule, rng)
    >>> bool(np.mean(verdict == CERTIFIED) > 0.8), int(used.max())
    (True, 400)
    """
    n = len(size)
    flat = layout or Layout.plain(size.shape[1])
    codes, used = play(Truth(size.reshape(n, -1), ones.reshape(n, -1)), schedule, flat, rng)
    return codes[:, 0], used


def play(truth: Truth, schedule: Schedule, layout: Layout, rng: np.random.Generator) -> tuple[Int, Int]:
    """Run audits; return the verdicts of all claims, of shape (audits, claims), and the labels used."""
    size = truth.size
    n, k = size.shape
    zero = np.zeros((n, k))
    lost = [zero if v is None else v for v in (truth.lost_ones, truth.lost_zeros)]
    noise = np.broadcast_to(0.0 if truth.noise is None else truth.noise, (2, k))
    left = np.stack([truth.ones - lost[0], size - truth.ones - lost[1], lost[0] + lost[1]]).astype(np.int64)
    told = np.zeros((3, n, k), dtype=np.int64)
    told[:, :, layout.known] = left[:, :, layout.known]
    left[:, :, layout.known] = 0
    verdict, used = np.zeros((n, len(schedule.claims)), dtype=np.int64), np.zeros(n, dtype=np.int64)
    open_, pilot = np.arange(n), None
    for look in range(len(schedule.totals)):
        have = Counts(size[open_], *told[:, open_].astype(np.float64))
        # Skipped rows cost no label: one more row is drawn for each, once.
        plain = Counts(have.size, have.ones, have.zeros, np.zeros_like(have.ones))
        if look == 1:
            pilot = plain
        goal = schedule.next_counts(plain, layout, look, pilot)
        wanted = goal - np.where(layout.known, 0, plain.labels).astype(np.int64)
        for _ in range(3):
            part, rest = draw(left[:, open_], np.maximum(wanted, 0), rng)
            left[:, open_] = rest
            flips = rng.binomial(part[0], noise[1]) - rng.binomial(part[1], noise[0]) if noise.any() else 0
            told[:, open_] += np.stack([part[0] - flips, part[1] + flips, part[2]])
            wanted = part[2]
            if not wanted.any():
                break
        now = Counts(size[open_], *told[:, open_].astype(np.float64))
        drawn = np.where(layout.known, 0.0, now.ones + now.zeros)
        used[open_] = np.rint(drawn @ layout.cost).astype(np.int64)
        verdict[open_], _ = schedule.verdicts(now, layout, look, verdict[open_])
        still = (verdict[open_] == 0).any(axis=1)
        open_ = open_[still]
        if pilot is not None:
            pilot = Counts(*(part[still] for part in vars(pilot).values()))
        if not len(open_):
            break
    return verdict, used


def draw(left: Int, wanted: Int, rng: np.random.Generator) -> tuple[Int, Int]:
    """Draw rows without replacement from strata of three kinds of rows."""
    wanted = np.minimum(wanted, left.sum(axis=0))
    first = rng.hypergeometric(left[0], left[1] + left[2], wanted)
    rest = wanted - first
    second = rng.hypergeometric(left[1], left[2], rest) if left[2].any() else rest
    part = np.stack([first, second, rest - second])
    return part, left - part


@dataclass(frozen=True)
class AuditSimulation:
    """Outcome of many simulated audits of one pool.

    Attributes
    ----------
    gap : float
        The pool's own gap.
    n_audits : int
        Audits simulated.
    certified, refuted, undecided : float
        Share of audits that ended with each verdict.
    wrong : float
        Share whose verdict contradicts the pool's gap.
    mean_labels : float
        Labels used, on average.
    labels_quantiles : tuple of int
        The 10th, 50th and 90th percentile of the labels used.
    decided_by : dict
        Labels at each look -> share of audits decided by then.
    """

    gap: float
    tolerance: float
    delta: float
    n_audits: int
    certified: float
    refuted: float
    undecided: float
    wrong: float
    mean_labels: float
    labels_quantiles: tuple[int, int, int]
    decided_by: dict[int, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.headline()}\n{self.details()}"

    def headline(self) -> str:
        """Return the outcome as one sentence."""
        return (
            f"Of {self.n_audits:,} simulated audits {self.certified:.1%} certify, {self.refuted:.1%} refute "
            f"and {self.undecided:.1%} stay undecided; {self.wrong:.1%} are wrong."
        )

    def details(self) -> str:
        """Return the pool's gap, the labels used, and the share decided at each look."""
        low, middle, high = (f"{n:,}" for n in self.labels_quantiles)
        lines = [
            f"The pool's own gap is {self.gap:.4f}; tolerance {self.tolerance:g}, delta {self.delta:g}.",
            f"The audits use {self.mean_labels:,.0f} labels on average; {low}, {middle} and {high} "
            "at the 10th, 50th and 90th percentile.",
            "labels  decided by then",
        ]
        return "\n".join([*lines, *(f"{n:>6,}  {share:>15.1%}" for n, share in self.decided_by.items())])


def simulate_audit(
    y: ArrayLike,
    pred: ArrayLike,
    groups: ArrayLike,
    plan: AuditPlan | None = None,
    *,
    n_audits: int = 1000,
    pos_label: object = None,
    score: ArrayLike | None = None,
    **settings: Unpack[PlanSettings],
) -> AuditSimulation:
    """Simulate audits of a pool whose labels are all known.

    The plan, or its fields as keywords, is that of each audit; the target is the pool. With a ``score`` rows
    are drawn by bins of it too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 5000), rng.integers(0, 2, 5000)
    >>> pred = np.where(rng.random(5000) < 0.9, y, 1 - y)
    >>> result = simulate_audit(y, pred, groups, budget=600, n_audits=200)
    >>> result.certified > 0.95, result.wrong
    (True, 0.0)
    """
    plan = AuditPlan.of(plan, settings)
    if not QUESTIONS[plan.metric].labels:
        raise ValueError(
            f"metric={plan.metric!r} needs no labels, so there is nothing to simulate: use certify(None, ...)"
        )
    truth = binary_labels(y, pos_label).astype(np.int64)
    n_audits = check_count(n_audits, "n_audits")
    check_lengths(y=len(truth), pred=len(np.asarray(pred)), groups=len(np.asarray(groups)))
    rows = PoolRows.of_arrays(
        pred, groups, pos_label=pos_label, seed=plan.random_state, score=score, truth=truth
    )
    return simulate_rows(rows, plan, n_audits)


def simulate_rows(rows: PoolRows, plan: AuditPlan, n_audits: int) -> AuditSimulation:
    """Simulate audits of rows whose labels are all known, as :func:`simulate_audit`."""
    bins = 1 if rows.score is None else plan.score_bins(len(rows.names))
    strata = Strata.of_rows(rows, seed=plan.random_state, bins=bins, most=0)
    assert strata.ones is not None
    rng = np.random.default_rng(plan.random_state)
    size, ones = strata.sizes.astype(np.float64), strata.ones
    layout = replace(strata.layout, rest=plan.compare == "rest")
    schedule = replace(plan, target="pool", also=()).schedule(int(size.sum()), pilot=layout.pilot)
    gap = float(schedule.bounds(Counts.whole(size, ones), layout, 0).estimate[0])
    shape = (n_audits, len(size))
    codes, used = play(
        Truth(np.broadcast_to(size, shape), np.broadcast_to(ones, shape)), schedule, layout, rng
    )
    verdict = codes[:, 0]
    share = [float(np.mean(verdict == v)) for v in range(3)]
    quantiles = np.quantile(used, [0.1, 0.5, 0.9], method="higher").astype(int)
    return AuditSimulation(
        gap=gap,
        tolerance=plan.tolerance,
        delta=plan.delta,
        n_audits=n_audits,
        certified=share[1],
        refuted=share[2],
        undecided=share[0],
        wrong=share[1] if gap > plan.tolerance else share[2],
        mean_labels=float(used.mean()),
        labels_quantiles=(int(quantiles[0]), int(quantiles[1]), int(quantiles[2])),
        decided_by={t: float(np.mean((verdict > 0) & (used <= t))) for t in schedule.totals},
    )


@dataclass(frozen=True)
class PlannedBudget:
    """Chances of a verdict with a budget: if groups are alike, half a tolerance apart, or one and a half."""

    budget: int
    score: bool
    certify_alike: float
    certify_half: float
    refute_beyond: float
    labels_alike: float


#: What a plan says of each budget: two lines of a heading, the field, and its format.
_MEASURES = (
    ("certifies if", "groups alike", "certify_alike", ".0%"),
    ("certifies at 0.5", "tolerances", "certify_half", ".0%"),
    ("refutes at 1.5", "tolerances", "refute_beyond", ".0%"),
    ("labels used if", "groups alike", "labels_alike", ",.0f"),
)


@dataclass(frozen=True)
class BudgetTable:
    """What budgets buy, what was assumed of the labels, and the budget that was given."""

    rows: tuple[PlannedBudget, ...]
    assumed: str
    given: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"assumed": self.assumed, "given": self.given, "budgets": [asdict(row) for row in self.rows]}

    @property
    def by_budget(self) -> dict[int, list[PlannedBudget]]:
        """The plans of each budget: without a score, then with it."""
        found: dict[int, list[PlannedBudget]] = {}
        for row in sorted(self.rows, key=lambda row: (row.budget, row.score)):
            found.setdefault(row.budget, []).append(row)
        return found

    def __str__(self) -> str:
        kinds = ["no score", "score"] if any(row.score for row in self.rows) else []
        width = 17  # the whole fits 80 columns
        lines = [f"{'':>9}" + "".join(f"{part[i]:>{width}}" for part in _MEASURES) for i in (0, 1)]
        if kinds:
            pair = f"{kinds[0]:>{width - 7}}{kinds[1]:>7}"
            lines.append(f"{'':>9}" + pair * len(_MEASURES))
        lines[-1] = f"{'budget':>9}" + lines[-1][9:]
        for budget, plans in self.by_budget.items():
            cells = ""
            for *_, field, form in _MEASURES:
                shown = [format(getattr(plan, field), form) for plan in plans]
                cells += f"{shown[0]:>{width - 7}}{shown[1]:>7}" if kinds else f"{shown[0]:>{width}}"
            lines.append(f"{'>' if budget == self.given else '':<2}{budget:>7,}{cells}")
        if self.given in self.by_budget:
            lines.append("> the budget of this plan, at most the whole pool.")
        return "\n".join([*lines, f"Assumed: {self.assumed}."])


def plan_audit(
    pred: ArrayLike,
    groups: ArrayLike,
    plan: AuditPlan | None = None,
    *,
    score: ArrayLike | None = None,
    budgets: Sequence[int] = BUDGETS,
    n_audits: int = 300,
    pos_label: object = None,
    **settings: Unpack[PlanSettings],
) -> BudgetTable:
    """Simulate what each budget would buy on a pool whose labels are not known.

    A score from 0 to 1 is taken for the chance of label 1; without one, the shares in ``ASSUMED``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pred, groups = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    >>> found = plan_audit(pred, groups, budgets=[100, 800], n_audits=100)
    >>> found.rows[0].certify_alike < 0.2 < 0.7 < found.rows[1].certify_alike
    True
    """
    asked = _needs_labels(AuditPlan.of(plan, settings))
    rows = PoolRows.of_arrays(pred, groups, pos_label=pos_label, seed=asked.random_state, score=score)
    return plan_rows(rows, asked, budgets, n_audits)


def chances_to_certify(
    pred: ArrayLike,
    groups: ArrayLike,
    plan: AuditPlan,
    gap: float,
    budgets: Sequence[int],
    *,
    n_audits: int = 300,
    pos_label: object = None,
) -> list[float]:
    """Return the share of simulated audits of each budget that certify a model with this gap.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pred, groups = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    >>> alike = chances_to_certify(pred, groups, AuditPlan(), 0.0, [800], n_audits=100)
    >>> apart = chances_to_certify(pred, groups, AuditPlan(), 0.15, [800], n_audits=100)
    >>> alike[0] > 0.7, apart[0] < 0.05
    (True, True)
    """
    rows = PoolRows.of_arrays(
        pred, groups, pos_label=pos_label, seed=_needs_labels(plan).random_state, score=None
    )
    found = []
    for budget in budgets:
        now = replace(plan, budget=min(int(budget), int(rows.counts.sum())), also=())
        strata = Strata.of_rows(rows, seed=now.random_state, bins=1, most=0)
        share = np.where(strata.layout.decision[0] == 1, ASSUMED[1], ASSUMED[0])
        found.append(_chances(now, strata, share, gap, n_audits)[0])
    return found


def plan_rows(rows: PoolRows, plan: AuditPlan, budgets: Sequence[int], n_audits: int) -> BudgetTable:
    """Say what each budget would buy on rows whose labels are not known, as :func:`plan_audit`."""
    asked, total = _needs_labels(plan), int(rows.counts.sum())
    found, chance = [], False
    for budget in sorted({min(int(b), total) for b in budgets}):
        for scored in (False,) if rows.score is None else (False, True):
            now = replace(asked, budget=budget, also=())
            bins = now.score_bins(len(rows.names)) if scored else 1
            strata = Strata.of_rows(rows, seed=now.random_state, bins=bins, most=0)
            share = np.where(strata.layout.decision[0] == 1, ASSUMED[1], ASSUMED[0])
            if strata.chance is not None:
                share, chance = np.where(strata.sizes > 0, strata.chance, 0.5), True
            found.append(_planned(now, strata, share, n_audits, score=scored))
    assumed = (
        "the score is the chance of label 1, and groups have the same base rates as it says"
        if chance
        else _shares_in_words(ASSUMED)
    )
    return BudgetTable(tuple(found), assumed, min(asked.budget, total))


def plan_strata(
    strata: Strata, plan: AuditPlan, budgets: Sequence[int] = BUDGETS, n_audits: int = 300
) -> BudgetTable:
    """Say what each budget would buy on strata some of whose labels are known, as in :func:`plan_audit`.

    The shares of label 1 are those among the known labels, ``ASSUMED`` counting as ten labels more.

    Examples
    --------
    >>> known = {row: row % 2 for row in range(40)}
    >>> rows = PoolRows.of_arrays([0, 1] * 1000, [0] * 1000 + [1] * 1000, known=known)
    >>> strata = Strata.of_rows(rows, most=0)
    >>> print(plan_strata(strata, AuditPlan(), [200], n_audits=50).assumed)
    label 1 in 3% of the rows decided 0 and 92% of those decided 1
    """
    _needs_labels(plan)
    zeros, ones = strata.known[0], strata.known[1]
    shares = []
    for b, assumed in enumerate(ASSUMED):
        mine = strata.layout.decision[0] == b
        shares.append(float((ones[mine].sum() + 10 * assumed) / ((zeros + ones)[mine].sum() + 10)))
    share = np.where(strata.layout.decision[0] == 1, shares[1], shares[0])
    left = int(strata.sizes[~strata.layout.known].sum())
    rows = [
        _planned(replace(plan, budget=budget, also=()), strata, share, n_audits)
        for budget in sorted({max(1, min(int(b), left)) for b in budgets})
    ]
    return BudgetTable(tuple(rows), _shares_in_words(shares), min(plan.budget, left))


def _needs_labels(plan: AuditPlan) -> AuditPlan:
    if not QUESTIONS[plan.metric].labels:
        raise ValueError(f"metric={plan.metric!r} needs no labels, so there is nothing to plan")
    return plan


def _shares_in_words(shares: Sequence[float]) -> str:
    return f"label 1 in {shares[0]:.0%} of the rows decided 0 and {shares[1]:.0%} of those decided 1"


def _planned(
    plan: AuditPlan, strata: Strata, share: Float, n_audits: int, *, score: bool = False
) -> PlannedBudget:
    alike, half, beyond = (
        _chances(plan, strata, share, gap * plan.tolerance, n_audits) for gap in (0.0, 0.5, 1.5)
    )
    return PlannedBudget(plan.budget, score, alike[0], half[0], beyond[1], alike[2])


def _chances(
    plan: AuditPlan, strata: Strata, share: Float, gap: float, n_audits: int
) -> tuple[float, float, float]:
    """Share of audits that certify and refute, and labels used, if two groups' rates are ``gap`` apart."""
    layout, size = strata.layout, strata.sizes.astype(np.float64)
    ones = ones_apart(size, share, layout, QUESTIONS[plan.metric], gap)
    shape, rng = (n_audits, len(size)), np.random.default_rng(plan.random_state)
    truth = Truth(np.broadcast_to(size, shape), np.broadcast_to(ones, shape))
    codes, used = play(truth, plan.schedule(float(size[~layout.known].sum())), layout, rng)
    return float(np.mean(codes == CERTIFIED)), float(np.mean(codes == REFUTED)), float(used.mean())


def ones_apart(size: Float, share: Float, layout: Layout, question: Question, gap: float) -> Float:
    """Labels 1 per stratum at about these shares, the rates of the first two groups ``gap`` apart."""
    hits = size * (share if question.labels[0] == 1 else 1 - share)
    decided = layout.decision[0] == 1
    rate = hits[decided].sum() / max(hits.sum(), 1e-9)
    whole = np.zeros_like(hits)
    for g in range(layout.n_groups + 1):  # the last are rows of unknown group
        step = {0: 0.5, 1: -0.5}.get(g, 0.0) * (gap * rate if question.ratio else gap)
        mine = layout.group == g
        total = hits[mine].sum()
        for b, wanted in ((True, rate + step), (False, 1 - rate - step)):
            part = mine & (decided == b)
            held = max(hits[part].sum(), 1e-9)
            whole[part] = np.minimum(hits[part] * max(wanted, 0.0) * total / held, size[part])
    return np.clip(np.rint(whole if question.labels[0] == 1 else size - whole), 0, size)


def null_pools(
    size: Float, hits: Float, labels: Float, tolerance: float, *, ratio: bool = False
) -> Iterator[Float]:
    """Pools with the given strata and a gap of tolerance, near what was found: labels of each stratum.

    For every ordered pair of groups, the pair's rates are put tolerance apart at three levels, and the base
    rates at three, each over plus or minus two standard errors.
    """
    none = np.zeros((1, size.size))
    counts = Counts(size.reshape(1, -1), hits.reshape(1, -1), (labels - hits).reshape(1, -1), none)
    limits = Layout.plain(len(size)).limits(counts, 0, 1, 2.0, population=False)
    low, high, known = limits.low[0], limits.high[0], np.nan_to_num(limits.rate[0], nan=0.5)
    share = (hits + 0.5) / (labels + 1)
    total = (size * share).sum(axis=-1)
    error = np.sqrt((size**2 * share * (1 - share) / np.maximum(labels, 1)).sum(axis=-1))
    for a, b in pairs(len(size)):
        centre = (known[a] + known[b]) / 2
        reach = max(high[a] - low[a], high[b] - low[b]) / 2
        levels = centre + reach * np.array([-1.0, 0.0, 1.0])
        for level in np.unique(np.clip(levels, 0.01 if ratio else tolerance / 2, 1 - tolerance / 2)):
            wanted = np.full(len(size), level)
            half = tolerance * level / (2 - tolerance) if ratio else tolerance / 2
            wanted[a], wanted[b] = level + half, level - half
            for step in (-2.0, 0.0, 2.0):
                positive = np.maximum(total + step * error, 1.0)
                pool = np.stack([positive * (1 - wanted), positive * wanted], axis=-1)
                # A stratum holds only its rows: shrink a group's labels until both parts fit.
                fit = np.minimum(1.0, (size / np.maximum(pool, 1e-9)).min(axis=-1, keepdims=True))
                whole = np.rint(pool * fit)
                if (whole.sum(axis=-1) > 0).all():
                    yield np.minimum(whole, size)


def worst_error(
    schedule: Schedule, counts: Counts, layout: Layout, n_audits: int, rng: np.random.Generator
) -> float:
    """Largest share of replayed audits that certify a pool whose gap of the first claim is tolerance.

    Strata are replayed by group and decision alone, without score, skips or noise.
    """
    claim, worst, k = schedule.claims[0], 0.0, layout.n_groups
    inside = layout.group < k
    code = (2 * layout.group + layout.decision[claim.model])[inside]
    size, ones, zeros = (
        np.bincount(code, weights=v[0, inside], minlength=2 * k).reshape(k, 2).astype(np.float64)
        for v in (counts.size, counts.ones, counts.zeros)
    )
    alone = Schedule((claim,), schedule.delta, schedule.totals, schedule.population)
    for label in claim.question.labels:
        pools = null_pools(
            size, ones if label == 1 else zeros, ones + zeros, claim.tolerance, ratio=claim.question.ratio
        )
        for pool in pools:
            truth = pool if label == 1 else size - pool
            shape = (n_audits, *size.shape)
            verdict, _ = run_audits(np.broadcast_to(size, shape), np.broadcast_to(truth, shape), alone, rng)
            worst = max(worst, float(np.mean(verdict == CERTIFIED)))
    return worst
