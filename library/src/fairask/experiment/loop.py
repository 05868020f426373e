"""The loop: ask, tell, evaluate, on rows whose labels are known."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.audit import Certificate
from fairask.audit.plan import QUESTIONS
from fairask.audit.simulation import BudgetTable
from fairask.errors import FairaskWarning, NoDisagreementWarning, NotConvergedWarning
from fairask.experiment.method import Method, Task
from fairask.experiment.rivals import fit_plain
from fairask.experiment.table import Split, TestRows
from fairask.learner import FairActiveLearner
from fairask.metrics import Float, Int, Matrix, Metric, group_gap, group_rates
from fairask.oracle import CalibratedFairOracle, Labelled
from fairask.oracle.base import FairFit, decision_probability, share_by_lot
from fairask.pools import Pool
from fairask.report.figures import Sampling
from fairask.sampling import Proposal
from fairask.strategies import Strategy
from fairask.tables.groups import group_text

#: Returns the true labels of rows of the pool.
LabelsOf = Callable[[Int], NDArray[np.generic]]
#: Returns accuracy and gap of a learner's model on test rows.
Measure = Callable[[FairActiveLearner, TestRows], tuple[float, float]]


class FittedModel(Protocol):
    """A fitted classifier of two classes; the second one is positive."""

    classes_: NDArray[np.generic]


def play(
    learner: FairActiveLearner,
    labels_of: LabelsOf,
    budget: int,
    size: Callable[[int], int] | None = None,
) -> Iterator[int]:
    """Ask and tell until ``budget`` labels are spent or the learner's rule says stop.

    Yields the labels spent after each batch. ``size`` returns the size of the next batch from the labels
    spent so far; the default is the learner's own batch size.
    """
    while (spent := len(learner.labelled_indices_)) < budget and learner.stop_reason_ is None:
        wanted = learner.batch_size if size is None else size(spent)
        rows = learner.ask(min(wanted, budget - spent)).indices
        learner.tell(rows, labels_of(rows))
        yield spent + len(rows)


def audit_model(learner: FairActiveLearner, budget: int, labels_of: LabelsOf) -> Certificate:
    """Audit the learner's model with fresh labels from the rest of its pool."""
    audit = learner.audit(budget)
    while not audit.done:
        rows = audit.ask().indices
        audit.tell(rows, labels_of(rows))
    return audit.certificate()


def evaluate(
    model: FittedModel, X: Matrix, y: ArrayLike, groups: ArrayLike, metric: Metric = "tprp"
) -> tuple[float, float]:
    """Accuracy and gap of a model, in expectation over its own randomness.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="uniform").fit([[0], [0]], [0, 1])
    >>> evaluate(model, [[0]] * 4, [1, 1, 0, 0], ["a", "b", "a", "b"])
    (0.5, 0.0)
    """
    positive = decision_probability(model, X, groups)
    return _score(positive, np.asarray(y) == model.classes_[1], groups, metric)


def _score(positive: Float, y: ArrayLike, groups: ArrayLike, metric: Metric) -> tuple[float, float]:
    """Accuracy and gap of decisions, given as the probability of a positive one."""
    accuracy = float(np.where(np.asarray(y) == 1, positive, 1.0 - positive).mean())
    return accuracy, group_gap(y, positive, groups, metric)


def simulate(
    learner: FairActiveLearner,
    labels: ArrayLike,
    budget: int,
    *,
    test: tuple[Matrix, ArrayLike, ArrayLike] | None = None,
) -> dict[str, NDArray[np.generic]]:
    """Ask and tell until ``budget`` labels are spent or the learner's own rule says stop; return the history.

    A learner made with ``audit_share`` keeps that share of the budget and spends it on an audit of the
    final model: see ``learner.certificate_``.

    Parameters
    ----------
    learner : FairActiveLearner
    labels : array-like of shape (rows,)
        The true label of every row of the pool.
    budget : int
        Labels in all, including those the learner already has.
    test : (X, y, sensitive_features), optional
        Rows on which accuracy and gap are measured after every batch, as the columns
        ``test_accuracy`` and ``test_gap``.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("german")
    >>> learner = FairActiveLearner(data.X, data.groups, strategy="passive", batch_size=100, random_state=0)
    >>> history = simulate(learner, data.y, 200, test=(data.X, data.y, data.groups))
    >>> history["labels"].tolist(), bool(history["test_accuracy"][-1] > 0.6)
    ([100, 200], True)
    """
    truth = np.asarray(labels)
    n_rows = learner.pool.n_rows
    if truth.shape != (n_rows,):
        raise ValueError(
            f"labels has shape {truth.shape}, expected ({n_rows},): one label per row of the pool"
        )
    if not 1 <= budget <= n_rows:
        raise ValueError(f"budget={budget} must be from 1 to the pool's {n_rows} rows")
    rounds: list[int] = []
    scores: list[tuple[float, float]] = []
    keep = round(learner.audit_share * budget)
    for _ in play(learner, truth.__getitem__, budget - keep):
        if test is not None:
            rounds.append(len(learner.state.history) - 1)
            scores.append(evaluate(learner.current_model(), *test, learner.metric))
    if keep:
        audit_model(learner, keep, truth.__getitem__)
    history = learner.history_
    if test is not None:
        for column, name in enumerate(("test_accuracy", "test_gap")):
            history[name] = np.full(len(learner.state.history), np.nan)
            for i, score in zip(rounds, scores, strict=True):
                history[name][i] = score[column]
    return history


@dataclass(frozen=True)
class References:
    """What people have without a fair method, on the test rows.

    Attributes
    ----------
    plain_accuracy, plain_gap : float
        Of the default's classifier without a constraint, on the baseline's labels at the budget.
    positive : bool
        Whether the more frequent answer of the table is the positive one.
    constant_accuracy : float
        Of always giving that answer; its gap is 0.
    """

    plain_accuracy: float
    plain_gap: float
    positive: bool
    constant_accuracy: float


@dataclass(frozen=True, eq=False)
class Run:
    """The result of one trial.

    Attributes
    ----------
    method, trial
        Which.
    labels, accuracy, gap : ndarray of shape (rounds,)
        On the test rows, after every measured batch; the baseline may go past the budget.
    spend : dict
        ``{group: {component: labels}}`` within the budget.
    rates : dict
        ``{"tpr" | "fpr" | "selection_rate": [a rate for each group]}`` at the budget.
    warnings : dict of str to int
        Rounds in which a warning of this category was given.
    sampling : Sampling or None
        The sampling distributions of the last round within the budget.
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
    labels_needed : pair of int, or None
        Labels that the model at the budget said are needed, if it said that the tolerance is infeasible.
    by_lot : float
        Share of the test rows that the model at the budget decides by lot.
    constant : bool
        Whether it answers the same for all test rows.
    references : References or None
        In runs of the baseline.
    by_column : dict of str to float
        Gap at the budget by each protected column alone, if there are several.
    """

    method: str
    trial: int
    labels: Int
    accuracy: Float
    gap: Float
    spend: dict[str, dict[str, int]] = field(default_factory=dict)
    rates: dict[str, list[float]] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    sampling: Sampling | None = None
    certificate: Certificate | None = None
    audit_plan: BudgetTable | None = None
    stopped: int | None = None
    group_labels: dict[str, list[int]] = field(default_factory=dict)
    converged: bool = True
    feasible: list[bool] = field(default_factory=list)
    labels_needed: tuple[int, int] | None = None
    by_lot: float = 0.0
    constant: bool = False
    references: References | None = None
    by_column: dict[str, float] = field(default_factory=dict)

    def is_infeasible_at(self, budget: int) -> bool:
        """Whether the last model within ``budget`` said so; False where a run of an older version is silent.

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

    def propose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        proposal = self.inner.propose(labelled, pool, fit, rng)
        self.last = (len(labelled), pool, proposal)
        return proposal


def run_trial(
    method: Method,
    split: Split,
    task: Task,
    number: int = 0,
    *,
    pictured: bool = False,
    measure: Measure | None = None,
) -> Run:
    """Run one method on one split: ask, tell and evaluate until the labels of its batches are spent.

    Parameters
    ----------
    method : Method
    split : Split
    task : Task
    number : int
        Trials of one number share their split and seed.
    pictured : bool
        Whether the last round's sampling distributions are kept.
    measure : callable, optional
        Takes the place of the method's own model on the test rows.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> from fairask.experiment import LabelledTable
    >>> from fairask.experiment.method import METHODS
    >>> task = Task(budget=100, batch=50)
    >>> table = LabelledTable.from_dataset(load("german"))
    >>> run_trial(METHODS["passive"], table.split(task.seed, 0), task).labels.tolist()
    [50, 100]
    """
    with _collect_warnings() as given:
        run = _Running(method, split, task, number, measure).run(pictured)
    if given[NoDisagreementWarning]:
        run.warnings[NoDisagreementWarning.__name__] = given[NoDisagreementWarning]
    return run if not given[NotConvergedWarning] else replace(run, converged=False)


class _Running:
    """A trial that goes on: its learner, and what was measured so far."""

    def __init__(
        self,
        method: Method,
        split: Split,
        task: Task,
        number: int,
        measure: Measure | None,
    ) -> None:
        self.method, self.split, self.task, self.number = method, split, task, number
        self.measure = measure
        self.learner = method.learner(split, task, number)
        self.batches = method.plan_batches(task, len(split.pool))
        self.points: list[tuple[int, float, float]] = []
        self.by_group: dict[str, list[int]] = {group_text(group): [] for group in self.learner.groups_}
        self.feasible: list[bool] = []
        self.decided: Float | None = None  #: the last decisions on the test rows, if they were measured
        self.stopped: int | None = None

    def run(self, pictured: bool) -> Run:
        method, split, task, learner = self.method, self.split, self.task, self.learner
        recorder = _Recorder(learner.strategy) if pictured else None
        if recorder is not None:
            learner.strategy = recorder
        self._go_on_to(self.batches.budget)
        # What is said of the budget's end, before a baseline goes on.
        at_budget: dict[str, Any] = {
            "spend": _spend(learner, split),
            "references": _references(learner, split, task.metric) if method.is_baseline else None,
            "sampling": None if recorder is None else _sampling(learner, recorder),
            "labels_needed": _labels_needed(learner),
        }
        if self.decided is not None:
            _, y, groups = split.test
            rates = group_rates(y, self.decided, groups).to_dict()
            at_budget["by_lot"] = share_by_lot(self.decided)
            at_budget["constant"] = bool(np.ptp(self.decided) == 0.0 and self.decided[0] in (0.0, 1.0))
            at_budget["rates"] = {name: rates[name] for name in ("tpr", "fpr", "selection_rate")}
            at_budget["by_column"] = {
                column: float(group_gap(y, self.decided, alone, task.metric))
                for column, alone in split.test_by_column.items()
            }
        if task.audit and self.number == 0 and method.name == task.audited:
            if QUESTIONS[task.metric].labels:
                budgets = [task.audit // 2, task.audit, 2 * task.audit]
                at_budget["audit_plan"] = learner.plan_audit(budgets, n_audits=100)
            at_budget["certificate"] = audit_model(learner, task.audit, split.labels_of)
        self._go_on_to(self.batches.reach)
        labels, accuracy, gaps = zip(*self.points, strict=True)
        return Run(
            method.name,
            self.number,
            np.array(labels, dtype=np.int64),
            np.array(accuracy),
            np.array(gaps),
            warnings=_troubled_rounds(learner),
            stopped=self.stopped,
            group_labels=self.by_group,
            feasible=self.feasible,
            **at_budget,
        )

    def _go_on_to(self, goal: int) -> None:
        """Ask and tell until ``goal`` labels are spent."""
        for spent in play(self.learner, self.split.labels_of, goal, self.batches.size):
            if self.batches.is_measured(spent):
                self._measure(spent)

    def _measure(self, spent: int) -> None:
        learner, task, (X, y, groups) = self.learner, self.task, self.split.test
        if self.measure is not None:
            self.points.append((spent, *self.measure(learner, self.split.test)))
        else:
            self.decided = self.method.decider(learner, task.tolerance)(X, groups)
            self.points.append((spent, *_score(self.decided, y, groups, task.metric)))
        history = learner.history_
        self.feasible.append(bool(history["feasible"][-1]))
        for group in learner.groups_:
            self.by_group[group_text(group)].append(int(history[f"labels[{group}]"][-1]))
        if task.stop is not None and self.stopped is None and task.stop.reason(learner) is not None:
            self.stopped = spent


def _spend(learner: FairActiveLearner, split: Split) -> dict[str, dict[str, int]]:
    spend: dict[str, Counter[str]] = {group_text(group): Counter() for group in learner.groups_}
    groups = split.table.groups[split.pool[learner.labelled_indices_]]
    for group, component in zip(groups, learner.components_, strict=True):
        spend[str(group)][component] += 1
    return {group: dict(counts) for group, counts in spend.items()}


def _references(learner: FairActiveLearner, split: Split, metric: Metric) -> References:
    test, rows = split.test, learner.labelled()
    plain = np.asarray(fit_plain(rows, int(learner.random_state) % 2**31).predict(test[0]), np.float64)
    # By the table, not by the labels of this run: a mean over runs must be of one answer.
    positive = split.table.base_rate >= 0.5
    share = float(np.mean(test[1] == 1))
    return References(*_score(plain, *test[1:], metric), positive, share if positive else 1.0 - share)


def _labels_needed(learner: FairActiveLearner) -> tuple[int, int] | None:
    model = learner.current_model()
    return model.labels_needed_ if isinstance(model, CalibratedFairOracle) else None


def _troubled_rounds(learner: FairActiveLearner) -> dict[str, int]:
    history = learner.history_
    counts = {
        "InterpolationWarning": int(history["interpolates"].sum()),
        "InfeasibleWarning": int((~history["feasible"].astype(bool)).sum()),
    }
    return {name: n for name, n in counts.items() if n}


def _sampling(learner: FairActiveLearner, recorder: _Recorder) -> Sampling | None:
    if recorder.last is None:
        return None  # the only batch was the uniform one
    before, pool, proposal = recorder.last
    rows, code = proposal.cells.rows, proposal.cells.cell
    drawn: dict[str, list[int]] = {name: [] for name in proposal.components}
    for row, component in zip(learner.labelled_indices_[before:], learner.components_[before:], strict=True):
        if component in drawn:
            drawn[component].append(int(np.searchsorted(rows, row)))
    probabilities = {name: per_row[code] for name, per_row in proposal.components.items()}
    return Sampling.of(pool.take(rows), probabilities, drawn, before)


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
