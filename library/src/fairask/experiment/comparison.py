"""Several methods on one table, over several trials: running them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairask.audit import Certificate
from fairask.experiment.method import BASELINE, Method
from fairask.experiment.runner import compute
from fairask.experiment.saving import LabelSaving, label_saving
from fairask.experiment.story import (
    Beside,
    Enough,
    Guess,
    Outcome,
    labels_that_suffice,
)
from fairask.experiment.table import LabelledTable
from fairask.experiment.task import Task
from fairask.experiment.trial import Run, Trial
from fairask.metrics import Float, Int
from fairask.plotting import mean_and_error


def compare(
    table: LabelledTable,
    methods: Sequence[Method],
    task: Task,
    trials: int,
    jobs: int = 1,
    board: NDArray[np.float64] | None = None,
) -> Iterator[Run]:
    """Yield runs as they finish; results do not depend on ``jobs``.

    ``board[method, trial]`` holds (labels, accuracy, violation) of the last round while runs last. Give a
    memory map if there are several jobs.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> from fairask.experiment import METHODS, MemoryTable
    >>> table = MemoryTable.from_dataset(load("german"))
    >>> [run.labels.tolist() for run in compare(table, [METHODS["passive"]], Task(budget=100), trials=2)]
    [[50, 100], [50, 100]]
    """
    if not table.parallel:
        for trial in range(trials):
            split = table.split(task.seed, trial)  # reading the test rows is a pass: methods share it
            for method in methods:
                yield Trial(method, split, task, trial).run()
        return
    todo = [
        _Planned(table, method, task, trial, None if board is None else board[m, trial])
        for trial in range(trials)
        for m, method in enumerate(methods)
    ]
    yield from compute(_Planned.run, todo, jobs=jobs)


@dataclass(frozen=True, eq=False)
class _Planned:
    """A trial that a worker is to run."""

    table: LabelledTable
    method: Method
    task: Task
    number: int
    board: NDArray[np.float64] | None

    def run(self) -> Run:
        def show(*score: float) -> None:
            if self.board is not None:
                self.board[:] = score

        split = self.table.split(self.task.seed, self.number)
        pictured = self.number == 0 and self.method.name == "fare"
        return Trial(self.method, split, self.task, self.number, pictured).run(show)


@dataclass(frozen=True)
class Final:
    """Accuracy and violation at the budget: mean and standard error, and how many runs are fair."""

    accuracy: float
    accuracy_se: float
    violation: float
    violation_se: float
    within: int
    runs: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one table.

    Attributes
    ----------
    title, target, protected : str
        The table, what is predicted, and what the groups are.
    methods : list of Method
    runs : list of Run
    task : Task
    trials : int
    pool_shares : dict of str to float
        Share of each group.
    settings : dict of str to str
        Everything else that made these results, for the reader.
    command : str
        Makes them again.
    notes : list of str
        What was done to the table.
    answers : pair of str
        The negative and the positive answer, as people say them.
    """

    title: str
    target: str
    protected: str
    methods: Sequence[Method]
    runs: Sequence[Run]
    task: Task
    trials: int
    pool_shares: Mapping[str, float]
    settings: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    notes: Sequence[str] = ()
    answers: tuple[str, str] = ("no", "yes")

    @property
    def names(self) -> dict[str, str]:
        """What to call each method."""
        return {m.name: m.label for m in self.methods}

    def of(self, name: str) -> list[Run]:
        """Runs of a method, by trial."""
        return sorted((r for r in self.runs if r.method == name), key=lambda r: r.trial)

    def curves(self, name: str, *, whole: bool = False) -> tuple[Int, Float, Float]:
        """Labels, and accuracy and violation of shape (trials, rounds), within the budget or ``whole``."""
        runs = self.of(name)
        labels = runs[0].labels
        kept = np.ones(len(labels), bool) if whole else labels <= self.task.budget
        accuracy = np.stack([r.accuracy for r in runs])[:, kept]
        return labels[kept], accuracy, np.stack([r.violation for r in runs])[:, kept]

    def final(self, name: str) -> Final:
        """Accuracy and violation of a method at the budget."""
        _, accuracy, violation = self.curves(name)
        return self._final(accuracy[:, -1], violation[:, -1])

    def _final(self, accuracy: Float, violation: Float) -> Final:
        (mean, error), (gap, gap_error) = mean_and_error(accuracy), mean_and_error(violation)
        within = int((violation <= self.task.tolerance).sum())
        return Final(float(mean), float(error), float(gap), float(gap_error), within, len(accuracy))

    def infeasible(self, name: str) -> tuple[int, int | None]:
        """Count the runs whose model at the budget said "infeasible with these labels".

        The second number is the median of the labels that these models said are needed, None if none did.
        """
        said = [run for run in self.of(name) if run.is_infeasible_at(self.task.budget)]
        needed = [run.labels_needed for run in said if run.labels_needed is not None]
        return len(said), int(np.median(needed)) if needed else None

    def by_column(self, name: str) -> dict[str, Guess]:
        """Violation of a method at the budget by each protected column alone, if there are several."""
        runs = self.of(name)
        columns = runs[0].by_column if runs else {}
        return {
            column: Guess.over_trials(np.array([run.by_column[column] for run in runs])) for column in columns
        }

    def references(self) -> list[tuple[str, int, Final]]:
        """What people have without a fair method: a name, the labels it takes, and how good it is.

        Empty where no run of the baseline has them; the plain model is left out where it is a method.
        """
        found = [run.references for run in self.of(BASELINE) if run.references is not None]
        if not found:
            return []
        constant = np.array([r.constant_accuracy for r in found])
        answer = self.answers[found[0].positive]
        rows = [(f"always '{answer}'", 0, self._final(constant, np.zeros(len(found))))]
        if "plain" not in self.names:
            accuracy, gap = np.array([(r.plain_accuracy, r.plain_violation) for r in found]).T
            rows.insert(0, ("no constraint", self.task.budget, self._final(accuracy, gap)))
        return rows

    def beside(self, name: str | None = None) -> Beside | None:
        """Put a method (the first by default) beside the plain model and the constant answer."""
        name = self.methods[0].name if name is None else name
        found = [run.references for run in self.of(BASELINE) if run.references is not None]
        if not found:
            return None
        _, accuracy, violation = self.curves(name)
        plain = np.array([(r.plain_accuracy, r.plain_violation) for r in found]).T
        return Beside(
            Outcome(Guess.over_trials(accuracy[:, -1]), Guess.over_trials(violation[:, -1])),
            Outcome(Guess.over_trials(plain[0]), Guess.over_trials(plain[1])),
            float(np.mean([r.constant_accuracy for r in found])),
            self.answers[found[0].positive],
            self.task.tolerance,
            self.task.budget,
        )

    def enough(self, name: str | None = None) -> Enough:
        """How many labels suffice for a method, the first by default."""
        return labels_that_suffice(
            *self.curves(self.methods[0].name if name is None else name), self.task.tolerance
        )

    def saving(self, name: str) -> LabelSaving:
        """Labels with which the baseline is as accurate as a method at the budget, and fair.

        Fair means: mean violation within the tolerance, or no larger than the method's own.
        """
        labels, accuracy, violation = self.curves(BASELINE, whole=True)
        limit = max(self.task.tolerance, self.final(name).violation)
        return label_saving(self.task.budget, self.curves(name)[1][:, -1], labels, accuracy, violation, limit)

    def baseline_reach(self) -> int:
        """Labels that the baseline was given."""
        return int(self.curves(BASELINE, whole=True)[0][-1])

    @property
    def audited(self) -> tuple[str, Certificate] | None:
        """The method of which one model was audited, by name, and the certificate."""
        found = ((self.names[r.method], r.certificate) for r in self.runs if r.certificate is not None)
        return next(found, None)
