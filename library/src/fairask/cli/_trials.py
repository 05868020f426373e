"""What ``demo``, ``simulate`` and ``bench`` share: options become a task, runs are watched, results shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from joblib import cpu_count
from rich.table import Table
from rich.text import Text

from fairask.checks import check_tolerance
from fairask.cli._options import Output
from fairask.cli._screen import console, print_notes, progress
from fairask.defaults import BATCH, BUDGET
from fairask.errors import UserError, suggest
from fairask.experiment import Comparison, LabelledTable, Method, Task, compare
from fairask.experiment.table import pool_size
from fairask.metrics import METRICS, Metric, check_metric
from fairask.report.pages import draw_comparison, write_report
from fairask.stopping import StoppingRule, make_rule

if TYPE_CHECKING:
    from rich.console import Console

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


def play(
    table: LabelledTable,
    methods: Sequence[Method],
    task: Task,
    trials: int,
    jobs: int | None,
    command: str,
    output: Output,
) -> None:
    """Run a comparison, show it, and write its report."""
    screen = console(no_color=output.no_color)
    if output.talks:
        title = f"{table.title}: {table.target}, groups by {table.protected}"
        screen.print(title, style="bold", markup=False)
        print_notes(screen, table.notes)
    workers = min(jobs or cpu_count(), trials * len(methods))
    with progress(screen, trials * len(methods), shown=output.talks) as advance:
        found = compare(table, methods, task, trials, jobs=workers, on_done=advance)
    show(replace(found, command=command), output, screen)


def show(comparison: Comparison, output: Output, screen: Console) -> None:
    """Write and print a comparison."""
    if output.figure is not None:
        draw_comparison(comparison).savefig(output.figure, dpi=110)
    if output.report is not None:
        write_report(comparison, output.report)
    if output.as_json:
        print(json.dumps(comparison.to_dict(), indent=1, allow_nan=False))
        return
    if output.talks:
        screen.print()
        screen.print(results_table(comparison))
        screen.print()
    screen.print(comparison.headline(), style="bold", markup=False)
    if comparison.beside() is not None:
        screen.print(comparison.verdict(), markup=False)
    if not output.talks:
        return
    files = {"figure": output.figure, "report": output.report}
    for line in (
        *comparison.findings(),
        *comparison.audit_findings(),
        *(f"{what}: {file}" for what, file in files.items() if file is not None),
    ):
        screen.print(line, markup=False)


def results_table(c: Comparison) -> Table:
    """The results at the budget, one row per method; below them what people have without one."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("method")
    for name in ("labels", "accuracy", "gap", f"runs within {c.task.tolerance:g}"):
        table.add_column(name, justify="right")
    rows = [(method.label, c.task.budget, c.final(method.name)) for method in c.methods]
    for label, labels, end in [*rows, *c.references()]:
        accuracy, gap = (
            f"{value:.3f}" + (f" ± {error:.3f}" if end.runs > 1 else "")
            for value, error in ((end.accuracy, end.accuracy_se), (end.gap, end.gap_se))
        )
        # Colour repeats what the numbers say, so nothing is lost without it.
        fair = "green" if end.gap <= c.task.tolerance else "red"
        table.add_row(
            Text(label),
            f"{labels:,}",
            accuracy,
            Text(gap, style=fair),
            f"{end.within} of {end.runs}",
        )
    return table
