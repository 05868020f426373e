"""The empirical fair oracle (EFO): the most accurate classifier within a fairness tolerance."""

from fairask.oracle._search import Solution
from fairask.oracle.calibrated import CalibratedFairOracle
from fairask.oracle.empirical import EmpiricalFairOracle

__all__ = ["CalibratedFairOracle", "EmpiricalFairOracle", "Solution"]
