"""What a learner is made of where nothing is said: the calibrated setup, or exactly the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from fairask.errors import suggest
from fairask.learner._arguments import check_margin, check_weights
from fairask.oracle import CalibratedFairOracle, EmpiricalFairOracle
from fairask.rules import has_probabilities
from fairask.strategies import Strategy, make_strategy

__all__ = ["PROFILES", "Parts", "assemble"]

PROFILES = ("calibrated", "paper")

#: FARE's settings beside an oracle that estimates its own errors; beside the paper's, Algorithm 1's.
_EXPLORE = {"fare": {"perturbation": "bootstrap", "diff_share": "adaptive"}}


@dataclass(frozen=True)
class Parts:
    """The parts of a learner, with nothing left to be chosen."""

    oracle: Any
    strategy: Strategy
    margin: str | float | None
    risk_weights: str


def assemble(
    profile: str,
    *,
    oracle: Any = None,
    estimator: Any = None,
    strategy: str | Strategy = "fare",
    strategy_params: dict[str, Any] | None = None,
    margin: str | float | None = "auto",
    level: float | None = None,
    blind: bool = False,
    risk_weights: str | None = None,
) -> Parts:
    """Fill in what was not given: the profile chooses the oracle, and the rest follows from the oracle.

    Examples
    --------
    >>> parts = assemble("calibrated")
    >>> parts.margin, parts.risk_weights, parts.strategy.diff_share
    ('evidence', 'none', 'adaptive')
    >>> parts = assemble("paper")
    >>> parts.margin, parts.risk_weights, parts.strategy.diff_share
    ('sqrt_n', 'ips', 0.5)
    """
    if profile not in PROFILES:
        raise ValueError(f"profile={profile!r} is unknown; {suggest(profile, PROFILES)}")
    margin = check_margin(margin)
    if oracle is not None:
        for name, value in (("estimator", estimator), ("level", level), ("blind", blind or None)):
            if value is not None:
                raise ValueError(f"{name} and oracle were both given; set the {name} in the oracle")
        template = clone(oracle)
    elif profile == "paper":
        if blind or level is not None:
            raise ValueError(
                f"{'blind' if blind else 'level'} is a setting of profile='calibrated', not of 'paper'"
            )
        # The plain reduction: thresholds stay where the fits put them.
        template = EmpiricalFairOracle(estimator, shift_threshold=False)
    else:
        template = CalibratedFairOracle(estimator, blind=blind)
        if level is not None:
            template.set_params(level=level)
    calibrated = "level" in template.get_params()
    if calibrated and estimator is not None and not has_probabilities(estimator):
        raise TypeError(
            f"estimator: {type(estimator).__name__} has no predict_proba, which thresholds need; take a "
            "classifier with probabilities (CalibratedClassifierCV makes one of any), or profile='paper'"
        )
    if margin == "auto":
        margin = "evidence" if calibrated else "sqrt_n"
    elif margin == "evidence" and not calibrated:
        raise ValueError(
            f"margin='evidence' needs an oracle that estimates its own error, such as CalibratedFairOracle; "
            f"got {type(template).__name__}"
        )
    elif margin != "evidence" and calibrated and oracle is None:
        # Another margin replaces the oracle's own. An oracle that was given keeps the level it was given.
        template.set_params(level=0.5)
    params = strategy_params or {}
    if calibrated and isinstance(strategy, str):
        params = _EXPLORE.get(strategy, {}) | params
    return Parts(
        oracle=template,
        strategy=make_strategy(strategy, **params),
        margin=margin,
        risk_weights=check_weights(
            ("none" if calibrated else "ips") if risk_weights is None else risk_weights, "risk_weights"
        ),
    )
