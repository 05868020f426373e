"""What a method of the benchmark is: a name, a look and plain settings of the learner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairask.errors import suggest
from fairask.oracle import CalibratedFairOracle, EmpiricalFairOracle

__all__ = ["MODELS", "Method"]

#: Base learners by name. A tree of depth 5 has as many leaves as logistic regression has coefficients on
#: Drug (32 and 31), so that the two differ in kind rather than in size.
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: None,  # the oracle's own: no penalty
    "ridge": lambda: LogisticRegression(C=1.0),
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, min_samples_leaf=10, random_state=0
    ),
}

_LATER = ("risk_weights", "calibrated", "blind", "metric_param")
_LOOK = ("name", "label", "colour", "paper", "family")


@dataclass(frozen=True)
class Method:
    """A method: everything but its look is a setting, and every setting is plain JSON.

    Parameters
    ----------
    name, label, colour : str
        Identifier, name in tables and figures, and a key of ``fairask.bench.palette.COLOURS``.
    strategy : str
        A name known to ``fairask.strategies``.
    strategy_params : dict
        Its settings.
    paper : str, optional
        The paper's column it is compared with.
    family : str, optional
        Methods of one family are a sweep: tables show its best member under the family's name.
    tolerance : float, optional
        None is the profile's; 1.0 is no constraint at all.
    margin : "sqrt_n", float or None
    weights : {"ips", "lure", "none"}
        Importance weights in the rates, and in the error unless
    risk_weights : str, optional
        says otherwise.
    calibrated : dict, optional
        Settings of the calibrated oracle; None is the paper's oracle.
    blind : bool
        Leave out every column that is a function of the group.
    model : str
        A key of ``MODELS``.
    batch : int, optional
        Rows a batch; None is the problem's.
    pretrain : float
        Share of the budget that is drawn uniformly before the strategy is asked.
    pretrain_param : str, optional
        Setting of the strategy that is told how many labels that was.
    metric_param : str, optional
        Setting of the strategy that is told the problem's metric.
    budget_factor : float
        Labels at the end, in budgets of the problem.

    Examples
    --------
    >>> Method("fare", "FARE", "blue", strategy="fare").settings["margin"]
    'sqrt_n'
    """

    name: str
    label: str
    colour: str
    strategy: str
    strategy_params: dict[str, Any] = field(default_factory=dict)
    paper: str | None = None
    family: str | None = None
    tolerance: float | None = None
    margin: str | float | None = "sqrt_n"
    weights: str = "ips"
    model: str = "logistic"
    batch: int | None = None
    pretrain: float = 0.0
    pretrain_param: str | None = None
    budget_factor: float = 1.0
    risk_weights: str | None = None
    calibrated: dict[str, Any] | None = None
    blind: bool = False
    metric_param: str | None = None

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r} is unknown; {suggest(self.model, MODELS)}")
        if not 0 <= self.pretrain <= 1:
            raise ValueError(f"pretrain={self.pretrain!r} must be a share in [0, 1]")

    @property
    def settings(self) -> dict[str, Any]:
        """What determines the method's results; what was added later only counts when it is used."""
        given = {key: value for key, value in asdict(self).items() if key not in _LOOK}
        return {key: value for key, value in given.items() if key not in _LATER or value}

    @property
    def digest(self) -> str:
        """Eight characters that change with the settings."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def oracle(self) -> EmpiricalFairOracle | CalibratedFairOracle:
        """The calibrated oracle, or the paper's: the plain reduction, thresholds where the fit puts them."""
        if self.calibrated is not None:
            return CalibratedFairOracle(MODELS[self.model](), **self.calibrated)
        return EmpiricalFairOracle(MODELS[self.model](), shift_threshold=False)
