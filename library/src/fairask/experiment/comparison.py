"""Several methods on one table, over several trials: running them, and what they come to."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairask.audit import Certificate
from fairask.experiment.loop import Run, run_trial
from fairask.experiment.method import BASELINE, Method, Task
from fairask.experiment.runner import Job, compute, read_run, run, timed
from fairask.experiment.table import LabelledTable
from fairask.metrics import Float, Int
from fairask.report import words
from fairask.report.figures import mean_and_error
from fairask.report.words import Beside, Guess, LabelSaving, Outcome, Why

#: A curve is only called flat if it is so for this share of the labels.
_FLAT = 0.2


@dataclass(frozen=True, eq=False)
class Trial(Job):
    """A trial of a method on a table."""

    table: LabelledTable
    method: Method
    task: Task
    number: int

    @property
    def path(self) -> PurePosixPath:
        """Where the result lies."""
        made_from = json.dumps([self.about(), self.table.fingerprint], sort_keys=True)
        mark = hashlib.sha256(made_from.encode()).hexdigest()[:8]
        table = re.sub(r"[^\w.-]", "_", self.table.title)
        return PurePosixPath(table, f"{self.method.name}-{mark}", f"trial-{self.number:04d}.json")

    def about(self) -> dict[str, object]:
        """Table, task and settings; not the trial."""
        return {"table": self.table.title, "task": asdict(self.task), "settings": self.method.settings}

    def run(self) -> Run:
        """Compute the trial."""
        split = self.table.split(self.task.seed, self.number)
        pictured = self.number == 0 and self.method.name == "fare"
        return run_trial(self.method, split, self.task, self.number, pictured=pictured)


def compare(
    table: LabelledTable,
    methods: Sequence[Method],
    task: Task,
    trials: int,
    *,
    jobs: int | None = None,
    folder: Path | None = None,
    on_done: Callable[[Job, float], None] | None = None,
) -> Comparison:
    """Run methods on a table; results do not depend on where, or on ``jobs``.

    Parameters
    ----------
    table : LabelledTable
    methods : sequence of Method
        The baseline, passive sampling, must be among them.
    task : Task
    trials : int
        Runs of each method; those of one number share their split and seed.
    jobs : int, optional
        Processes; default what ``joblib.parallel_config`` says, or one.
    folder : Path, optional
        Keeps finished runs: the same call goes on from there. Curves are kept, and nothing else of a run.
    on_done : callable, optional
        Called after each run that was not in ``folder``, with the run and its seconds.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> from fairask.experiment.method import METHODS
    >>> table = LabelledTable.from_dataset(load("german"))
    >>> compare(table, [METHODS["passive"]], Task(budget=100), trials=2).curves("passive")[0].tolist()
    [50, 100]
    """
    todo = [Trial(table, method, task, number) for number in range(trials) for method in methods]
    if folder is None:
        runs = []
        for job, found, seconds in compute(timed, todo, jobs):
            runs.append(found)
            if on_done is not None:
                on_done(job, seconds)
    else:
        run(todo, folder, workers=jobs, on_done=on_done)
        runs = [read_run(folder / trial.path, trial.method.name) for trial in todo]
    return Comparison(table, methods, task, runs)


def over_trials(values: Sequence[float] | Float) -> Guess:
    """Mean over trials of an accuracy or a gap, with the limits of Student's t at 95 %.

    >>> over_trials([0.1, 0.2, 0.3]).limits()
    '0.00 to 0.45'
    """
    found = np.asarray(values, dtype=np.float64)
    mean, n = float(found.mean()), len(found)
    if n == 1:  # one trial says nothing of how trials differ
        return Guess(round(mean, 12), -np.inf, np.inf)
    away = float(stdtrit(n - 1, 0.975)) * float(found.std(ddof=1)) / n**0.5
    return Guess(round(mean, 12), round(max(mean - away, 0.0), 12), round(min(mean + away, 1.0), 12))


@dataclass(frozen=True)
class Enough:
    """How many labels suffice.

    Attributes
    ----------
    labels : int or None
        From here on accuracy is that at the end and the gap is within the tolerance; None: not reached.
    budget : int
    gap : float
        Mean gap at the end.
    why : str
        "flat" where the labels suffice, otherwise the reason why that is not known.
    """

    labels: int | None
    budget: int
    gap: float
    why: Why

    def sentence(self) -> str:
        """Say it."""
        return words.enough_sentence(self.why, self.labels, self.budget, self.gap)


def labels_that_suffice(labels: Int, accuracy: Float, gap: Float, tolerance: float) -> Enough:
    """Find the number of labels after which more labels bring nothing.

    Accuracy counts as flat from the first round on after which the mean over trials never differs from the
    last round's by more than half a point, or one standard error of the difference. That must hold for the
    last fifth of the labels at least.

    Parameters
    ----------
    labels : ndarray of shape (rounds,)
    accuracy, gap : ndarray of shape (trials, rounds)
    tolerance : float

    Examples
    --------
    >>> curve = np.array([[0.70, 0.80, 0.801, 0.80, 0.80]])
    >>> labels_that_suffice(np.arange(100, 600, 100), curve, np.zeros((1, 5)), 0.1).labels
    200
    >>> print(labels_that_suffice(np.array([100, 200]), np.array([[0.7, 0.8]]), np.zeros((1, 2)), 0.1).labels)
    None
    """
    less = accuracy[:, -1:] - accuracy
    error = less.std(axis=0, ddof=1) / len(less) ** 0.5 if len(less) > 1 else np.zeros(len(labels))
    below, bound = less.mean(axis=0), np.maximum(words.SAME, error)  # below the accuracy at the end, that is
    flat, fair = _from_where(np.abs(below) <= bound), _from_where(gap.mean(axis=0) <= tolerance)
    budget, end, first = int(labels[-1]), float(gap[:, -1].mean()), max(flat, fair)
    latest = (1.0 - _FLAT) * budget
    why: Why
    if end > tolerance:
        why = "gap"
    elif labels[first] <= latest:
        why = "flat"
    elif first == 0:
        why = "one round" if len(labels) == 1 else "few rounds"
    elif flat == 0 or labels[flat] <= latest:
        why = "late gap"
    elif (below[:flat] > bound[:flat]).all():
        why = "rises"
    else:
        why = "falls" if (below[:flat] < -bound[:flat]).all() else "changes"
    return Enough(int(labels[first]) if why == "flat" else None, budget, end, why)


def _from_where(fine: NDArray[np.bool_]) -> int:
    """Return the first round from which on all are fine."""
    rough = np.flatnonzero(~fine)
    return int(rough[-1]) + 1 if len(rough) else 0


def label_saving(
    spent: int,
    goal: Float,
    labels: Int,
    accuracy: Float,
    gap: Float,
    limit: float,
    resamples: int = 1000,
) -> LabelSaving:
    """Find the labels at which a reference has a method's final mean accuracy, with an interval over trials.

    Curves are linear between rounds. Trials of both are resampled together, as they share their splits.

    Parameters
    ----------
    spent : int
        Labels of the method.
    goal : ndarray of shape (trials,)
        Accuracy of the method at its end.
    labels : ndarray of shape (rounds,)
        Labels of the reference.
    accuracy, gap : ndarray of shape (trials, rounds)
        Of the reference.
    limit : float
        Largest mean gap of the reference that counts as fair.
    resamples : int

    Examples
    --------
    >>> curve = np.array([[0.70, 0.80], [0.72, 0.82]])
    >>> label_saving(50, np.array([0.76, 0.76]), np.array([50, 150]), curve, np.zeros((2, 2)), 0.1).needed
    100.0
    """
    fine = np.arange(labels[0], labels[-1] + 1)

    def needed(rows: Int) -> float:
        # Rounding of the interpolation must not cost a label.
        there = np.interp(fine, labels, accuracy[rows].mean(axis=0)) >= goal[rows].mean() - 1e-12
        fair = np.interp(fine, labels, gap[rows].mean(axis=0)) <= limit
        enough = np.flatnonzero(there & fair)
        return float(fine[enough[0]]) if len(enough) else np.inf

    rng = np.random.default_rng(0)
    n = len(goal)
    if n == 1:
        return LabelSaving(spent, needed(np.arange(n)), np.nan, np.nan, int(fine[-1]))
    draws = [needed(rng.integers(n, size=n)) for _ in range(resamples)]
    # "lower" and "higher" take a resample as it is: between a number and inf there is nothing.
    low = float(np.quantile(draws, 0.05, method="lower"))
    high = float(np.quantile(draws, 0.95, method="higher"))
    return LabelSaving(spent, needed(np.arange(n)), low, high, int(fine[-1]))


@dataclass(frozen=True)
class Final:
    """Accuracy and gap at the budget: mean and standard error, and how many runs are fair."""

    accuracy: float
    accuracy_se: float
    gap: float
    gap_se: float
    within: int
    runs: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one table, and what to say of it.

    Attributes
    ----------
    table : LabelledTable
    methods : list of Method
    task : Task
    runs : list of Run
    command : str
        The command that makes them again, for the report.
    """

    table: LabelledTable
    methods: Sequence[Method]
    task: Task
    runs: Sequence[Run]
    command: str = ""

    @property
    def trials(self) -> int:
        """Runs of each method."""
        return len(self.of(self.methods[0].name))

    @property
    def names(self) -> dict[str, str]:
        """What to call each method."""
        return {m.name: m.label for m in self.methods}

    def of(self, name: str) -> list[Run]:
        """Runs of a method, by trial."""
        return sorted((r for r in self.runs if r.method == name), key=lambda r: r.trial)

    def curves(self, name: str, *, whole: bool = False) -> tuple[Int, Float, Float]:
        """Labels, and accuracy and gap of shape (trials, rounds), within the budget or ``whole``."""
        runs = self.of(name)
        labels = runs[0].labels
        kept = np.ones(len(labels), bool) if whole else labels <= self.task.budget
        accuracy = np.stack([r.accuracy for r in runs])[:, kept]
        return labels[kept], accuracy, np.stack([r.gap for r in runs])[:, kept]

    def final(self, name: str) -> Final:
        """Accuracy and gap of a method at the budget."""
        _, accuracy, gap = self.curves(name)
        return self._final(accuracy[:, -1], gap[:, -1])

    def _final(self, accuracy: Float, gaps: Float) -> Final:
        (mean, error), (gap, gap_error) = mean_and_error(accuracy), mean_and_error(gaps)
        within = int((gaps <= self.task.tolerance).sum())
        return Final(float(mean), float(error), float(gap), float(gap_error), within, len(accuracy))

    def infeasible(self, name: str) -> tuple[int, tuple[float, float] | None]:
        """Count the runs whose model at the budget said "infeasible with these labels".

        Beside it the median range of labels that these models said are needed, None if less than half did.
        """
        said = [run for run in self.of(name) if run.is_infeasible_at(self.task.budget)]
        needed = [run.labels_needed for run in said if run.labels_needed is not None]
        if not needed or 2 * len(needed) < len(said):
            return len(said), None
        low, high = np.median(needed, axis=0).tolist()
        return len(said), (low, high)

    def by_lot(self, name: str) -> float:
        """Mean share of the test rows that the models of a method at the budget decide by lot."""
        return float(np.mean([run.by_lot for run in self.of(name)]))

    def by_column(self, name: str) -> dict[str, float]:
        """Mean gap of a method at the budget by each protected column alone, if there are several."""
        runs = self.of(name)
        columns = runs[0].by_column if runs else {}
        return {column: float(np.mean([run.by_column[column] for run in runs])) for column in columns}

    def references(self) -> list[tuple[str, int, Final]]:
        """What people have without a fair method: a name, the labels it takes, and how good it is.

        Empty where no run of the baseline has them; the plain model is left out where it is a method.
        """
        found = [run.references for run in self.of(BASELINE) if run.references is not None]
        if not found:
            return []
        constant = np.array([r.constant_accuracy for r in found])
        answer = self.table.answers[found[0].positive]
        rows = [(f"always '{answer}'", 0, self._final(constant, np.zeros(len(found))))]
        if "plain" not in self.names:
            accuracy, gap = np.array([(r.plain_accuracy, r.plain_gap) for r in found]).T
            rows.insert(0, ("no constraint", self.task.budget, self._final(accuracy, gap)))
        return rows

    def beside(self) -> Beside | None:
        """Put the first method beside the plain model and the constant answer."""
        found = [run.references for run in self.of(BASELINE) if run.references is not None]
        if not found:
            return None
        _, accuracy, gap = self.curves(self.methods[0].name)
        plain = np.array([(r.plain_accuracy, r.plain_gap) for r in found]).T
        return Beside(
            Outcome(over_trials(accuracy[:, -1]), over_trials(gap[:, -1])),
            Outcome(over_trials(plain[0]), over_trials(plain[1])),
            float(np.mean([r.constant_accuracy for r in found])),
            self.table.answers[found[0].positive],
            self.task.tolerance,
            self.task.budget,
            runs=len(found),
        )

    def enough(self, name: str | None = None) -> Enough:
        """How many labels suffice for a method, the first by default."""
        name = self.methods[0].name if name is None else name
        found = labels_that_suffice(*self.curves(name), self.task.tolerance)
        said, _ = self.infeasible(name)
        if found.labels is not None and 2 * said > len(self.of(name)):
            return replace(found, labels=None, why="infeasible")
        return found

    def saving(self, name: str) -> LabelSaving:
        """Labels with which the baseline is as accurate as a method at the budget, and fair.

        Fair means: mean gap within the tolerance, or no larger than the method's own.
        """
        labels, accuracy, gap = self.curves(BASELINE, whole=True)
        limit = max(self.task.tolerance, self.final(name).gap)
        return label_saving(self.task.budget, self.curves(name)[1][:, -1], labels, accuracy, gap, limit)

    @property
    def audited(self) -> tuple[str, Certificate] | None:
        """The method of which one model was audited, by name, and the certificate."""
        found = ((self.names[r.method], r.certificate) for r in self.runs if r.certificate is not None)
        return next(found, None)

    def headline(self) -> str:
        """The case the user is in, or the verdict without references; then how many labels suffice.

        Where a constant answer is as good there is no number of labels to speak of.
        """
        beside = self.beside()
        if beside is None:
            return self.verdict()
        return beside.sentence() + ("" if beside.case == "no better" else f" {self.enough().sentence()}")

    def verdict(self) -> str:
        """In how many runs each method is within the tolerance, and in how many it said "infeasible"."""
        ends = {method.label: self.final(method.name) for method in self.methods}
        counts = [(label, end.within, end.runs) for label, end in ends.items()]
        said = [
            words.infeasible_sentence(method.label, runs, ends[method.label].runs, needed)
            for method in self.methods
            for runs, needed in [self.infeasible(method.name)]
        ]
        first = words.within_sentence(self.task.budget, self.task.tolerance, counts)
        return " ".join([first, *filter(None, said)])

    def findings(self) -> list[str]:
        """What else there is to say: columns alone, what the baseline needs, where runs would stop."""
        several = [
            (m.label, gaps, self.final(m.name).gap) for m in self.methods if (gaps := self.by_column(m.name))
        ]
        return [
            *(words.columns_apart_sentence(*each) for each in several),
            *(
                words.by_lot_sentence(share, method.label)
                for method in self.methods
                if (share := self.by_lot(method.name))
            ),
            *(
                words.constant_sentence(method.label, same, len(runs))
                for method in self.methods
                for runs in [self.of(method.name)]
                if (same := sum(run.constant for run in runs))
            ),
            *(
                self.saving(method.name).sentence(method.label, self.final(method.name).accuracy)
                for method in self.methods
                if method.name != BASELINE and not method.constraint
            ),
            *(self._stops() if self.task.stop is not None else []),
        ]

    def _stops(self) -> list[str]:
        """For each method, where the stopping rule would have ended its runs, and what that costs."""
        out, budget = [], self.task.budget
        for method in self.methods:
            runs, end = self.of(method.name), self.final(method.name)
            at = [np.flatnonzero(r.labels <= min(r.stopped or budget, budget))[-1] for r in runs]
            points = [(run.accuracy[i], run.gap[i]) for run, i in zip(runs, at, strict=True)]
            accuracy, gap = np.mean(points, axis=0)
            ends = (
                f"accuracy {accuracy:.3f} ({end.accuracy:.3f} at {budget:,}), gap {gap:.3f} ({end.gap:.3f})"
            )
            out.append(words.stop_sentence(method.label, [run.stopped for run in runs], budget, ends))
        return out

    def audit_findings(self) -> list[str]:
        """What audits of the first model would buy, and what its audit found."""
        plan = next((run.audit_plan for run in self.runs if run.audit_plan is not None), None)
        out = []
        if plan is not None:
            chances = [row.certify_alike for row in plan.rows]
            out.append(words.audit_plan_sentence([row.budget for row in plan.rows], chances))
        if self.audited is not None:
            name, proof = self.audited
            out.append(words.audit_sentence(name, proof.n_labels, proof.headline()))
        return out

    def remarks(self) -> list[str]:
        """Warnings of the runs, in words."""
        out = []
        for method in self.methods:
            runs = self.of(method.name)
            total: Counter[str] = Counter()
            for found in runs:
                total.update(found.warnings)
            rounds = sum(len(found.labels) for found in runs)
            out += [words.warned_sentence(method.label, n, rounds, k) for k, n in sorted(total.items())]
        return out

    def settings(self) -> dict[str, str]:
        """Everything that made the results, for the reader of a report."""
        task, known = self.task, self.table.describe()
        audit = "none"
        if task.audit:
            audit = f"at most {task.audit:,} labels besides, first run of {task.audited}"
        packages = (f"{p} {version(p)}" for p in ("fairask", "numpy", "scipy", "scikit-learn"))
        return {
            "table": known.pop("table"),
            "split": known.pop("split"),
            "fairness": f"{task.metric} ≤ {task.tolerance:g}, fitted at that less a margin: from the "
            "evidence (profile calibrated), 1/√labels (paper)",
            "model": "profile calibrated: average of a ridge logistic regression and a random forest, "
            f"thresholds {'without' if task.blind else 'by'} the group, chosen on the pool"
            f"{', mixed with a constant answer where not safe' if task.randomized else ''}; paper: logistic "
            "regression without penalty in the empirical fair oracle",
            "labels": f"{task.budget:,} in batches of {task.batch:,}; passive up to {task.baseline_budget:,}",
            "audit": audit,
            "runs and seed": f"{self.trials:,} runs, seed {task.seed}",
            "versions": ", ".join([f"Python {platform.python_version()}", *packages]),
            **known,
        }

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; NaN becomes null."""
        methods = []
        for method in self.methods:
            labels, accuracy, gap = self.curves(method.name)
            methods.append(
                {
                    "method": method.name,
                    "label": method.label,
                    "settings": method.describe(),
                    **{k: _number(v) for k, v in asdict(self.final(method.name)).items()},
                    **self._needs(method.name),
                    "labels_that_suffice": self.enough(method.name).labels,
                    **dict(
                        zip(("infeasible_runs", "labels_needed"), self.infeasible(method.name), strict=True)
                    ),
                    "decided_by_lot": _number(self.by_lot(method.name)),
                    "constant_runs": sum(run.constant for run in self.of(method.name)),
                    "gap_by_column": {k: _number(v) for k, v in self.by_column(method.name).items()},
                    "labels": labels.tolist(),
                    "accuracy_by_round": _numbers(accuracy.mean(axis=0)),
                    "gap_by_round": _numbers(gap.mean(axis=0)),
                    "final_accuracy_by_trial": _numbers(accuracy[:, -1]),
                    "final_gap_by_trial": _numbers(gap[:, -1]),
                }
            )
        plan = next((run.audit_plan.to_dict() for run in self.runs if run.audit_plan is not None), None)
        audit = None
        if self.audited is not None:
            name, proof = self.audited
            audit = {"method": name, "trial": 0, "certificate": proof.to_dict(), "plan": plan}
        return {
            "table": self.table.title,
            "headline": self.headline(),
            "case": None if (beside := self.beside()) is None else beside.case,
            "verdict": self.verdict(),
            "references": [
                {"label": label, "labels": labels, **{k: _number(v) for k, v in asdict(end).items()}}
                for label, labels, end in self.references()
            ],
            "budget": self.task.budget,
            "batch": self.task.batch,
            "trials": self.trials,
            "seed": self.task.seed,
            "metric": self.task.metric,
            "tolerance": self.task.tolerance,
            "baseline_budget": int(self.curves(BASELINE, whole=True)[0][-1]),
            "methods": methods,
            "audit": audit,
            "settings": self.settings(),
            "notes": list(self.table.notes),
            "command": self.command,
        }

    def _needs(self, name: str) -> dict[str, object]:
        """Labels that the baseline needs, null for more than it was given; one run has no interval."""
        if name == BASELINE:
            return {"baseline_needs": None, "baseline_needs_interval": None}
        saved = self.saving(name)
        needed, low, high = (
            int(v) if np.isfinite(v) else None for v in (saved.needed, saved.low, saved.high)
        )
        interval = [low, high] if saved.has_interval else None
        return {"baseline_needs": needed, "baseline_needs_interval": interval}


def _number(value: float) -> float | None:
    return None if value != value else value


def _numbers(values: Float) -> list[float | None]:
    return [_number(v) for v in values.tolist()]
