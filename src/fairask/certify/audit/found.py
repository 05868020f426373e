"""What a complete look of an audit found, and the certificate it gives."""

from __future__ import annotations

import dataclasses
import math
from typing import Self

import numpy as np

from fairask.certify.audit.draws import AuditDraws
from fairask.certify.audit.plan import TARGETS, AuditPlan
from fairask.certify.audit.schedule import Schedule
from fairask.certify.bounds.stratified import rates
from fairask.certify.certificate import Certificate, labels_needed, verdict_of
from fairask.metrics import Float

__all__ = ["LookFound"]

_ASSUMPTIONS = (
    "The model was fixed before the audit began, and no row of the audited pool trained it.",
    "The labels told are right, and every row asked for was labelled.",
    "Rows were drawn by the audit, uniformly within each (group, prediction), and looked at on schedule.",
)
_DRAWN = "The classifier is randomised: each decision was drawn once with a fixed seed; those are audited."


@dataclasses.dataclass(frozen=True)
class LookFound:
    """Counts by stratum at a look, and (estimate, lower, upper) by target; look 0 knows nothing."""

    number: int
    size: Float
    ones: Float
    labels: Float
    bounds: dict[str, tuple[float, float, float]]

    @classmethod
    def at(cls, number: int, draws: AuditDraws, schedule: Schedule, before: LookFound | None) -> Self:
        """Compute a look; the one ``before`` is returned if nothing changed."""
        counts = draws.counts(number)
        if isinstance(before, cls) and before.number == number and before.has(*counts):
            return before
        bounds = dict.fromkeys(TARGETS, (math.nan, 0.0, 1.0))
        for target in TARGETS if number else ():
            b = dataclasses.replace(schedule, population=target == "population").bounds(*counts, number - 1)
            bounds[target] = (float(b.estimate[0]), float(b.lower[0]), float(b.upper[0]))
        return cls(number, *counts, bounds)

    def has(self, *counts: Float) -> bool:
        """Whether these are the counts of the look."""
        return all(map(np.array_equal, counts, (self.size, self.ones, self.labels)))

    def decides(self, plan: AuditPlan) -> bool:
        """Whether the bounds for the plan's target lie on one side of its tolerance."""
        _, lower, upper = self.bounds[plan.target]
        return verdict_of(lower, upper, plan.alpha) != "undecided"

    def certificate(self, target: str, plan: AuditPlan, draws: AuditDraws) -> Certificate:
        """Return the certificate for the pool or the population."""
        estimate, lower, upper = self.bounds[target]
        n, zeros = int(self.labels.sum()), self.labels - self.ones
        hits = {"tpr": self.ones, "fpr": zeros}
        compared = {"tprp": ["tpr"], "fprp": ["fpr"], "eo": ["tpr", "fpr"]}[plan.metric]
        more = labels_needed(estimate, lower, upper, plan.alpha, plan.delta, n) if n else None
        if more and target == "pool":
            more = min(more, draws.pool_size - n)
        return Certificate(
            estimate=estimate,
            lower=lower,
            upper=upper,
            verdict=verdict_of(lower, upper, plan.alpha),
            metric=plan.metric,
            alpha=plan.alpha,
            delta=plan.delta,
            method="stratified",
            valid="asymptotic",
            assumptions=_assumptions(target, draws),
            target=TARGETS[target].format(size=draws.pool_size),
            n_labels=n,
            groups=tuple(draws.strata.groups),
            positives=tuple(int(v) for v in self.ones[0].sum(axis=1)),
            negatives=tuple(int(v) for v in zeros[0].sum(axis=1)),
            rates={
                name: tuple(map(float, rates(self.size, hits[name], self.labels)[0])) for name in compared
            },
            more_labels=more,
        )

    def _rates(self, hits: Float) -> Float:
        return np.asarray(rates(self.size, hits, self.labels)[0])


def _assumptions(target: str, draws: AuditDraws) -> tuple[str, ...]:
    found = [*_ASSUMPTIONS, *([_DRAWN] if draws.strata.drawn else [])]
    if target == "population":
        found.append("The pool is a random sample of the population.")
    if left_out := len(draws.strata.left_out):
        found.append(f"{left_out:,} rows that trained the model were left out.")
    if draws.skipped:
        found.append(f"{draws.skipped:,} rows could not be labelled and were left out; others replaced them.")
    return tuple(found)
