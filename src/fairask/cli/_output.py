"""Where results go, and checks of options before any work is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairask.checks import check_number
from fairask.errors import UserError, suggest
from fairask.experiment import Task, pool_size
from fairask.metrics import METRICS, Metric, check_metric

__all__ = ["BASELINE_FACTOR", "Output", "check_counts", "check_goal"]

#: Passive sampling gets this many times the budget, to see how many labels a method saves.
BASELINE_FACTOR = 3


@dataclass(frozen=True)
class Output:
    """Where results go, and how much is printed."""

    report: Path | None
    figure: Path | None = None
    quiet: bool = False
    json: bool = False
    no_color: bool = False

    @property
    def talks(self) -> bool:
        """Whether more than the verdict is printed."""
        return not self.quiet and not self.json

    def check(self) -> None:
        """Raise before the work, not after it, when a file cannot be written."""
        for path in (self.report, self.figure):
            if path is None:
                continue
            if path.is_dir():
                raise UserError(f"{path} is a folder", "Give the name of a file to write")
            if not path.parent.is_dir():
                raise UserError(f"there is no folder {path.parent}", f"Make it first: mkdir -p {path.parent}")


def check_goal(metric: str, tolerance: float) -> Metric:
    """Return the metric, or raise for an unknown one or a tolerance that is no difference of rates."""
    if metric not in METRICS:
        raise UserError(f"unknown metric {metric!r}", f"--metric: {suggest(metric, METRICS)}")
    try:
        check_number(tolerance, "tolerance", 0, 1)
    except ValueError as error:
        raise UserError(
            f"--tolerance {tolerance:g} is outside [0, 1]", "Give a difference of rates, e.g. 0.1"
        ) from error
    return check_metric(metric)


def check_counts(task: Task, rows: int, trials: int, jobs: int | None) -> None:
    """Raise what is wrong with the numbers of a comparison."""
    for name, value, least in (
        ("trials", trials, 1),
        ("jobs", 1 if jobs is None else jobs, 1),
        ("seed", task.seed, 0),
        ("budget", task.budget, 1),
        ("batch", task.batch, 1),
    ):
        if value < least:
            raise UserError(f"--{name} {value} is too small", f"Give a whole number, {least} or more")
    pool = pool_size(rows)
    if task.audit < 0:
        raise UserError(f"--audit-labels {task.audit} is too small", "Give a whole number; 0 for no audit")
    if task.budget > pool:
        raise UserError(
            f"--budget {task.budget:,} is larger than the pool of {pool:,} "
            f"({rows:,} rows less those for testing)",
            f"Give a budget of at most {pool:,}",
        )
    if task.audit and task.budget + task.audit > pool:
        raise UserError(
            f"{task.audit:,} labels to audit and {task.budget:,} to learn are more than the pool of {pool:,}",
            f"Audit with at most {pool - task.budget:,}, or not at all",
        )
    if task.batch > task.budget:
        raise UserError(
            f"--batch {task.batch:,} is larger than the budget of {task.budget:,}",
            "Give a smaller batch or a larger budget",
        )
