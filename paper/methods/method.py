"""A method of the benchmark: a name, a place in the paper's tables, and plain settings of the learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairask.errors import suggest
from fairask.experiment import Method, Task
from fairask.experiment.method import BatchPlan
from fairask.experiment.table import Split
from fairask.learner import FairActiveLearner
from fairask.oracle import CalibratedFairOracle, EmpiricalFairOracle

__all__ = ["MODELS", "PaperMethod"]

#: Base learners by name. A tree of depth 5 has as many leaves as logistic regression has coefficients on
#: Drug (32 and 31), so that the two differ in kind rather than in size.
MODELS: dict[str, Callable[[], ClassifierMixin | None]] = {
    "logistic": lambda: None,  # the oracle's own: no penalty
    "forest": lambda: None,  # the calibrated oracle's own: logistic regression and forest
    "ridge": lambda: LogisticRegression(C=1.0),
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, min_samples_leaf=10, random_state=0
    ),
}

_LATER = ("risk_weights", "calibrated", "blind", "metric_param", "constraint", "rounds")
_NO_SETTINGS = ("promise", "name", "label", "profile", "paper", "family")


@dataclass(frozen=True)
class PaperMethod(Method):
    """A method whose every part is set: everything but its names is a setting, and all settings are JSON.

    Parameters
    ----------
    name, label, strategy, strategy_params
        As in :class:`fairask.experiment.Method`.
    weights : {"ips", "lure", "none"}
        Importance weights in the rates, and in the error unless ``risk_weights`` says otherwise.
    paper : str, optional
        The paper's column it is compared with.
    family : str, optional
        Methods of one family are a sweep: tables show its best member under the family's name.
    tolerance : float, optional
        None is the setup's; 1.0 is no constraint at all.
    margin : "sqrt_n", float or None
    risk_weights : str, optional
        Importance weights in the error.
    calibrated : dict, optional
        Settings of the calibrated oracle; None is the paper's oracle.
    blind : bool
        Leave out every column that is a function of the group.
    model : str
        A key of ``MODELS``.
    batch : int, optional
        Rows per batch; None is the problem's.
    pretrain : float
        Share of the budget that is drawn uniformly before the strategy is asked.
    pretrain_param : str, optional
        Setting of the strategy that receives the number of those labels.
    metric_param : str, optional
        Setting of the strategy that receives the problem's metric.
    constraint : str
        As in :class:`fairask.experiment.Method`: a rival, with the default's classifier.
    rounds : int
        About how often the model is measured, evenly spread over the budget and always at the end of a round
        of the problem; 0 is after every round.
    budget_factor : float
        Labels at the end, in budgets of the problem.

    Examples
    --------
    >>> PaperMethod("fare", "FARE", strategy="fare").settings["margin"]
    'sqrt_n'
    """

    weights: str = "ips"
    paper: str | None = None
    family: str | None = None
    tolerance: float | None = None
    margin: str | float | None = "sqrt_n"
    model: str = "logistic"
    batch: int | None = None
    pretrain: float = 0.0
    pretrain_param: str | None = None
    budget_factor: float = 1.0
    risk_weights: str | None = None
    calibrated: dict[str, Any] | None = None
    blind: bool = False
    metric_param: str | None = None
    rounds: int = 0

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r} is unknown; {suggest(self.model, MODELS)}")
        if not 0 <= self.pretrain <= 1:
            raise ValueError(f"pretrain={self.pretrain!r} must be a share in [0, 1]")

    @property
    def settings(self) -> dict[str, object]:
        """What determines the method's results; what was added later only counts when it is used."""
        given = {key: value for key, value in asdict(self).items() if key not in _NO_SETTINGS}
        return {key: value for key, value in given.items() if key not in _LATER or value}

    def oracle(self) -> EmpiricalFairOracle | CalibratedFairOracle:
        """The calibrated oracle, or the paper's: the plain reduction, thresholds where the fit puts them."""
        if self.constraint:
            return self.unconstrained_oracle()
        if self.calibrated is not None:
            if self.model == "logistic":
                return CalibratedFairOracle("linear", **self.calibrated)
            return CalibratedFairOracle(MODELS[self.model](), **self.calibrated)
        return EmpiricalFairOracle(MODELS[self.model](), shift_threshold=False)

    @property
    def is_baseline(self) -> bool:
        """No method of the benchmark has more labels than the others, nor references."""
        return False

    def plan_batches(self, task: Task, rows: int) -> BatchPlan:
        """Batches never cross a point of the problem's grid: all methods are seen at the same labels."""
        budget = min(int(task.budget * self.budget_factor), rows // task.batch * task.batch)
        first = round(self.pretrain * task.budget)
        grid = task.batch * max(1, round(budget / self.rounds / task.batch)) if self.rounds else task.batch
        return BatchPlan(budget, self.batch or task.batch, first=first, grid=grid)

    def learner(self, split: Split, task: Task, trial: int) -> FairActiveLearner:
        """Make the learner of a trial; ``task.seed`` is its seed."""
        params = dict(self.strategy_params)
        if self.pretrain_param is not None:
            params[self.pretrain_param] = round(self.pretrain * task.budget)
        if self.metric_param is not None:
            params[self.metric_param] = task.metric
        return FairActiveLearner(
            split.table.X[split.pool],
            split.table.groups[split.pool],
            strategy=self.strategy,
            strategy_params=params,
            metric=task.metric,
            tolerance=task.tolerance if self.tolerance is None else self.tolerance,
            margin=self.margin,
            oracle=self.oracle(),
            risk_weights=self.risk_weights or self.weights,
            fairness_weights=self.weights,
            batch_size=self.batch or task.batch,
            random_state=task.seed,
        )
