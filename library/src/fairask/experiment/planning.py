"""What is asked of a comparison becomes a task: checks of the goal and the counts, and defaults by table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairask.checks import check_tolerance
from fairask.defaults import BATCH, BUDGET
from fairask.errors import UserError, suggest
from fairask.experiment.method import Method
from fairask.experiment.split import pool_size
from fairask.experiment.table import LabelledTable
from fairask.experiment.task import Task
from fairask.metrics import METRICS, Metric, check_metric
from fairask.pools import sub_pool_note, sub_pool_size
from fairask.stopping import StoppingRule, make_rule

#: Passive sampling gets this many times the budget, to see how many labels a method saves.
_BASELINE_FACTOR = 3


def check_goal(metric: str, tolerance: float) -> Metric:
    """Return the metric, or raise for an unknown one or a tolerance that is no difference of rates."""
    if metric not in METRICS:
        raise UserError(f"unknown metric {metric!r}", f"--metric: {suggest(metric, METRICS)}")
    try:
        check_tolerance(tolerance)
    except ValueError as error:
        raise UserError(
            f"--tolerance {tolerance:g} is outside [0, 1]", "Give a difference of rates, e.g. 0.1"
        ) from error
    return check_metric(metric)


def simulated_rule(text: str | None) -> StoppingRule | None:
    """Return the rule of ``--stop``; raise UserError for one that a simulated run cannot follow."""
    if text is None:
        return None
    try:
        rule = make_rule(text)
    except ValueError as error:
        raise UserError(str(error), "--stop plateau, or plateau:ROUNDS:BY") from error
    if "certified" in text:
        raise UserError(
            "--stop certified: a simulated run is audited once, at its end",
            "Say --stop plateau, and --audit-share for the audit; fairask.stopping.Certified is for loops",
        )
    return rule


def check_audit_share(share: float) -> None:
    """Raise UserError unless a share of the budget can be kept for the audit."""
    if not 0 <= share < 1:
        raise UserError(f"--audit-share {share:g} is outside [0, 1)", "Give a share of the budget, e.g. 0.5")


def plan_task(
    goal: Task, rows: int, budget: int | None, batch: int | None, *, audit_share: float = 0.0
) -> Task:
    """Fill in budget, batch and labels of the audit for a table of ``rows``.

    Parameters
    ----------
    goal : Task
        Everything else.
    rows : int
    budget : int, optional
        Labels per run, those of the audit included; default 250, or half the pool.
    batch : int, optional
        Default 25, or the budget.
    audit_share : float
        Share of the budget that is kept for the audit.

    Examples
    --------
    >>> task = plan_task(Task(), 400, None, None, audit_share=0.2)
    >>> task.budget, task.batch, task.audit
    (120, 25, 30)
    """
    whole = min(BUDGET, pool_size(rows) // 2) if budget is None else budget
    kept = round(audit_share * whole)
    learned = whole - kept
    return replace(goal, budget=learned, batch=min(BATCH, learned) if batch is None else batch, audit=kept)


def baseline_budget(budget: int, rows: int) -> int:
    """Labels of passive sampling, to see how many more it needs: a multiple of the budget, or the pool."""
    return min(_BASELINE_FACTOR * budget, pool_size(rows))


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


def sub_pool_notes(table: LabelledTable, methods: Sequence[Method], task: Task) -> list[str]:
    """Say what drawing from sub-pools costs where the pool is large and a model may not be linear."""
    pool = pool_size(table.rows)
    if pool <= sub_pool_size(task.batch) or all(method.profile != "calibrated" for method in methods):
        return []
    return [f"unless the model is a linear score, {sub_pool_note(pool, task.batch)}"]
