"""Digests of draws and models: the same seeds must give the same rows and the same decisions.

``OPENBLAS_CORETYPE=Haswell python -m tests.compat.digests`` writes ``digests.json``. Run it only when a
change is meant to alter draws. With names of cases it prints their digests instead.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairask import CalibratedFairOracle, EmpiricalFairOracle, FairActiveLearner
from fairask.certify import Audit
from fairask.datasets import load
from fairask.pools import open_pool

FILE = Path(__file__).with_name("digests.json")

CASES: dict[str, Callable[[], dict[str, Any]]] = {}


def _digest(*arrays: Any) -> str:
    text = json.dumps([np.asarray(array).tolist() for array in arrays])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _learned(learner: FairActiveLearner, y: Any, X: Any, groups: Any, rounds: int = 3) -> dict[str, Any]:
    draws, propensities = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rounds):
            query = learner.ask()
            draws.append(query.indices)
            propensities.append(np.round(query.propensities, 7))
            learner.tell(query.indices, y[query.indices])
        decisions = learner.model_.predict_proba(X, sensitive_features=groups)[:, 1]
    return {
        "draws": _digest(*draws),
        "propensities": _digest(*propensities),
        "decisions": _digest(np.round(decisions, 6)),
        "violation": round(float(learner.model_.violation_), 6),
    }


def _learner_case(name: str, data: str, rows: int, **settings: Any) -> None:
    def run() -> dict[str, Any]:
        table = load(data)
        X, y, groups = table.X[:rows], table.y[:rows], table.groups[:rows]
        learner = FairActiveLearner(X, groups, random_state=7, **settings)
        return _learned(learner, y, X, groups)

    CASES[name] = run


for _metric in ("tprp", "fprp", "eo", "dp"):
    # The calibrated cases name their parts, so that a new default does not count as a change of engine.
    _learner_case(
        f"german-calibrated-{_metric}",
        "german",
        1000,
        metric=_metric,
        batch_size=40,
        oracle=CalibratedFairOracle("linear"),
        strategy="fare",
        strategy_params={"perturbation": "bootstrap", "diff_share": "adaptive"},
    )
    _learner_case(f"german-paper-{_metric}", "german", 1000, metric=_metric, batch_size=40, profile="paper")
for _strategy in ("passive", "group_balanced", "uncertainty", "fal", "falcur", "falcon"):
    _learner_case(f"german-{_strategy}", "german", 1000, batch_size=30, strategy=_strategy, profile="paper")
_learner_case("adult-paper", "adult", 6000, batch_size=50, profile="paper")
_learner_case(
    "adult-blind",
    "adult",
    3000,
    batch_size=50,
    oracle=CalibratedFairOracle("linear", blind=True),
    strategy_params={"perturbation": "bootstrap"},
)


def _streamed() -> dict[str, Any]:
    table = load("german")
    columns = {f"x{j}": table.X[:, j] for j in range(table.X.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/pool.parquet"
        pq.write_table(pa.table({**columns, "sex": table.groups}), place, row_group_size=128)
        pool = open_pool(place, "sex", list(columns), preprocess="none")
        return _learned_from(pool, table)


def _learned_from(pool: Any, table: Any) -> dict[str, Any]:
    learner = FairActiveLearner(pool, random_state=7, batch_size=40, profile="paper")
    return _learned(learner, table.y, table.X, table.groups)


def _adult() -> dict[str, Any]:
    table = load("adult")
    return {"X": _digest(table.X[:500]), "y": _digest(table.y), "groups": _digest(table.groups[:2000])}


def _oracle() -> dict[str, Any]:
    table = load("german")
    oracle = EmpiricalFairOracle(tolerance=0.05, metric="eo", random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.fit(table.X, table.y, sensitive_features=table.groups)
    return {
        "decisions": _digest(np.round(oracle.predict_proba(table.X)[:, 1], 5)),
        "predictions": _digest(oracle.predict(table.X, random_state=1)),
    }


def _audit() -> dict[str, Any]:
    table = load("german")
    guess = (table.X[:, 0] > 0).astype(int)
    audit, asked = Audit(guess, table.groups, budget=300, random_state=2), []
    while not audit.done:
        query = audit.ask()
        asked.append(query.indices)
        audit.tell(query.indices, table.y[query.indices])
    certificate = audit.certificate()
    return {"asked": _digest(*asked), "upper": round(certificate.upper, 6), "verdict": certificate.verdict}


CASES |= {
    "german-audit": _audit,
    "german-streamed": _streamed,
    "adult-table": _adult,
    "german-oracle-eo": _oracle,
}


def main(names: list[str]) -> None:
    """Print the digests of these cases, or write those of all."""
    if names:
        print(json.dumps({name: CASES[name]() for name in names}))
        return
    FILE.write_text(json.dumps({name: run() for name, run in CASES.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
