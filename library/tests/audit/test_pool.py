"""An audit of a pool by a model's decisions, and parity from counts alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fairask.audit import Audit, certify
from fairask.audit.labelled_rows import parity
from fairask.matrix import uniforms
from fairask.pools import Pool
from fairask.rules import ConstantRule, LinearRule, RuleMixture

RULE = LinearRule(np.array([1.0, -0.5, 0.2, 0.0, 0.0, 0.1]))
MIXTURE = RuleMixture()
MIXTURE.members_ = [RULE, LinearRule(np.array([0.2, 1.0, 0.0, 0.0, 0.0, 0.0])), ConstantRule(False)]
MIXTURE.weights_ = np.array([0.6, 0.4, 0.0])


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(3000, 5)), rng.integers(0, 3, 3000)
    return X, groups, (X[:, 0] + rng.normal(size=3000) > 0).astype(int)


def finished(audit: Audit, y: Any) -> Audit:
    while not audit.done:
        asked = audit.ask().indices
        assert asked.min() >= 50
        audit.tell(asked, y[asked])
    return audit


@pytest.mark.parametrize("model", [RULE, MIXTURE], ids=["fixed", "randomised"])
@pytest.mark.parametrize("metric", ["eo", "tprp", "dp"])
def test_a_pool_is_audited_by_the_model_s_decisions(model: Any, metric: Any, rows: Any) -> None:
    X, groups, y = rows
    settings: dict[str, Any] = {"metric": metric, "budget": 300, "looks": 3, "random_state": 4}
    made = [
        finished(Audit.of_pool(Pool(X, groups, 3), model, trained_on=np.arange(50), **settings), y)
        for _ in range(2)
    ]
    assert made[0].to_dict() == made[1].to_dict()
    assert made[0].certificate() == made[1].certificate()
    assert made[0].pool_size == 2950


def test_a_randomised_model_s_decisions_are_drawn_with_its_probabilities(rows: Any) -> None:
    X, groups, _ = rows
    cells = Pool(X, groups, 3).by_decision(MIXTURE, seed=9)
    first, second = (rule.decide(X) for rule in MIXTURE.members_[:2])
    split = first & ~second
    drawn = np.zeros(len(X), dtype=bool)
    at, cell = cells.rows, cells.cell
    drawn[at] = cells.patterns[0][cell]
    assert drawn[first & second].all()
    assert not drawn[~first & ~second].any()
    assert (drawn[split] == (uniforms(np.flatnonzero(split), 9) < 0.6)).all()
    # 0.6 give or take five standard errors.
    assert abs(drawn[split].mean() - 0.6) < 5 * np.sqrt(0.24 / split.sum())
    other = Pool(X, groups, 3).by_decision(MIXTURE, seed=10)
    assert other.counts.tolist() != cells.counts.tolist()


def test_an_audit_of_a_pool_resumes_and_refuses_another_pool(rows: Any) -> None:
    X, groups, y = rows
    audit = Audit.of_pool(Pool(X, groups, 3), RULE, budget=200, looks=2)
    some = audit.ask().indices[:30]
    audit.tell(some, y[some])
    state = json.loads(json.dumps(audit.to_dict()))
    again = Audit.of_pool(Pool(X, groups, 3), RULE, **state["settings"]).resume(state)
    assert again.ask().indices.tolist() == audit.ask().indices.tolist()
    assert again.n_labels == 30
    smaller = Pool(X, groups, 3).excluding([int(some[0])])
    with pytest.raises(ValueError, match="the pool differs"):
        Audit.of_pool(smaller, RULE, **state["settings"]).resume(state)
    with pytest.raises(ValueError, match="or the settings do"):
        Audit.of_pool(Pool(X, groups, 3), RULE, **{**state["settings"], "tolerance": 0.2}).resume(state)


def test_a_pool_whose_every_row_trained_the_model_is_refused(rows: Any) -> None:
    X, groups, _ = rows
    with pytest.raises(ValueError, match="every row trained the model"):
        Audit.of_pool(Pool(X, groups, 3), RULE, trained_on=np.arange(len(X)))


def test_parity_from_counts_is_parity_from_rows(rows: Any) -> None:
    X, groups, _ = rows
    decision = RULE.decide(X)
    sizes = np.bincount(2 * groups + decision, minlength=6)
    for target, method in (("pool", "known"), ("population", "exact")):
        whole = certify(None, decision.astype(float), groups.astype(str), "dp", 0.1, 0.05, method)
        assert parity([0, 1, 2], sizes, target, 0.1, 0.05) == whole


def test_parity_of_many_millions_needs_no_row_each() -> None:
    sizes = np.array([6, 4, 5, 5]) * 10**9
    found = parity(["a", "b"], sizes, "population", 0.12, 0.05)
    assert found.method == "clopper-pearson"
    assert found.estimate == pytest.approx(0.1)
    assert 0.0999 < found.lower <= found.estimate <= found.upper < 0.1001
