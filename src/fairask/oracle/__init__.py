"""The empirical fair oracle (EFO): the most accurate classifier within a fairness tolerance."""

from fairask.oracle._calibrated import CalibratedFairOracle
from fairask.oracle._estimator import EmpiricalFairOracle
from fairask.oracle._learners import decide
from fairask.oracle._search import Solution

__all__ = ["CalibratedFairOracle", "EmpiricalFairOracle", "Solution", "decide"]
