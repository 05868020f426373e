"""One method on one split of a table: the loop, its curve, and what a report needs besides."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar, TextIO

import numpy as np

from fairask.audit import BudgetTable, Certificate
from fairask.audit.questions import QUESTIONS
from fairask.errors import FairaskWarning, NoDisagreementWarning, NotConvergedWarning
from fairask.experiment.loop import audit_model, play
from fairask.experiment.method import Method
from fairask.experiment.plain import fit_plain
from fairask.experiment.split import Split, TestRows
from fairask.experiment.task import BatchPlan, Task
from fairask.learner import FairActiveLearner
from fairask.metrics import Float, Int, Metric, group_rates, violation
from fairask.plotting import SamplingDisplay
from fairask.pools import Pool, SubPool
from fairask.sampling import Proposal
from fairask.strategies import FairFit, Labelled, Strategy
from fairask.tables.folding import group_text

#: Returns accuracy and violation of a learner's model on test rows.
Measure = Callable[[FairActiveLearner, TestRows], tuple[float, float]]


def _score(positive: Float, test: TestRows, metric: Metric) -> tuple[float, float]:
    """Accuracy and violation of decisions, in expectation over their own randomness."""
    _, y, groups = test
    accuracy = float(np.where(y == 1, positive, 1.0 - positive).mean())
    return accuracy, violation(y, positive, groups, metric)


@dataclass(frozen=True)
class References:
    """What people have without a fair method, on the test rows.

    Attributes
    ----------
    plain_accuracy, plain_violation : float
        Of the default's classifier without a constraint, on the baseline's labels at the budget.
    positive : bool
        Whether the more frequent answer of the table is the positive one.
    constant_accuracy : float
        Of always giving that answer; its violation is 0.
    """

    plain_accuracy: float
    plain_violation: float
    positive: bool
    constant_accuracy: float


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The sampling distributions of one round: rows thinned out, probabilities of the whole pool.

    Attributes
    ----------
    labels : int
        Labels before the round.
    points : ndarray of shape (rows, 2)
        First two principal components.
    ratios : dict of str to ndarray
        Probability of each row, as a multiple of uniform, by component.
    drawn : dict of str to ndarray of shape (n, 2)
        Where the rows lie that each component drew.
    """

    labels: int
    points: Float
    ratios: dict[str, Float]
    drawn: dict[str, Float]


@dataclass(frozen=True, eq=False)
class Run:
    """The result of one trial.

    Attributes
    ----------
    method, trial
        Which.
    labels, accuracy, violation : ndarray of shape (rounds,)
        On the test rows, after every measured batch; the baseline may go past the budget.
    spend : dict
        ``{group: {component: labels}}`` within the budget.
    rates : dict
        ``{"tpr" | "fpr" | "selection_rate": [a rate for each group]}`` at the budget.
    warnings : dict of str to int
        Rounds in which a warning of this category was given.
    snapshot : Snapshot or None
    certificate : Certificate or None
        Of the model at the budget, from labels drawn after it was fitted.
    audit_plan : BudgetTable or None
        What half, the whole and twice the budget of that audit were expected to buy.
    stopped : int or None
        Labels at which a stopping rule would have ended the run.
    group_labels : dict
        ``{group: [labels]}``, by round.
    converged : bool
        False where the strategy learns how to choose and did not converge.
    feasible : list of bool
        By measured round: False where the model said that the tolerance is infeasible with its labels.
    labels_needed : int or None
        Labels that the model at the budget said are needed, if it said that the tolerance is infeasible.
    references : References or None
        In runs of the baseline.
    by_column : dict of str to float
        Violation at the budget by each protected column alone, if there are several.
    """

    method: str
    trial: int
    labels: Int
    accuracy: Float
    violation: Float
    spend: dict[str, dict[str, int]] = field(default_factory=dict)
    rates: dict[str, list[float]] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    certificate: Certificate | None = None
    audit_plan: BudgetTable | None = None
    stopped: int | None = None
    group_labels: dict[str, list[int]] = field(default_factory=dict)
    converged: bool = True
    feasible: list[bool] = field(default_factory=list)
    labels_needed: int | None = None
    references: References | None = None
    by_column: dict[str, float] = field(default_factory=dict)

    def is_infeasible_at(self, budget: int) -> bool:
        """Whether the last model within ``budget`` said so; False where a run of an older version is silent.

        Examples
        --------
        >>> values = np.array([50, 100]), np.array([0.7, 0.8]), np.array([0.1, 0.1])
        >>> run = Run("fare", 0, *values, feasible=[False, True])
        >>> run.is_infeasible_at(50), run.is_infeasible_at(100)
        (True, False)
        """
        at = int((self.labels <= budget).sum()) - 1
        return 0 <= at < len(self.feasible) and not self.feasible[at]


@dataclass
class _Recorder(Strategy):
    """A strategy that keeps its last proposal, for the picture of the sampling distributions."""

    inner: Strategy
    last: tuple[int, Pool, Proposal] | None = None
    name: ClassVar[str] = "recorder"

    def __post_init__(self) -> None:
        self.reads = self.inner.reads

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        proposal = self.inner.propose(labelled, pool, fit, rng)
        self.last = (len(labelled), pool, proposal)
        return proposal


@dataclass(frozen=True, eq=False)
class Trial:
    """One method on one split: ask, tell and evaluate until the labels of its batches are spent.

    Attributes
    ----------
    method : Method
    split : Split
    task : Task
    number : int
        Trials of one number share their split and seed.
    pictured : bool
        Whether the last round's sampling distributions are kept.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> from fairask.experiment import METHODS, MemoryTable
    >>> task = Task(budget=100, batch=50)
    >>> table = MemoryTable.from_dataset(load("german"))
    >>> Trial(METHODS["passive"], table.split(task.seed, 0), task).run().labels.tolist()
    [50, 100]
    """

    method: Method
    split: Split
    task: Task
    number: int = 0
    pictured: bool = False

    def run(
        self,
        on_round: Callable[[int, float, float], None] | None = None,
        measure: Measure | None = None,
    ) -> Run:
        """Run the trial; ``on_round`` is called with labels, accuracy and violation after every measure.

        ``measure`` takes the place of the method's own model on the test rows.
        """
        with _collect_warnings() as given:
            found = self._run(on_round, measure)
        if given[NoDisagreementWarning]:
            found.warnings[NoDisagreementWarning.__name__] = given[NoDisagreementWarning]
        return found if not given[NotConvergedWarning] else replace(found, converged=False)

    def _run(self, on_round: Callable[[int, float, float], None] | None, measure: Measure | None) -> Run:
        split, task = self.split, self.task
        learner = self.method.learner(split, task, self.number)
        recorder = _Recorder(learner.strategy) if self.pictured else None
        if recorder is not None:
            learner.strategy = recorder
        batches = self.method.plan_batches(task, split.rows)
        curve = _Curve(self, learner, batches, on_round, measure)
        curve.go_on_to(batches.budget)
        decided = curve.decided
        spend, rates = _spend(learner, split), _rates(decided, split.test)
        by_column = {
            column: float(violation(split.test[1], decided[0], alone, task.metric))
            for column, alone in (split.test_by_column if decided else {}).items()
        }
        references = _references(learner, split, task.metric) if self.method.is_baseline else None
        snapshot = None if recorder is None else _snapshot(learner, recorder)
        labels_needed = _labels_needed(learner)
        certificate, audit_plan = self._audit(learner)
        curve.go_on_to(batches.reach)
        labels, accuracy, gaps = zip(*curve.points, strict=True)
        return Run(
            method=self.method.name,
            trial=self.number,
            labels=np.array(labels, dtype=np.int64),
            accuracy=np.array(accuracy),
            violation=np.array(gaps),
            spend=spend,
            rates=rates,
            warnings=_troubled_rounds(learner),
            snapshot=snapshot,
            certificate=certificate,
            audit_plan=audit_plan,
            stopped=curve.stopped,
            group_labels=curve.by_group,
            feasible=curve.feasible,
            labels_needed=labels_needed,
            references=references,
            by_column=by_column,
        )

    def _audit(self, learner: FairActiveLearner) -> tuple[Certificate | None, BudgetTable | None]:
        """Audit the model of the first trial of the audited method, and say what budgets would buy."""
        labels = self.task.audit
        if not labels or self.number != 0 or self.method.name != self.task.audited:
            return None, None
        plan = None
        if QUESTIONS[self.task.metric].labels:
            plan = learner.plan_audit([labels // 2, labels, 2 * labels], n_audits=100)
        return audit_model(learner, labels, self.split.labels_of), plan


class _Curve:
    """What is measured while a trial goes on."""

    def __init__(
        self,
        trial: Trial,
        learner: FairActiveLearner,
        batches: BatchPlan,
        on_round: Callable[[int, float, float], None] | None,
        measure: Measure | None,
    ) -> None:
        self.trial, self.learner, self.batches = trial, learner, batches
        self.on_round, self.measure = on_round, measure
        self.points: list[tuple[int, float, float]] = []
        self.by_group: dict[str, list[int]] = {group_text(group): [] for group in learner.groups_}
        self.feasible: list[bool] = []
        self.decided: list[Float] = []  #: the last decisions on the test rows, if they were measured
        self.stopped: int | None = None

    def go_on_to(self, goal: int) -> None:
        """Ask and tell until ``goal`` labels are spent."""
        for spent in play(self.learner, self.trial.split.labels_of, goal, self.batches.size):
            if self.batches.is_measured(spent):
                self._add(spent)

    def _add(self, spent: int) -> None:
        learner, task, test = self.learner, self.trial.task, self.trial.split.test
        if self.measure is not None:
            self.points.append((spent, *self.measure(learner, test)))
        else:
            self.decided = [self.trial.method.decider(learner, task.tolerance)(test[0], test[2])]
            self.points.append((spent, *_score(self.decided[0], test, task.metric)))
        history = learner.history_
        self.feasible.append(bool(history["feasible"][-1]))
        for group in learner.groups_:
            self.by_group[group_text(group)].append(int(history[f"labels[{group}]"][-1]))
        if task.stop is not None and self.stopped is None and task.stop.reason(learner) is not None:
            self.stopped = spent
        if self.on_round is not None:
            self.on_round(*self.points[-1])


def _spend(learner: FairActiveLearner, split: Split) -> dict[str, dict[str, int]]:
    spend: dict[str, Counter[str]] = {group_text(group): Counter() for group in learner.groups_}
    groups = split.groups_of(learner.labelled_indices_)
    for group, component in zip(groups, learner.components_, strict=True):
        spend[str(group)][component] += 1
    return {group: dict(counts) for group, counts in spend.items()}


def _rates(decided: list[Float], test: TestRows) -> dict[str, list[float]]:
    """Rates of the last decisions that were measured."""
    if not decided:
        return {}
    found = group_rates(test[1], decided[0], test[2]).to_dict()
    return {name: found[name] for name in ("tpr", "fpr", "selection_rate")}


def _references(learner: FairActiveLearner, split: Split, metric: Metric) -> References:
    test, rows = split.test, learner.labelled()
    plain = np.asarray(fit_plain(rows, int(learner.random_state) % 2**31).predict(test[0]), np.float64)
    # By the table, not by the labels of this run: a mean over runs must be of one answer.
    positive = split.base_rate >= 0.5
    share = float(np.mean(test[1] == 1))
    return References(*_score(plain, test, metric), positive, share if positive else 1.0 - share)


def _labels_needed(learner: FairActiveLearner) -> int | None:
    model = learner.current_model()
    # Only the calibrated oracle knows a number.
    return None if model.feasible_ else getattr(model, "labels_needed_", None)


def _troubled_rounds(learner: FairActiveLearner) -> dict[str, int]:
    history = learner.history_
    counts = {
        "InterpolationWarning": int(history["interpolates"].sum()),
        "InfeasibleWarning": int((~history["feasible"].astype(bool)).sum()),
    }
    return {name: n for name, n in counts.items() if n}


def _snapshot(learner: FairActiveLearner, recorder: _Recorder) -> Snapshot | None:
    if recorder.last is None:
        return None  # the only batch was the uniform one
    before, pool, proposal = recorder.last
    rows, code = proposal.cells.rows, proposal.cells.cell
    numbers = pool.drawn[rows] if isinstance(pool, SubPool) else rows
    drawn: dict[str, list[int]] = {name: [] for name in proposal.components}
    for row, component in zip(learner.labelled_indices_[before:], learner.components_[before:], strict=True):
        if component in drawn:
            drawn[component].append(int(np.searchsorted(numbers, row)))
    probabilities = {name: per_row[code] for name, per_row in proposal.components.items()}
    display = SamplingDisplay.from_probabilities(pool.take(rows), probabilities, drawn)
    return Snapshot(before, display.points, display.ratios, display.drawn)


@contextmanager
def _collect_warnings() -> Iterator[Counter[type[Warning]]]:
    """Count this package's warnings by category instead of showing them; others are shown as always."""
    found: Counter[type[Warning]] = Counter()
    with warnings.catch_warnings():
        show = warnings.showwarning

        def count(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, FairaskWarning):
                found[category] += 1
            else:
                show(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", FairaskWarning)
        warnings.showwarning = count
        yield found
