"""One trial of one method on one problem, from nothing but their names and a number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

import numpy as np

from fairask.datasets import load
from fairask.datasets.dataset import Dataset
from fairask.experiment import LabelledTable, Task, loop, runner, table
from fairask.experiment.loop import Measure, Run
from paper.methods import PaperMethod, get_method
from paper.populations import POPULATIONS, draw_population
from paper.problems import Problem, Setup, get_setup

__all__ = ["Job", "plan", "run_trial", "seed_of", "split", "trial_data", "without_group"]


def seed_of(*parts: object) -> int:
    """Return a seed that depends on ``parts`` alone.

    Examples
    --------
    >>> seed_of("drug", 0) == seed_of("drug", 0), seed_of("drug", 0) == seed_of("drug", 1)
    (True, False)
    """
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:4], "big")


@dataclass(frozen=True)
class Job(runner.Job):
    """A trial of a method on a problem of a setup.

    Examples
    --------
    >>> Job("paper", "drug", "passive", 3).path.name
    'trial-0003.json'
    >>> Job("smoke", "german", "passive", 0).run().labels.tolist()
    [25, 50, 75]
    """

    setup: str
    problem: str
    method: str
    trial: int

    @property
    def path(self) -> PurePosixPath:
        """Where the result lies; other settings of a method lie elsewhere."""
        folder = f"{self.method}-{get_method(self.method).digest}"
        return PurePosixPath(self.setup, self.problem, folder, f"trial-{self.trial:04d}.json")

    def about(self) -> dict[str, object]:
        """The job and the method's settings."""
        return {"job": asdict(self), "settings": get_method(self.method).settings}

    def run(self) -> Run:
        """Compute the trial."""
        setup = get_setup(self.setup)
        return run_trial(setup, setup.problem(self.problem), get_method(self.method), self.trial)


def plan(setup: str, problems: list[str], methods: list[str], trials: int) -> list[Job]:
    """Return all jobs of a run, after checking every name.

    Examples
    --------
    >>> len(plan("paper", ["drug", "german"], ["fare", "passive"], 10))
    40
    """
    known = get_setup(setup)
    if trials < 1:
        raise ValueError(f"trials={trials} must be 1 or more")
    for problem in problems:
        known.problem(problem)
    for method in methods:
        get_method(method)
    # Trials outermost within a problem: a run that is stopped early has as many trials of every method.
    return [
        Job(setup, problem, method, trial)
        for problem in problems
        for trial in range(trials)
        for method in methods
    ]


@lru_cache(maxsize=8)
def _table(dataset: str, options: str) -> Dataset:
    return load(dataset, **json.loads(options))


def trial_data(problem: Problem, trial: int) -> Dataset:
    """Return the rows of a trial: the same table every time, or data drawn for this trial."""
    if problem.dataset in POPULATIONS:
        return draw_population(problem.dataset, seed_of("data", problem.dataset, trial))
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


def split(problem: Problem, data: Dataset, test_share: float, trial: int) -> table.Split:
    """Split the rows of a trial; methods share it, so that they are compared on the same people."""
    n = len(data.y)
    parts = table.split(n, n - round(test_share * n), seed_of("split", problem.dataset, trial))
    return table.Split(LabelledTable(data.X, data.y, data.groups), *parts)


def run_trial(
    setup: Setup,
    problem: Problem,
    method: PaperMethod,
    trial: int,
    transform: Callable[[Dataset], Dataset] | None = None,
    measure: Measure | None = None,
) -> Run:
    """Run one trial; experiments ``transform`` the rows first, or ``measure`` something else."""
    data = trial_data(problem, trial)
    if transform is not None:
        data = transform(data)
    if method.blind:
        data = without_group(data)
    # The benchmark's seeds change with the problem and the method's settings.
    seed = seed_of("learner", problem.name, method.name, method.settings, trial)
    task = Task(problem.metric, setup.tolerance, problem.budget, problem.batch, seed=seed)
    rows = split(problem, data, setup.test_share, trial)
    return loop.run_trial(method, rows, task, trial, measure=measure)
