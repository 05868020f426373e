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

__all__ = [
    "CalibratedFairOracle",
    "EmpiricalFairOracle",
    "FairFit",
    "FairOracle",
    "Labelled",
    "PerturbedModel",
    "PoolSample",
    "decision_probability",
]
