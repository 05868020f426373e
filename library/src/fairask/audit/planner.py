"""What each budget buys, before any label is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.plan import AuditPlan, PlanSettings
from fairask.audit.questions import QUESTIONS
from fairask.audit.simulate import CERTIFIED, REFUTED, Truth, play
from fairask.audit.strata import Strata, split_groups
from fairask.metrics import Float

BUDGETS = (100, 200, 400, 800, 1600, 3200)

#: Share of label 1 among rows decided 0 and 1, where no score says more.
ASSUMED = (0.1, 0.75)


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
                shown = [format(vars(plan)[field], form) for plan in plans]
                cells += f"{shown[0]:>{width - 7}}{shown[1]:>7}" if kinds else f"{shown[0]:>{width}}"
            lines.append(f"{'>' if budget == self.given else '':<2}{budget:>7,}{cells}")
        if self.given in self.by_budget:
            lines.append("> the budget of this plan, at most the whole pool.")
        return "\n".join([*lines, f"Assumed: {self.assumed}."])

    def to_svg(self) -> str:
        """Return a plot of the chance to certify by budget: groups alike, and half a tolerance apart."""
        budgets = list(self.by_budget)
        span = np.log2([max(budgets[0] / 1.3, 1), budgets[-1] * 1.1])

        def x(budget: int) -> float:
            return float(70 + 480 * (np.log2(budget) - span[0]) / (span[1] - span[0]))

        def y(chance: float) -> float:
            return 330 - 220 * chance

        parts = ['<rect width="600" height="400" fill="#fff"/>']
        for v in (0.0, 0.25, 0.5, 0.75, 1.0):
            parts.append(f'<path d="M70 {y(v):.1f}H550" stroke="#ddd"/>')
            parts.append(f'<text x="62" y="{y(v) + 4:.1f}" text-anchor="end">{v:.0%}</text>')
        for budget in budgets:
            if budget != self.given:
                parts.append(f'<text x="{x(budget):.1f}" y="348" text-anchor="middle">{budget:,}</text>')
        if self.given in self.by_budget:
            at = f"{x(self.given):.1f}"
            parts.append(f'<path d="M{at} 104V330" stroke="#333" stroke-dasharray="2 3"/>')
            parts.append(
                f'<text x="{at}" y="364" text-anchor="middle" font-weight="bold">plan: {self.given:,}</text>'
            )
        parts.append(
            '<text x="310" y="388" text-anchor="middle">budget, in labels (each step doubles it)</text>'
        )
        parts.append('<text x="70" y="22" font-size="14" font-weight="bold">Chance of a certificate</text>')
        line = 0
        for score, colour in ((True, "#2166ac"), (False, "#b35806")):
            plans = [row for row in self.rows if row.score == score]
            for field, words, dash in (
                ("certify_alike", "groups are alike", ""),
                ("certify_half", "groups are half the tolerance apart", ' stroke-dasharray="7 4"'),
            ):
                if not plans:
                    continue
                points = " ".join(f"{x(p.budget):.1f},{y(vars(p)[field]):.1f}" for p in plans)
                style = f'fill="none" stroke="{colour}" stroke-width="2.5"{dash}'
                parts.append(f'<polyline points="{points}" {style}/>')
                high = 40 + 17 * line
                parts.append(f'<path d="M70 {high}H104" {style}/>')
                kind = "with the score" if score else "without a score"
                parts.append(f'<text x="112" y="{high + 4}">{kind}, {words}</text>')
                line += 1
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 400" font-family="sans-serif" '
            'font-size="12" fill="#222" role="img" aria-label="Chance of a certificate by budget">'
            f"{''.join(parts)}</svg>\n"
        )


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
    names, _ = split_groups(groups)
    values = None if score is None else np.asarray(score, dtype=np.float64)
    chance = values is not None and bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)
    rows = []
    for budget in sorted({min(int(b), len(np.asarray(groups))) for b in budgets}):
        for used in (None,) if values is None else (None, values):
            now = replace(asked, budget=budget, also=())
            bins = 1 if used is None else now.score_bins(len(names))
            strata = Strata.of_rows(pred, groups, None, pos_label, now.random_state, None, used, bins)
            share = np.where(strata.layout.decision[0] == 1, ASSUMED[1], ASSUMED[0])
            if chance and values is not None:
                share = np.array([np.nanmean(values[q]) if len(q) else 0.5 for q in strata.queues])
            rows.append(_planned(now, strata, share, n_audits, score=used is not None))
    assumed = (
        "the score is the chance of label 1, and groups have the same base rates as it says"
        if chance
        else _shares_in_words(ASSUMED)
    )
    return BudgetTable(tuple(rows), assumed, min(asked.budget, len(np.asarray(groups))))


def plan_strata(
    strata: Strata, plan: AuditPlan, budgets: Sequence[int] = BUDGETS, n_audits: int = 300
) -> BudgetTable:
    """Say what each budget would buy on strata some of whose labels are known, as in :func:`plan_audit`.

    The shares of label 1 are those among the known labels, ``ASSUMED`` counting as ten labels more.

    Examples
    --------
    >>> known = {row: row % 2 for row in range(40)}
    >>> strata = Strata.of_rows([0, 1] * 1000, [0] * 1000 + [1] * 1000, known=known)
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
    question = QUESTIONS[plan.metric]
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
    ones = np.rint(whole if question.labels[0] == 1 else size - whole)
    shape, rng = (n_audits, len(size)), np.random.default_rng(plan.random_state)
    truth = Truth(np.broadcast_to(size, shape), np.broadcast_to(np.clip(ones, 0, size), shape))
    codes, used = play(truth, plan.schedule(float(size[~layout.known].sum())), layout, rng)
    return float(np.mean(codes == CERTIFIED)), float(np.mean(codes == REFUTED)), float(used.mean())
