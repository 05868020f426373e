"""Audits at their edges: pools that are labelled whole, and inputs that cannot be audited."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.certificate_hostile import HOSTILE
from benchmarks.certificate_runs import audited
from fairask.audit import Audit
from fairask.audit.plan import AuditPlan
from fairask.errors import UserError


def pool(rng: np.random.Generator, n: int, k: int) -> tuple[Any, Any, Any]:
    g, y = rng.integers(0, k, n), (rng.random(n) < rng.uniform(0.3, 0.7)).astype(int)
    chance = np.where(y == 1, rng.uniform(0.4, 0.9, k)[g], rng.uniform(0.1, 0.5, k)[g])
    return y, (rng.random(n) < chance).astype(int), np.array(list("abc"))[g].astype(object)


def gap_of(y: Any, pred: Any, groups: Any, metric: str) -> float:
    """Count by hand."""
    gaps = []
    for label in {"tprp": [1], "fprp": [0], "eo": [0, 1], "tpr-ratio": [1]}[metric]:
        rates = [pred[(groups == g) & (y == label)].mean() for g in np.unique(groups)]
        gaps.append(1 - min(rates) / max(rates) if "ratio" in metric else max(rates) - min(rates))
    return float(max(gaps))


def decided(audit: Audit, y: Any, skip: frozenset[int] = frozenset()) -> Any:
    while not audit.done:
        rows = audit.ask().indices
        lost = [int(i) for i in rows if int(i) in skip]
        told = [int(i) for i in rows if int(i) not in skip]
        if lost:
            audit.skip(lost)
        if told:
            audit.tell(told, y[told])
    return audit.certificate()


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo", "tpr-ratio"])
def test_a_pool_that_is_labelled_whole_is_always_decided_and_exactly(metric: str) -> None:
    rng = np.random.default_rng(3)
    for step in (-0.001, 0.0, 0.001):
        n, k = int(rng.integers(60, 150)), int(rng.integers(2, 4))
        y, pred, g = pool(rng, n, k)
        true = gap_of(y, pred, g, metric)
        score, cost = rng.random(n), rng.uniform(0.5, 2, n)
        audit = Audit(
            pred, g, metric=metric, tolerance=true + step, budget=10 * n, delta=1e-6, score=score, cost=cost
        )
        found = decided(audit, y)
        assert found.verdict == ("refuted" if step < 0 else "certified")
        assert found.lower == pytest.approx(true, abs=1e-9)
        assert found.upper == pytest.approx(true, abs=1e-9)


def test_rows_without_a_label_or_a_group_keep_a_census_from_being_exact() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        y, pred, g = pool(rng, 120, 2)
        true, shown = gap_of(y, pred, g, "tprp"), g.copy()
        shown[rng.choice(120, 3, replace=False)] = None
        skip = frozenset(map(int, rng.choice(120, 3, replace=False)))
        for groups, lost in ((shown, frozenset[int]()), (g, skip)):
            audit = Audit(pred, groups, tolerance=true + 0.001, budget=10_000, delta=1e-6)
            found = decided(audit, y, lost)
            assert found.lower - 1e-9 <= true <= found.upper + 1e-9
            assert found.lower < found.upper


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": np.zeros(60)}, "cost must be above zero"),
        ({"cost": np.full(60, math.nan)}, "cost must be above zero"),
        ({"cost": np.full(60, 1000.0)}, "budget=50 buys no label"),
        ({"score": np.full(60, math.nan)}, "score has no number"),
        ({"score": ["high"] * 60}, "score holds values that are no numbers"),
        ({"known": dict.fromkeys(range(60), 1)}, "every row of the pool has a label already"),
    ],
)
def test_inputs_that_cannot_be_used_are_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Audit([0, 1] * 30, ["a", "a", "b", "b"] * 15, budget=50, **change)


def test_an_empty_pool_and_an_error_beyond_sense_are_named() -> None:
    with pytest.raises(UserError, match="the pool has no rows"):
        Audit([], [])
    for delta in (0.6, 1e-12):
        with pytest.raises(ValueError, match="delta"):
            AuditPlan(delta=delta)
    assert AuditPlan(delta=0.5).delta == 0.5


def test_the_benchmark_s_hostile_scenario_of_three_models_is_an_audit():
    (several,) = (s for s in HOSTILE if s.models == 3)
    assert audited(several, 2, "certified", 0)["gap"] == pytest.approx(0.08)
