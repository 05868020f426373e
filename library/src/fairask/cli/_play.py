"""What ``demo`` and ``simulate`` share: run, print, write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairask.cli._options import Output
from fairask.experiment import Comparison, LabelledTable, Method, Task, compare
from fairask.report import (
    audit_line,
    column_lines,
    curves_display,
    headline,
    plan_line,
    savings,
    settings_of,
    stops,
    to_dict,
    verdict,
    write_report,
)

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class About:
    """What a comparison is called: the table, what is predicted, the groups, the command to repeat it."""

    title: str
    target: str
    protected: str
    command: str
    answers: tuple[str, str] = ("no", "yes")


def play(
    table: LabelledTable,
    methods: Sequence[Method],
    task: Task,
    trials: int,
    jobs: int | None,
    about: About,
    output: Output,
) -> None:
    """Run a comparison, show it, and write its report."""
    from joblib import cpu_count

    from fairask.cli._passes import passes
    from fairask.cli._screen import console, print_notes, watch

    screen = console(no_color=output.no_color)
    if output.talks:
        screen.print(
            f"{about.title}: {about.target}, groups by {about.protected}", style="bold", markup=False
        )
        print_notes(screen, table.notes)
    if table.parallel:
        # Trials on one device would wait for each other.
        workers = min(jobs or (cpu_count() if task.device is None else 1), trials * len(methods))
        runs = watch(table, methods, task, trials, workers, screen if output.talks else None)
    else:
        with passes(quiet=not output.talks) as progress:
            table.report_passes(progress)
            runs = list(compare(table, methods, task, trials))
    comparison = Comparison(
        title=about.title,
        target=about.target,
        protected=about.protected,
        methods=methods,
        runs=runs,
        task=task,
        trials=trials,
        pool_shares=table.group_shares,
        settings=settings_of(table, task, trials),
        command=about.command,
        notes=table.notes,
        answers=about.answers,
    )
    show(comparison, output, screen)


def show(comparison: Comparison, output: Output, screen: Console) -> None:
    """Write and print a comparison."""
    from fairask.cli._screen import results_table

    if output.figure is not None:
        curves_display(comparison).plot().figure_.savefig(output.figure, dpi=110)
    if output.report is not None:
        write_report(comparison, output.report)
    if output.as_json:
        print(json.dumps(to_dict(comparison), indent=1, allow_nan=False))
        return
    if output.talks:
        screen.print()
        screen.print(results_table(comparison))
        screen.print()
    screen.print(headline(comparison), style="bold", markup=False)
    if comparison.beside() is not None:
        screen.print(verdict(comparison), markup=False)
    if not output.talks:
        return
    lines = [*column_lines(comparison), *savings(comparison)]
    lines += [plan_line(comparison) or "", audit_line(comparison) or ""]
    lines += stops(comparison) if comparison.task.stop is not None else []
    lines += [f"{k}: {v}" for k, v in (("figure", output.figure), ("report", output.report)) if v is not None]
    for line in filter(None, lines):
        screen.print(line, markup=False)
