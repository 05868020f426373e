"""Fair oracles: the most accurate classifier within a fairness tolerance."""

from fairask.oracle.base import FairOracle, PerturbedModel, decision_probability
from fairask.oracle.calibrated import CalibratedFairOracle
from fairask.oracle.empirical import EmpiricalFairOracle
from fairask.oracle.labelled import FairFit, Labelled, PoolSample
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
