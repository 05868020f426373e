"""What a complete look of an audit found, and the certificate it gives."""

from __future__ import annotations

import dataclasses
import math
from typing import Self

import numpy as np

from fairask.audit.certificate import Certificate, GroupComparison, verdict_of
from fairask.audit.draws import AuditDraws
from fairask.audit.layout import FEWEST, Counts, Layout
from fairask.audit.plan import TARGETS, AuditPlan
from fairask.audit.schedule import Bounds, Claim, Schedule
from fairask.metrics import Int

_ASSUMPTIONS = (
    "The model was fixed before the audit began, and no row that was asked for trained it.",
    "The labels told are right, and every row asked for was labelled.",
    "Rows were drawn by the audit, uniformly within each (group, prediction), and looked at on schedule.",
)
_DRAWN = "The classifier is randomised: each decision was drawn once with a fixed seed; those are audited."
_RATES = {1: "tpr", 0: "fpr"}


@dataclasses.dataclass(frozen=True)
class LookFound:
    """Counts by stratum at a look; by target, verdicts and bounds of all claims. Look 0 knows nothing."""

    number: int
    counts: Counts
    codes: dict[str, Int]
    bounds: dict[str, list[Bounds]]

    @classmethod
    def at(
        cls, number: int, draws: AuditDraws, schedule: Schedule, layout: Layout, before: LookFound | None
    ) -> Self:
        """Compute a look; the one ``before`` is returned if nothing changed."""
        counts = draws.counts(number)
        if isinstance(before, cls) and before.number == number and before.has(counts):
            return before
        codes: dict[str, Int] = {}
        bounds: dict[str, list[Bounds]] = {}
        n, nothing = len(schedule.claims), np.full(1, math.nan)
        for target in TARGETS:
            earlier = np.zeros((1, n), dtype=np.int64)
            if before is not None and 0 < before.number < number and n > 1:
                earlier = before.codes[target]
            codes[target] = earlier
            bounds[target] = [Bounds(nothing, np.zeros(1), np.ones(1), (nothing, nothing, nothing))] * n
            if number and n:
                asked = dataclasses.replace(schedule, population=target == "population")
                codes[target], now = asked.verdicts(counts, layout, number - 1, earlier)
                kept = before.bounds[target] if before is not None and earlier.any() else now
                bounds[target] = [k if e else b for k, e, b in zip(kept, earlier[0], now, strict=True)]
        return cls(number, counts, codes, bounds)

    def has(self, counts: Counts) -> bool:
        """Whether these are the counts of the look."""
        mine = (self.counts.ones, self.counts.zeros, self.counts.skipped)
        return all(map(np.array_equal, mine, (counts.ones, counts.zeros, counts.skipped)))

    def decides(self, plan: AuditPlan) -> bool:
        """Whether all claims about the plan's target are decided."""
        return self.number > 0 and bool((self.codes[plan.target] > 0).all())

    def certificate(
        self, target: str, claim: int, schedule: Schedule, draws: AuditDraws, layout: Layout
    ) -> Certificate:
        """Return the certificate of a claim for the pool or the population."""
        asked, found, counts = schedule.claims[claim], self.bounds[target][claim], self.counts
        names = [*map(str, draws.strata.groups)]
        own = layout.members[: layout.n_groups]
        labels = asked.question.labels
        told = int((counts.ones + counts.zeros - draws.strata.known[:2].sum(axis=0)).sum())
        ones, zeros = (own @ v[0] for v in (counts.ones, counts.zeros))
        rates = {}
        for label in labels:
            limits = layout.limits(counts, asked.model, label, 1.0, population=False)
            rates[_RATES[label]] = tuple(map(float, limits.rate[0, : layout.n_groups]))
        few = [ones if label == 1 else zeros for label in labels]
        finished = own @ (counts.size - counts.labels)[0] == 0
        unclear = [
            name
            for g, name in enumerate(names)
            if any(v[g] == 0 or (v[g] < FEWEST and not (finished[g] and target == "pool")) for v in few)
        ]
        return Certificate.of(
            (float(found.estimate[0]), float(found.lower[0]), float(found.upper[0])),
            metric=asked.metric,
            tolerance=asked.tolerance,
            delta=schedule.delta,
            method="stratified",
            valid="asymptotic",
            assumptions=_assumptions(target, draws, layout, schedule),
            target=TARGETS[target].format(size=draws.pool_size),
            n_labels=told,
            groups=tuple(draws.strata.groups),
            positives=tuple(int(v) for v in ones),
            negatives=tuple(int(v) for v in zeros),
            rates=rates,
            most=draws.pool_size - told if target == "pool" else None,
            comparisons=_comparisons(found, asked, names, layout) if self.number else (),
            unclear=tuple(unclear),
            skipped=draws.skipped,
            corrected=len(draws.corrected),
            unknown_groups=int(counts.size[0, layout.group == layout.n_groups].sum()),
            model=asked.model,
        )


def _comparisons(
    found: Bounds, asked: Claim, names: list[str], layout: Layout
) -> tuple[GroupComparison, ...]:
    """Every pair of groups, or each group and the rest."""
    shown = [*names, *(f"all but {name}" for name in names)] if layout.rest else names
    pairs = zip(*layout.pairs, *(v[0] for v in found.by_pair), strict=True)
    return tuple(
        GroupComparison(
            shown[a],
            shown[b],
            float(e),
            max(float(low), -1.0),
            float(up),
            verdict_of(low, up, asked.tolerance),
        )
        for a, b, e, low, up in pairs
    )


def _assumptions(target: str, draws: AuditDraws, layout: Layout, schedule: Schedule) -> tuple[str, ...]:
    strata = draws.strata
    first, right, drawn_by = _ASSUMPTIONS
    lost, noisy = draws.skipped, bool(layout.noise.any())
    if noisy:
        right = "Labels told are wrong with the stated probability, whatever the decision: " + "; ".join(
            f"{name} {low:.1%}" if low == high else f"{name} {low:.1%} to {high:.1%}"
            for name, low, high in zip(strata.groups, *layout.noise[:, :-1], strict=True)
        ) + ". The bounds are widened for it."  # fmt: skip
    elif lost:
        right = "The labels told are right."
    if layout.prior is not None or len(np.unique(layout.parent[~layout.known])) < (~layout.known).sum():
        drawn_by = drawn_by.replace("(group, prediction)", "(group, prediction, bin of the score)")
    found = [first, right, drawn_by, *([_DRAWN] if strata.drawn else [])]
    if target == "population":
        found.append("The pool is a random sample of the population.")
    if known := int(strata.known.sum()):
        found.append(
            f"{known:,} rows had labels before the audit, those that trained the model among them: they are "
            "counted whole, with the model's decisions as they are"
            + (
                ". If the model fits its training rows better than others, that flatters it."
                if target == "population"
                else "."
            )
        )
    if left_out := len(strata.left_out):
        found.append(f"{left_out:,} rows that trained the model were left out.")
    if lost:
        found.append(f"{lost:,} rows could not be labelled: the bounds hold whatever their labels are.")
    if n := len(draws.corrected):
        found.append(
            f"{n:,} labels were changed after a look had used them, because they were wrong, whatever the "
            "verdict."
        )
    if n := int(strata.sizes[layout.group == layout.n_groups].sum()):
        share = n / max(draws.pool_size, 1)
        found.append(
            f"The group of {n:,} rows ({share:.1%}) is unknown: the bounds hold whichever they belong to."
        )
    if (n := len(schedule.claims)) > 1:
        found.append(f"{n} claims share the error: all verdicts hold together (Holm).")
    return tuple(found)
