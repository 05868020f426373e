"""Every strategy passes the suite that ships with the package."""

import importlib.util
import warnings

import pytest

from fairask.errors import FairaskWarning
from fairask.strategies import STRATEGIES, make_strategy
from fairask.testing import STRATEGY_CHECKS

pytestmark = pytest.mark.usefixtures("few_trees")

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
    "panda": {
        "iterations": 20,
        "rho": 0.2,
        "width": 8,
        "heads": 2,
        "feedforward": 8,
        "attended": 20,
        "unconverged": "use",
    },
}
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def test_every_strategy_is_tried():
    assert {case.split(",")[0] for case in CASES} == set(STRATEGIES)


def _marks(case, check):
    marks = [needs_torch] if case == "panda" else []
    fits = check in ("works_in_a_learner", "propensities_are_exact") and case not in ("passive", "fare")
    return [*marks, pytest.mark.slow] if case == "panda" or fits else marks


@pytest.mark.parametrize(
    ("case", "check"),
    [pytest.param(case, check, marks=_marks(case, check)) for case in CASES for check in STRATEGY_CHECKS],
)
def test_strategy_passes(case, check):
    strategy = make_strategy(case.split(",")[0], **CASES[case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairaskWarning)  # tiny pools deserve their warnings
        STRATEGY_CHECKS[check](strategy)
