"""The paper's numbers: Tables 1 and 2 of "Fair Active Learning in Low-Data Regimes".

Accuracy in per cent and TPRP gap, each with its standard error over 100 trials (PANDA: 50).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CITATION", "PAPER", "Reported"]

CITATION = "Fair Active Learning in Low-Data Regimes, Tables 1 and 2"


class Reported(NamedTuple):
    """A cell of the paper's tables."""

    accuracy: float
    accuracy_se: float
    gap: float
    gap_se: float


#: (problem, method as the paper names it) -> what it reports.
PAPER: dict[tuple[str, str], Reported] = {
    ("drug", "FARE"): Reported(83.1, 0.2, 0.098, 0.006),
    ("drug", "PANDA"): Reported(79.0, 2.1, 0.131, 0.017),
    ("drug", "FAL"): Reported(83.2, 0.2, 0.144, 0.0065),
    ("drug", "FAL-CUR"): Reported(82.2, 0.2, 0.160, 0.006),
    ("drug", "Passive"): Reported(82.5, 0.2, 0.100, 0.005),
    ("bank", "FARE"): Reported(81.5, 0.1, 0.042, 0.003),
    ("bank", "PANDA"): Reported(80.1, 0.4, 0.054, 0.009),
    ("bank", "FAL"): Reported(81.3, 0.1, 0.047, 0.003),
    ("bank", "FAL-CUR"): Reported(79.2, 0.1, 0.032, 0.002),
    ("bank", "Passive"): Reported(81.3, 0.1, 0.047, 0.001),
    ("german", "FARE"): Reported(66.8, 0.3, 0.097, 0.007),
    ("german", "PANDA"): Reported(66.4, 1.4, 0.069, 0.016),
    ("german", "FAL"): Reported(67.2, 0.4, 0.124, 0.010),
    ("german", "FAL-CUR"): Reported(63.7, 0.4, 0.130, 0.010),
    ("german", "Passive"): Reported(66.6, 0.3, 0.104, 0.007),
    ("adult", "FARE"): Reported(83.6, 0.0, 0.065, 0.007),
    ("adult", "PANDA"): Reported(76.6, 2.0, 0.109, 0.019),
    ("adult", "FAL"): Reported(83.2, 0.1, 0.102, 0.013),
    ("adult", "FAL-CUR"): Reported(80.8, 0.2, 0.097, 0.008),
    ("adult", "Passive"): Reported(83.1, 0.0, 0.068, 0.006),
    ("compas", "FARE"): Reported(64.3, 0.1, 0.088, 0.006),
    ("compas", "PANDA"): Reported(57.8, 1.3, 0.110, 0.026),
    ("compas", "FAL"): Reported(66.6, 0.2, 0.304, 0.023),
    ("compas", "FAL-CUR"): Reported(66.8, 0.2, 0.334, 0.009),
    ("compas", "Passive"): Reported(64.6, 0.2, 0.099, 0.007),
    ("crime", "FARE"): Reported(95.9, 0.1, 0.055, 0.004),
    ("crime", "PANDA"): Reported(91.4, 1.7, 0.145, 0.019),
    ("crime", "FAL"): Reported(95.5, 0.1, 0.066, 0.004),
    ("crime", "FAL-CUR"): Reported(94.7, 0.1, 0.107, 0.005),
    ("crime", "Passive"): Reported(95.0, 0.1, 0.074, 0.005),
    ("synthetic", "FARE"): Reported(58.8, 0.6, 0.095, 0.009),
    ("synthetic", "FARE w/o λ_fair"): Reported(57.5, 0.8, 0.123, 0.016),
    ("synthetic", "FAL"): Reported(90.0, 1.7, 0.402, 0.022),
    ("synthetic", "FAL-CUR"): Reported(89.9, 1.3, 0.303, 0.013),
    ("synthetic", "Passive"): Reported(61.1, 0.8, 0.123, 0.013),
}
