"""The settings of an audit, checked, and the schedule of looks they fix."""

from __future__ import annotations

import numpy as np

from fairask.certify._design import Plan
from fairask.certify._sample import check_alpha_delta
from fairask.errors import suggest
from fairask.metrics import METRICS, check_metric

__all__ = ["TARGETS", "make_plan"]

#: Whose violation a certificate bounds.
TARGETS = {
    "pool": "the pool audited, all {size:,} rows of it",
    "population": "the population of which the {size:,} rows of the pool are a random sample",
}


def make_plan(
    metric: str, alpha: float, delta: float, budget: int, looks: int, target: str, pool_size: int
) -> Plan:
    """Check an audit's settings and fix its schedule: looks at equal shares of the budget.

    Examples
    --------
    >>> make_plan("tprp", 0.1, 0.05, budget=500, looks=5, target="pool", pool_size=9000).totals
    (100, 200, 300, 400, 500)
    """
    conditions = METRICS[check_metric(metric)]
    check_alpha_delta(alpha, delta)
    if target not in TARGETS:
        raise ValueError(f"target={target!r} is unknown; {suggest(target, TARGETS)}")
    for name, value in (("budget", budget), ("looks", looks)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    top = min(int(budget), pool_size)
    totals = sorted({max(1, round(top * k / looks)) for k in range(1, looks + 1)})
    labels = tuple(label for label in conditions if label is not None)
    return Plan(labels, float(alpha), float(delta), tuple(totals), target == "population")
