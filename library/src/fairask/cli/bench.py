"""``fairask bench``: several methods on several tables, in a folder that can be resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._command import takes_options

if TYPE_CHECKING:
    from fairask.experiment import Comparison, LabelledTable

EXAMPLE = "fairask bench adult german --strategy fare --strategy passive --trials 20"


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """The options of ``fairask bench``."""

    tables: Annotated[list[str], typer.Argument(help="Datasets of `fairask datasets list`, or files.")]
    label: Annotated[str | None, typer.Option(help="The column to predict, in files.")] = None
    protected: Annotated[
        list[str] | None,
        typer.Option(help="The column of the groups, in files (repeat; age:30,50 for bands)."),
    ] = None
    positive: opt.Positive = None
    drop: opt.Drop = None
    compared: opt.Compared
    trials: opt.Trials = 10
    jobs: opt.Jobs = None
    seed: opt.Seed = 0
    encoding: opt.Encoding = None
    use_protected: opt.UseProtected = opt.USE_PROTECTED
    out: Annotated[Path, typer.Option(help="Folder of results; finished runs are kept.")] = Path("bench")
    quiet: opt.Quiet = False
    as_json: opt.Json = False
    no_color: opt.NoColor = False


@takes_options
def bench(options: BenchOptions) -> None:
    """Compare methods on several tables; stop it at any time and run it again."""
    from joblib import cpu_count

    from fairask.cli import _trials
    from fairask.cli._screen import console, progress
    from fairask.experiment import Task, compare
    from fairask.experiment.method import choose_methods

    asked = options.compared
    goal = Task(
        _trials.check_goal(asked.metric, asked.tolerance),
        asked.tolerance,
        seed=options.seed,
        randomized=asked.randomized,
    )
    methods = choose_methods(asked.strategy, asked.profile)
    todo = []
    for name in dict.fromkeys(options.tables):
        table, blind = _open(name, options)
        task = _trials.plan_task(replace(goal, blind=blind), table.rows, asked.budget, asked.batch)
        _trials.check_counts(task, table.rows, options.trials, options.jobs)
        todo.append((table, task))
    screen = console(no_color=options.no_color, stderr=True)
    jobs, trials, out = options.jobs or cpu_count(), options.trials, options.out
    try:
        with progress(screen, shown=not options.quiet) as advance:
            found = [
                compare(table, methods, task, trials, jobs=jobs, folder=out, on_done=advance)
                for table, task in todo
            ]
    except KeyboardInterrupt:
        screen.print("stopped; the same command goes on from here")
        raise typer.Exit(130) from None
    _show(found, options)


def _open(name: str, options: BenchOptions) -> tuple[LabelledTable, bool]:
    """Open a dataset of the package or a file; say also whether its models decide without the group."""
    from fairask import datasets
    from fairask.errors import UserError
    from fairask.experiment import LabelledTable
    from fairask.tables import TableFormat

    has_columns = options.label is not None and bool(options.protected)
    if name in datasets.names():
        return LabelledTable.from_dataset(datasets.load(name)), has_columns and not options.use_protected
    if options.label is None or not options.protected:
        raise UserError(
            f"{name} is not a dataset, and a file needs its columns", "Give --label and --protected"
        )
    table = LabelledTable.open(
        name,
        label=options.label,
        protected=options.protected,
        positive=options.positive or (),
        drop=options.drop or (),
        use_protected=options.use_protected,
        form=TableFormat(encoding=options.encoding),
    )
    return table, not options.use_protected


def _show(found: list[Comparison], options: BenchOptions) -> None:
    """Write the table and the figure, and print the table."""
    from fairask.cli._screen import console
    from fairask.cli._trials import results_table
    from fairask.report.pages import write_tables

    files = write_tables(found, options.out)
    if options.as_json:
        print(json.dumps([c.to_dict() for c in found], indent=1, allow_nan=False))
        return
    screen = console(no_color=options.no_color)
    for c in found:
        screen.print(f"{c.table.title}: {c.headline()}", style="bold", markup=False)
        if c.beside() is not None:
            screen.print(c.verdict(), markup=False)
        if not options.quiet:
            screen.print(results_table(c), "")
    if not options.quiet:
        screen.print("\n".join(f"{what}: {file}" for what, file in files.items()), markup=False)
