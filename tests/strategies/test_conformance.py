"""Every strategy passes the suite that ships with the package."""

import warnings

import pytest

from fairask.exceptions import FairaskWarning
from fairask.strategies import STRATEGIES, make_strategy
from fairask.testing import STRATEGY_CHECKS

CASES = {
    "passive": {},
    "group_balanced": {},
    "uncertainty": {},
    "fare": {},
    "fare, water-filling": {"water_filling": True, "horizon": 5},
    "fare, lambda_diff alone, water-filling": {"water_filling": True, "diff_share": 1.0},
    "fal": {},
    "fal, nested_append": {"variant": "nested_append"},
    "fal, alpha_aggregate": {"variant": "alpha_aggregate"},
    "fal, alpha_aggregate of a subsample": {"variant": "alpha_aggregate", "subsample": 8},
    "fal, adaptive": {"variant": "alpha_aggregate", "alpha": "adaptive", "budget": 50},
    "fal, fair_by_covariance": {"variant": "fair_by_covariance"},
    "fal, equalized odds": {"metric": "eo"},
    "falcur": {"clusters": 6},
    "falcur, capacity": {"clusters": 6, "clustering": "capacity", "similarity": "distance"},
    "falcon": {},
}


def test_every_strategy_is_tried():
    assert {case.split(",")[0] for case in CASES} >= set(STRATEGIES) - {"panda"}


@pytest.mark.parametrize("check", STRATEGY_CHECKS)
@pytest.mark.parametrize("case", CASES)
def test_strategy_passes(case, check):
    strategy = make_strategy(case.split(",")[0], **CASES[case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairaskWarning)  # tiny pools deserve their warnings
        STRATEGY_CHECKS[check](strategy)
