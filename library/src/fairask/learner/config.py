"""The settings of a learner, checked in one place, and what a profile makes of those not given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, TypedDict, get_args

import numpy as np
from sklearn.base import clone

from fairask.checks import check_choice, check_count, check_number, check_seed, check_tolerance
from fairask.classifiers import Classifier, has_probabilities
from fairask.defaults import BATCH
from fairask.errors import suggest
from fairask.metrics import Metric, check_metric
from fairask.oracle import CalibratedFairOracle, EmpiricalFairOracle, FairOracle
from fairask.oracle.base import Seed, drawn_seed
from fairask.sampling import WEIGHTS
from fairask.stopping import StoppingRule, make_rule
from fairask.strategies import Strategy, make_strategy

Profile = Literal["calibrated", "paper"]
#: A base learner: a classifier, logistic regression by name, or the profile's own.
Estimator = Classifier | Literal["linear"] | None
PROFILES: tuple[Profile, ...] = get_args(Profile)
#: Margins by name.
MARGINS = ("auto", "evidence", "sqrt_n")
#: FARE's settings beside an oracle that estimates its own errors; beside the paper's, Algorithm 1's.
_EXPLORE: dict[str, dict[str, object]] = {
    "fare": {"perturbation": "bootstrap", "diff_share": "adaptive"},
}


class LearnerSettings(TypedDict, total=False):
    """The fields of :class:`LearnerConfig` as keywords, all optional."""

    strategy: str | Strategy
    strategy_params: Mapping[str, object] | None
    metric: Metric
    tolerance: float
    profile: Profile
    margin: str | float | None
    level: float | None
    blind: bool
    risk_weights: str | None
    fairness_weights: str
    batch_size: int
    classes: tuple[object, object]
    budget: int | None
    audit_share: float
    stopping: StoppingRule | str | None
    random_state: Seed


@dataclass(frozen=True)
class Parts:
    """What a learner works with, with nothing left to be chosen."""

    oracle: FairOracle
    strategy: Strategy
    margin: str | float | None
    risk_weights: str


@dataclass(frozen=True)
class LearnerConfig:
    """Settings of a :class:`fairask.FairActiveLearner`; values that make no sense are refused by name.

    Parameters
    ----------
    strategy : str or Strategy
        A name of ``fairask.strategies.STRATEGIES`` (``"fare"``, ``"passive"``, ``"group_balanced"``,
        ``"uncertainty"``, ``"fal"``, ...), or an object with ``propose``.
    strategy_params : dict, optional
        Settings for a strategy given by name, e.g. ``{"k": 10, "diff_share": 1.0}``.
    metric : {"tprp", "fprp", "eo", "dp"}
        What must be alike between groups.
    tolerance : float in [0, 1]
        Largest allowed difference of rates.
    profile : {"calibrated", "paper"}
        What the learner is made of where nothing else is said. "calibrated": thresholds on calibrated
        probabilities, a margin from evidence, unweighted risk, and FARE with bootstrap perturbations and
        an adaptive share. "paper": Algorithm 1 with the paper's oracle and margin, but for the details that
        docs/strategies/fare.md lists.
    margin : {"auto", "evidence", "sqrt_n"}, float or None
        What the tolerance is reduced by: "evidence" is the oracle's own margin, "sqrt_n" the paper's
        ``1 / sqrt(labels)``. "auto" is "evidence" if the oracle has a margin of its own, else "sqrt_n".
    level : float in [0.5, 1), optional
        Confidence level of the margin from evidence; the calibrated oracle's default if None.
    blind : bool
        Whether the calibrated model must not read the group; leave the protected column out of ``X`` as well.
    risk_weights : {"ips", "lure", "none"}, optional
        Importance weights of the labelled rows in the error; default "none" with the calibrated oracle,
        "ips" with the paper's.
    fairness_weights : {"ips", "lure", "none"}
        The same in the rates.
    batch_size : int
        Rows per batch when ``ask`` is not told.
    classes : pair
        The two labels; the second is the positive one.
    budget : int, optional
        Labels in all; ``stop_reason_`` says when they are spent.
    audit_share : float in [0, 1)
        Share of the budget kept to audit the final model.
    stopping : StoppingRule or str, optional
        A rule of :mod:`fairask.stopping`, or its name (``"plateau:5"``); ``stop_reason_`` reports it.
    random_state : int, Generator or RandomState, optional
        The same seed gives the same answers. A generator is drawn from once; the field then holds the seed.

    Examples
    --------
    >>> LearnerConfig(tolerance=0.05).profile
    'calibrated'
    >>> LearnerConfig(profile="papper")
    Traceback (most recent call last):
        ...
    ValueError: profile='papper' is unknown; did you mean 'paper'?
    """

    strategy: str | Strategy = "fare"
    strategy_params: Mapping[str, object] | None = None
    metric: Metric = "tprp"
    tolerance: float = 0.1
    profile: Profile = "calibrated"
    margin: str | float | None = "auto"
    level: float | None = None
    blind: bool = False
    risk_weights: str | None = None
    fairness_weights: str = "ips"
    batch_size: int = BATCH
    classes: tuple[object, object] = (0, 1)
    budget: int | None = None
    audit_share: float = 0.0
    stopping: StoppingRule | str | None = None
    random_state: Seed = None

    def __post_init__(self) -> None:
        check_metric(self.metric)
        check_choice(self.profile, "profile", PROFILES)
        make_strategy(self.strategy, **(self.strategy_params or {}))
        for name in ("risk_weights", "fairness_weights"):
            value = {"risk_weights": self.risk_weights, "fairness_weights": self.fairness_weights}[name]
            if name == "fairness_weights" or value is not None:
                check_choice(value, name, WEIGHTS)
        if self.profile == "paper" and (self.blind or self.level is not None):
            name = "blind" if self.blind else "level"
            raise ValueError(f"{name} is a setting of profile='calibrated', not of 'paper'")
        if len(self.classes) != 2 or self.classes[0] == self.classes[1]:
            raise ValueError(
                f"classes={self.classes!r} must be two different labels, the positive one second"
            )
        if not 0 <= self.audit_share < 1:
            raise ValueError(f"audit_share={self.audit_share!r} must be in [0, 1)")
        if isinstance(self.stopping, str):
            make_rule(self.stopping)
        if self.budget is not None:
            check_count(self.budget, "budget")
        if isinstance(self.random_state, np.random.Generator | np.random.RandomState):
            object.__setattr__(self, "random_state", drawn_seed(self.random_state))
        elif self.random_state is not None:
            check_seed(self.random_state)
        check_count(self.batch_size, "batch_size")
        check_margin(self.margin)
        check_tolerance(self.tolerance)

    def changed(self, settings: LearnerSettings) -> LearnerConfig:
        """Return the settings with some replaced, or raise naming one that does not exist."""
        known = [field.name for field in fields(self)]
        for name in settings:
            if name not in known:
                raise TypeError(f"{name!r} is not a setting of a learner; {suggest(name, known)}")
        return replace(self, **settings)

    def seed(self) -> int:
        """The seed; a new one from the system where none was given."""
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        return check_seed(self.random_state)

    def stopping_rule(self) -> StoppingRule | None:
        """The stopping rule as an object."""
        return make_rule(self.stopping) if isinstance(self.stopping, str) else self.stopping

    def parts(self, *, oracle: FairOracle | None = None, estimator: Estimator = None) -> Parts:
        """Fill in what was not given: the profile chooses the oracle, and the rest follows from the oracle.

        Examples
        --------
        >>> parts = LearnerConfig().parts()
        >>> parts.margin, parts.risk_weights, parts.strategy.diff_share
        ('evidence', 'none', 'adaptive')
        >>> parts = LearnerConfig(profile="paper").parts()
        >>> parts.margin, parts.risk_weights, parts.strategy.diff_share
        ('sqrt_n', 'ips', 0.5)
        """
        template = self._template(oracle, estimator)
        calibrated = template.estimates_margin
        named = estimator is None or isinstance(estimator, str)
        if calibrated and not named and not has_probabilities(estimator):
            raise TypeError(
                f"estimator: {type(estimator).__name__} has no predict_proba, which thresholds need; take a "
                "classifier with probabilities (CalibratedClassifierCV makes one of any), or profile='paper'"
            )
        margin = self.margin
        if margin == "auto":
            margin = "evidence" if calibrated else "sqrt_n"
        elif margin == "evidence" and not calibrated:
            raise ValueError(
                "margin='evidence' needs an oracle that estimates its own error, such as "
                f"CalibratedFairOracle; got {type(template).__name__}"
            )
        elif margin != "evidence" and calibrated and oracle is None:
            # Another margin replaces the oracle's own. An oracle that was given keeps the level it was given.
            template.set_params(level=0.5)
        params = dict(self.strategy_params or {})
        if calibrated and isinstance(self.strategy, str):
            params = _EXPLORE.get(self.strategy, {}) | params
        template.set_params(metric=self.metric)
        template.check_settings()
        return Parts(
            oracle=template,
            strategy=make_strategy(self.strategy, **params),
            margin=margin,
            risk_weights=self.risk_weights or ("none" if calibrated else "ips"),
        )

    def _template(self, oracle: FairOracle | None, estimator: Estimator) -> FairOracle:
        if oracle is not None:
            given = {"estimator": estimator, "level": self.level, "blind": self.blind or None}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"{name} and oracle were both given; set the {name} in the oracle")
            if not isinstance(oracle, FairOracle):
                raise TypeError(f"oracle must be a FairOracle, got {type(oracle).__name__}")
            given_oracle: FairOracle = clone(oracle)
            return given_oracle
        if self.profile == "paper":
            # The plain reduction: thresholds stay where the fits put them.
            return EmpiricalFairOracle(
                None if isinstance(estimator, str) else estimator, shift_threshold=False
            )
        template = CalibratedFairOracle(estimator, blind=self.blind)
        template.level = template.level if self.level is None else self.level
        return template


def check_margin(margin: object) -> str | float | None:
    """Return ``margin`` if it is a name of ``MARGINS``, a number in [0, 1] or None.

    Examples
    --------
    >>> check_margin(3)
    Traceback (most recent call last):
        ...
    ValueError: margin=3 must be auto, evidence, sqrt_n, a number in [0, 1] or None
    """
    if margin is None:
        return None
    if isinstance(margin, str):
        if margin not in MARGINS:
            hint = suggest(margin, MARGINS)
            raise ValueError(f"margin={margin!r} is unknown; {hint}, or give a number or None")
        return margin
    try:
        return check_number(margin, "margin", 0, 1)
    except ValueError:
        message = f"margin={margin!r} must be {', '.join(MARGINS)}, a number in [0, 1] or None"
        raise ValueError(message) from None
