"""fairask: fair active learning in low-data regimes."""

from fairask.experiment import evaluate, simulate
from fairask.learner import FairActiveLearner, Query
from fairask.metrics import group_rates, violation
from fairask.oracle import CalibratedFairOracle, EmpiricalFairOracle

__version__ = "0.2.0"

__all__ = [
    "CalibratedFairOracle",
    "EmpiricalFairOracle",
    "FairActiveLearner",
    "Query",
    "__version__",
    "evaluate",
    "group_rates",
    "simulate",
    "violation",
]
