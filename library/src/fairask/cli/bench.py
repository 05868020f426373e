"""``fairask bench``: several methods on several tables, in a folder that can be resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._requests import takes_options

if TYPE_CHECKING:
    from fairask.experiment import Comparison
    from fairask.experiment.jobs import TableJobs

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
    backend: opt.Backend = "joblib"
    scheduler: opt.Scheduler = None
    out: Annotated[Path, typer.Option(help="Folder of results; finished runs are kept.")] = Path("bench")
    quiet: opt.Quiet = False
    as_json: opt.Json = False
    no_color: opt.NoColor = False


@takes_options
def bench(options: BenchOptions) -> None:
    """Compare methods on several tables; stop it at any time and run it again."""
    from fairask.experiment import Task, choose_methods, planning
    from fairask.experiment.jobs import TableJobs, TablePlace
    from fairask.experiment.table import TableColumns

    metric = planning.check_goal(options.compared.metric, options.compared.tolerance)
    methods = choose_methods(options.compared.strategy, options.compared.profile)
    columns = None
    if options.label is not None and options.protected:
        named = (tuple(options.protected), tuple(options.positive or ()), tuple(options.drop or ()))
        columns = TableColumns(options.label, *named, options.use_protected)
    blind = columns is not None and not options.use_protected
    goal = Task(metric, options.compared.tolerance, seed=options.seed, blind=blind)
    todo: list[TableJobs] = []
    for name in dict.fromkeys(options.tables):
        place = TablePlace(name, columns, options.encoding)
        table = place.open()
        task = planning.plan_task(goal, table.rows, options.compared.budget, options.compared.batch)
        planning.check_counts(task, table.rows, options.trials, options.jobs)
        todo.append(TableJobs(place, table, methods, task, options.trials))
    _run(todo, options)
    _show([jobs.comparison(options.out) for jobs in todo], options)


def _run(todo: list[TableJobs], options: BenchOptions) -> None:
    """Run what is not done yet, and say how much that is."""
    from joblib import cpu_count

    from fairask.cli._screen import console
    from fairask.errors import UserError
    from fairask.experiment import missing, run

    screen = console(no_color=options.no_color, stderr=True)
    every = [job for of_table in todo for job in of_table.jobs()]
    left = len(missing(every, options.out))
    try:
        with screen.status(f"{left:,} of {len(every):,} runs to do") as status:

            def show(job: object, seconds: float) -> None:
                nonlocal left
                left -= 1
                status.update(f"{left:,} of {len(every):,} runs to do")

            run(
                every,
                options.out,
                workers=options.jobs or cpu_count(),
                backend=options.backend,
                scheduler=options.scheduler,
                on_done=show,
            )
    except KeyboardInterrupt:
        screen.print(f"stopped with {left:,} runs to do; the same command goes on from here")
        raise typer.Exit(130) from None
    except (ValueError, ImportError) as error:
        raise UserError(str(error), "See fairask bench --help") from error


def _show(found: list[Comparison], options: BenchOptions) -> None:
    """Write the table and the figure, and print the table."""
    from fairask.cli._screen import console, results_table
    from fairask.report import headline, to_dict, verdict, write_tables

    files = write_tables(found, options.out)
    if options.as_json:
        print(json.dumps([to_dict(c) for c in found], indent=1, allow_nan=False))
        return
    screen = console(no_color=options.no_color)
    for c in found:
        screen.print(f"{c.title}: {headline(c)}", style="bold", markup=False)
        if c.beside() is not None:
            screen.print(verdict(c), markup=False)
        if not options.quiet:
            screen.print(results_table(c), "")
    if not options.quiet:
        screen.print("\n".join(f"{what}: {file}" for what, file in files.items()), markup=False)
