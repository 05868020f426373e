"""The plan of an audit: everything that is fixed before the first label is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from fairask.audit.binning import bins_for
from fairask.audit.questions import COMPARISONS, AuditMetric, check_question
from fairask.audit.schedule import Claim, Schedule
from fairask.checks import check_choice, check_count, check_number, check_share, renamed

#: Whose violation a certificate bounds.
TARGETS = {
    "pool": "the pool audited, all {size:,} rows of it",
    "population": "the population of which the {size:,} rows of the pool are a random sample",
}


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
        Violation, tolerance and probability of error. Of a ratio, ``tolerance`` is 1 minus the least ratio
        allowed: 0.2 for four fifths.
    budget : int
        Most labels the audit may ask for, or their cost where labels have one.
    looks : int
        Batches the budget is cut into; the first is the pilot.
    target : {"pool", "population"}
        Whose violation decides when to stop. Both are reported.
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
            "looks": check_count(self.looks, "looks"),
            "random_state": check_count(self.random_state, "random_state", least=0),
            "bins": check_count(self.bins, "bins"),
            "also": tuple(self.also),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self.claims()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AuditPlan:
        """Rebuild a plan from :meth:`to_dict`, also as 0.1.0 wrote it.

        Examples
        --------
        >>> AuditPlan.from_dict({"alpha": 0.2, "budget": 50}).tolerance
        0.2
        """
        return cls(**{"tolerance" if name == "alpha" else name: value for name, value in values.items()})

    @classmethod
    def of(cls, plan: AuditPlan | None, settings: PlanSettings) -> AuditPlan:
        """Return ``plan`` or, without one, the plan with these settings."""
        if plan is not None and settings:
            raise TypeError(f"plan and {', '.join(settings)} were given: use dataclasses.replace(plan, ...)")
        return plan if plan is not None else renamed("alpha", "tolerance")(AuditPlan)(**settings)

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

    def schedule(self, pool_size: float, models: int = 1) -> Schedule:
        """Return the looks at a pool of so many rows: at equal shares of the budget."""
        top = min(self.budget, pool_size)
        totals = sorted({max(1, round(top * k / self.looks)) for k in range(1, self.looks + 1)})
        claims = tuple(claim for claim in self.claims(models) if claim.question.labels)
        return Schedule(claims, self.delta, tuple(totals), self.target == "population")

    def score_bins(self, groups: int, models: int = 1) -> int:
        """Bins of a score within each group and decision that the pilot can bear.

        Examples
        --------
        >>> AuditPlan(budget=500).score_bins(2), AuditPlan(budget=100).score_bins(2)
        (4, 1)
        """
        return bins_for(self.budget // self.looks, 2**models * groups, self.bins)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; :meth:`from_dict` gives the same plan."""
        return asdict(self) | {"also": list(self.also)}
