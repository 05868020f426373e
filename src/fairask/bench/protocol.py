"""One trial of one method on one problem, from nothing but their names and a number."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from fairask.bench.methods import Method, get_method
from fairask.bench.problems import Problem, Profile, get_profile
from fairask.datasets import Dataset, load
from fairask.errors import FairaskWarning, NotConvergedWarning
from fairask.learner import FairActiveLearner, evaluate

__all__ = ["Cell", "Result", "run_cell", "run_trial", "seed_of", "split", "trial_data"]


@dataclass(frozen=True)
class Cell:
    """What is computed once: a trial of a method on a problem of a profile."""

    profile: str
    problem: str
    method: str
    trial: int


@dataclass(frozen=True)
class Result:
    """One trial, by round: labels spent, accuracy and violation on test rows, labels of each group.

    ``converged`` is False where the strategy was to learn how to choose and did not.
    """

    labels: list[int]
    accuracy: list[float]
    violation: list[float]
    group_labels: dict[str, list[int]]
    converged: bool = True


def seed_of(*parts: Any) -> int:
    """Return a seed that depends on ``parts`` alone.

    Examples
    --------
    >>> seed_of("drug", 0) == seed_of("drug", 0), seed_of("drug", 0) == seed_of("drug", 1)
    (True, False)
    """
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:4], "big")


@lru_cache(maxsize=8)
def _table(dataset: str, options: str) -> Dataset:
    return load(dataset, **json.loads(options))


def trial_data(problem: Problem, trial: int) -> Dataset:
    """Return the rows of a trial: the same table every time, or data drawn for this trial."""
    if problem.regenerated:
        return load(problem.dataset, **problem.options, random_state=seed_of("data", problem.dataset, trial))
    return _table(problem.dataset, json.dumps(problem.options, sort_keys=True))


def without_group(data: Dataset) -> Dataset:
    """Return the rows without the columns that are a function of the group.

    Examples
    --------
    >>> full = load("german")
    >>> full.X.shape[1] - without_group(full).X.shape[1]
    1
    """
    constant = [np.ptp(data.X[data.groups == group], axis=0) < 1e-9 for group in np.unique(data.groups)]
    keep = ~np.logical_and.reduce(constant)
    names = [name for name, kept in zip(data.feature_names, keep, strict=True) if kept]
    return replace(data, X=data.X[:, keep], feature_names=names)


def split(n: int, test_share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and the rows to test on.

    Examples
    --------
    >>> train, test = split(8, 0.25, seed=0)
    >>> len(train), sorted([*train.tolist(), *test.tolist()])
    (6, [0, 1, 2, 3, 4, 5, 6, 7])
    """
    order = np.random.default_rng(seed).permutation(n)
    cut = n - round(test_share * n)
    return order[:cut], order[cut:]


def run_cell(cell: Cell) -> Result:
    """Compute a cell.

    Examples
    --------
    >>> run_cell(Cell("smoke", "german", "passive", 0)).labels
    [25, 50, 75]
    """
    profile = get_profile(cell.profile)
    return run_trial(profile, profile.problem(cell.problem), get_method(cell.method), cell.trial)


def run_trial(
    profile: Profile,
    problem: Problem,
    method: Method,
    trial: int,
    transform: Callable[[Dataset], Dataset] | None = None,
) -> Result:
    """Run one trial; ``transform`` changes the rows first, for experiments on the protocol itself."""
    data = trial_data(problem, trial)
    if transform is not None:
        data = transform(data)
    if method.blind:
        data = without_group(data)
    # Methods share the splits of a trial, so that they are compared on the same people.
    train, test = split(len(data.y), profile.test_share, seed_of("split", problem.dataset, trial))
    batch = method.batch or problem.batch
    budget = min(int(problem.budget * method.budget_factor), len(train) // problem.batch * problem.batch)
    pretrain = round(method.pretrain * problem.budget)
    params = dict(method.strategy_params)
    if method.pretrain_param is not None:
        params[method.pretrain_param] = pretrain
    if method.metric_param is not None:
        params[method.metric_param] = problem.metric
    learner = FairActiveLearner(
        data.X[train],
        data.groups[train],
        strategy=method.strategy,
        strategy_params=params,
        metric=problem.metric,
        tolerance=profile.tolerance if method.tolerance is None else method.tolerance,
        margin=method.margin,
        oracle=method.oracle(),
        risk_weights=method.risk_weights or method.weights,
        fairness_weights=method.weights,
        batch_size=batch,
        random_state=seed_of("learner", problem.name, method.name, method.settings, trial),
    )
    labels = data.y[train]
    result = Result([], [], [], {str(group): [] for group in learner.groups_})
    spent = 0
    with warnings.catch_warnings():
        # The paper's protocol meets all of these in nearly every trial; the history holds the facts.
        warnings.simplefilter("ignore", FairaskWarning)
        failures = _notice(NotConvergedWarning)
        while spent < budget:
            # Never across a point of the grid, so that methods of any batch size are seen at the same labels.
            to_grid = problem.batch - spent % problem.batch
            query = learner.ask(pretrain if spent < pretrain else min(batch, to_grid, budget - spent))
            learner.tell(query.indices, labels[query.indices])
            spent += len(query)
            if spent % problem.batch == 0 or spent in (pretrain, budget):
                _measure(learner, data, test, spent, result)
    return replace(result, converged=not failures)


def _notice(sought: type[Warning]) -> list[str]:
    """Return a list that collects warnings of a category, until the ``catch_warnings`` around it ends."""
    found: list[str] = []
    show = warnings.showwarning

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, sought):
            found.append(str(message))
        else:
            show(message, category, filename, lineno, file, line)

    warnings.simplefilter("always", sought)
    warnings.showwarning = keep
    return found


def _measure(
    learner: FairActiveLearner, data: Dataset, test: NDArray[np.int64], spent: int, result: Result
) -> None:
    accuracy, violation = evaluate(
        learner.current_model(), data.X[test], data.y[test], data.groups[test], learner.metric
    )
    result.labels.append(spent)
    result.accuracy.append(accuracy)
    result.violation.append(violation)
    history = learner.history_
    for group, series in result.group_labels.items():
        series.append(int(history[f"labels[{group}]"][-1]))
