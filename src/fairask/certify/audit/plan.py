"""The plan of an audit: everything that is fixed before the first label is drawn."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from fairask.certify.audit.schedule import Schedule
from fairask.checks import check_choice, check_count, check_share
from fairask.metrics import METRICS, Metric, check_metric

__all__ = ["TARGETS", "AuditPlan", "PlanSettings"]

#: Whose violation a certificate bounds.
TARGETS = {
    "pool": "the pool audited, all {size:,} rows of it",
    "population": "the population of which the {size:,} rows of the pool are a random sample",
}


class PlanSettings(TypedDict, total=False):
    """The fields of :class:`AuditPlan` as keywords."""

    metric: Metric
    alpha: float
    delta: float
    budget: int
    looks: int
    target: str
    random_state: int


@dataclass(frozen=True)
class AuditPlan:
    """What an audit is asked for.

    Attributes
    ----------
    metric, alpha, delta : str, float, float
        Violation, tolerance and probability of error.
    budget : int
        Most labels the audit may ask for.
    looks : int
        Batches the budget is cut into; the first is the pilot.
    target : {"pool", "population"}
        Whose violation decides when to stop. Both are reported.
    random_state : int
        Seed of the draws.

    Examples
    --------
    >>> AuditPlan(budget=500).schedule(9000).totals
    (100, 200, 300, 400, 500)
    """

    metric: Metric = "tprp"
    alpha: float = 0.1
    delta: float = 0.05
    budget: int = 1000
    looks: int = 5
    target: str = "pool"
    random_state: int = 0

    def __post_init__(self) -> None:
        check_metric(self.metric)
        check_choice(self.target, "target", TARGETS)
        checked = {
            "alpha": check_share(self.alpha, "alpha"),
            "delta": check_share(self.delta, "delta"),
            "budget": check_count(self.budget, "budget"),
            "looks": check_count(self.looks, "looks"),
            "random_state": check_count(self.random_state, "random_state", least=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, plan: AuditPlan | None, settings: PlanSettings) -> AuditPlan:
        """Return ``plan`` or, without one, the plan with these settings."""
        if plan is not None and settings:
            raise TypeError(f"plan and {', '.join(settings)} were given: use dataclasses.replace(plan, ...)")
        return cls(**settings) if plan is None else plan

    def schedule(self, pool_size: int) -> Schedule:
        """Return the looks at a pool of so many rows: at equal shares of the budget."""
        top = min(self.budget, pool_size)
        totals = sorted({max(1, round(top * k / self.looks)) for k in range(1, self.looks + 1)})
        labels = tuple(label for label in METRICS[self.metric] if label is not None)
        return Schedule(labels, self.alpha, self.delta, tuple(totals), self.target == "population")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; ``AuditPlan(**values)`` is the same plan."""
        return asdict(self)
