"""Fair oracles: the most accurate classifier within a fairness tolerance."""

from fairask.oracle.base import FairOracle, Labelled, PerturbedModel
from fairask.oracle.calibrated import CalibratedFairOracle
from fairask.oracle.distribution_free import DistributionFreeFairOracle
from fairask.oracle.empirical import EmpiricalFairOracle
from fairask.oracle.linear_forest import LinearForestClassifier

__all__ = [
    "CalibratedFairOracle",
    "DistributionFreeFairOracle",
    "EmpiricalFairOracle",
    "FairOracle",
    "Labelled",
    "LinearForestClassifier",
    "PerturbedModel",
]
