"""fairask: fair active learning in low-data regimes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask.audit import Audit, Certificate, certify
    from fairask.experiment import LabelledTable, compare, evaluate, simulate
    from fairask.learner import FairActiveLearner
    from fairask.log import Query
    from fairask.metrics import group_gap, group_rates
    from fairask.oracle import CalibratedFairOracle, EmpiricalFairOracle
    from fairask.pools import open_pool

__version__ = "0.3.0"

__all__ = [
    "Audit",
    "CalibratedFairOracle",
    "Certificate",
    "EmpiricalFairOracle",
    "FairActiveLearner",
    "LabelledTable",
    "Query",
    "__version__",
    "certify",
    "compare",
    "evaluate",
    "group_gap",
    "group_rates",
    "open_pool",
    "simulate",
]

#: Where the names of this package are. They are imported when they are first used, so that
#: ``fairask --version`` and ``fairask --help`` do not wait for scikit-learn.
_HOMES = {
    "Audit": "audit",
    "Certificate": "audit",
    "certify": "audit",
    "LabelledTable": "experiment",
    "compare": "experiment",
    "evaluate": "experiment",
    "simulate": "experiment",
    "FairActiveLearner": "learner",
    "Query": "log",
    "group_rates": "metrics",
    "group_gap": "metrics",
    "CalibratedFairOracle": "oracle",
    "EmpiricalFairOracle": "oracle",
    "open_pool": "pools",
}
_PARTS = ("audit", "datasets", "experiment", "learner", "metrics", "oracle", "pools", "report", "strategies")


def __getattr__(name: str) -> object:
    if name in _PARTS:
        return import_module(f"fairask.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'fairask' has no attribute {name!r}")
    # The name is one of ours, chosen at run time.
    found = globals()[name] = getattr(import_module(f"fairask.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
