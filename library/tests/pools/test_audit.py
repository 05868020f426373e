"""The audit asks for the same rows wherever they are, and its verdict is the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from library.tests.pools.test_same_draws import campaign

from fairask.audit import Audit, certify
from fairask.audit.sample import parity
from fairask.matrix import uniforms
from fairask.pools import Pool
from fairask.rules import ConstantRule, LinearRule, RuleMixture

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]

RULE = LinearRule(np.array([1.0, -0.5, 0.2, 0.0, 0.0, 0.1]))
MIXTURE = RuleMixture()
MIXTURE.members_ = [RULE, LinearRule(np.array([0.2, 1.0, 0.0, 0.0, 0.0, 0.0])), ConstantRule(False)]
MIXTURE.weights_ = np.array([0.6, 0.4, 0.0])


def play(audit: Any, y: Any) -> list[list[int]]:
    """Every batch of rows the audit asks for."""
    asked = []
    while not audit.done:
        rows = audit.ask().indices
        asked.append(rows.tolist())
        audit.tell(rows, y[rows])
    return asked


@pytest.mark.parametrize("model", [RULE, MIXTURE], ids=["fixed", "randomised"])
@pytest.mark.parametrize("metric", ["eo", "tprp", "dp"])
def test_every_pool_is_audited_alike(model: Any, metric: str, pools: Mapping[str, Any], rows: Any) -> None:
    settings: dict[str, Any] = {
        "metric": metric, "budget": 300, "looks": 3, "trained_on": np.arange(50), "random_state": 4,
    }  # fmt: skip
    audits = {name: Audit.of_pool(pool, model, **settings) for name, pool in pools.items()}
    asked = {name: play(audit, rows[2]) for name, audit in audits.items()}
    first = audits["arrays"]
    assert metric == "dp" or min(map(min, asked["arrays"])) >= 50
    for name, audit in audits.items():
        assert asked[name] == asked["arrays"], name
        for target in ("pool", "population"):
            assert audit.certificate(target) == first.certificate(target), name
        assert audit.to_dict() == first.to_dict(), name


def test_the_learner_s_model_is_audited_alike_on_every_pool(pools: Mapping[str, Any], rows: Any) -> None:
    found = {}
    for name, pool in pools.items():
        learner = campaign(pool, "fare", rows[2], rounds=1)
        found[name] = play(learner.audit(400, looks=2), rows[2]), learner.certify(), learner.labelled_indices_
    asked, certificate, trained = found["arrays"]
    assert sum(map(len, asked)) == certificate.n_labels > 100
    assert not set(trained.tolist()) & {row for batch in asked for row in batch}
    for name, (batches, verdict, _) in found.items():
        assert batches == asked, name
        assert verdict == certificate, name


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


def test_an_audit_of_a_pool_resumes_and_refuses_another_pool(pools: Mapping[str, Any], rows: Any) -> None:
    audit = Audit.of_pool(pools["parquet folder"], RULE, budget=200, looks=2)
    some = audit.ask().indices[:30]
    audit.tell(some, rows[2][some])
    state = json.loads(json.dumps(audit.to_dict()))
    again = Audit.of_pool(pools["dask frame"], RULE, **state["settings"]).resume(state)
    assert again.ask().indices.tolist() == audit.ask().indices.tolist()
    assert again.n_labels == 30
    smaller = pools["arrays"].excluding([int(some[0])])
    with pytest.raises(ValueError, match="the pool differs"):
        Audit.of_pool(smaller, RULE, **state["settings"]).resume(state)
    with pytest.raises(ValueError, match="or the settings do"):
        Audit.of_pool(pools["arrays"], RULE, **{**state["settings"], "tolerance": 0.2}).resume(state)


def test_wrong_settings_are_found_before_the_pool_is_read(pools: Mapping[str, Any]) -> None:
    pool = pools["parquet file"]
    pool.progress = lambda _: pytest.fail("the pool was read")
    for wrong, message in (
        ({"budget": 0}, "budget"),
        ({"tolerance": 2.0}, "tolerance"),
        ({"target": "x"}, "target"),
    ):
        with pytest.raises(ValueError, match=message):
            Audit.of_pool(pool, RULE, **wrong)
    with pytest.raises(ValueError, match="no row 3000"):
        Audit.of_pool(pool, RULE, trained_on=[3000])


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
