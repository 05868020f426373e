"""Fair oracles: the most accurate classifier within a fairness tolerance."""

from fairask.oracle.base import (
    FairFit,
    FairOracle,
    Labelled,
    PerturbedModel,
    PoolSample,
    decision_probability,
)
from fairask.oracle.calibrated import CalibratedFairOracle
from fairask.oracle.empirical import EmpiricalFairOracle
from fairask.oracle.linear_forest import LinearForestClassifier
from fairask.oracle.probability import HeldOutClassifier

__all__ = [
    "CalibratedFairOracle",
    "EmpiricalFairOracle",
    "FairFit",
    "FairOracle",
    "HeldOutClassifier",
    "Labelled",
    "LinearForestClassifier",
    "PerturbedModel",
    "PoolSample",
    "decision_probability",
]
