"""``fairask bench``: several methods on several tables, in a folder that can be resumed."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt

if TYPE_CHECKING:
    from fairask.experiment import Comparison, LabelledTable
    from fairask.experiment.jobs import TableJob

__all__ = ["EXAMPLE", "bench"]

EXAMPLE = "fairask bench adult german --strategy fare --strategy passive --trials 20"


def bench(
    tables: Annotated[list[str], typer.Argument(help="Datasets of `fairask datasets list`, or files.")],
    label: Annotated[str | None, typer.Option(help="The column to predict, in files.")] = None,
    protected: Annotated[
        list[str] | None,
        typer.Option(help="The column of the groups, in files (repeat; age:30,50 for bands)."),
    ] = None,
    positive: opt.Positive = None,
    drop: opt.Drop = None,
    strategy: opt.Strategies = None,
    profile: opt.Profile = "calibrated",
    metric: opt.Metric = "tprp",
    tolerance: opt.Tolerance = 0.1,
    budget: opt.Budget = None,
    batch: opt.Batch = None,
    trials: opt.Trials = 10,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    encoding: opt.Encoding = None,
    use_protected: opt.UseProtected = opt.USE_PROTECTED,
    backend: opt.Backend = "joblib",
    scheduler: opt.Scheduler = None,
    out: Annotated[Path, typer.Option(help="Folder of results; finished runs are kept.")] = Path("bench"),
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    no_color: opt.NoColor = False,
) -> None:
    """Compare methods on several tables; stop it at any time and run it again."""
    from joblib import cpu_count

    from fairask.cli._output import check_counts, check_goal
    from fairask.cli._screen import console
    from fairask.errors import UserError
    from fairask.experiment import Task, choose_methods, missing, pool_size, run
    from fairask.experiment.jobs import TableJob, TablePlace
    from fairask.experiment.table import TableColumns

    goal = check_goal(metric, tolerance)
    methods = choose_methods(strategy, profile)
    columns = None
    if label is not None and protected:
        columns = TableColumns(
            label, tuple(protected), tuple(positive or ()), tuple(drop or ()), use_protected
        )
    todo: dict[str, list[TableJob]] = {}
    opened: dict[str, LabelledTable] = {}
    for name in tables:
        place = TablePlace(name, columns, encoding)
        table = opened[name] = place.open()
        labels = min(opt.BUDGET, pool_size(table.rows) // 2) if budget is None else budget
        size = min(opt.BATCH, labels) if batch is None else batch
        task = Task(goal, tolerance, labels, size, seed=seed, blind=columns is not None and not use_protected)
        check_counts(task, table.rows, trials, jobs)
        todo[name] = [
            TableJob(place, table.digest, method, task, trial)
            for trial in range(trials)
            for method in methods
        ]
    screen = console(no_color=no_color, stderr=True)
    every = [job for of_table in todo.values() for job in of_table]
    left = len(missing(every, out))
    try:
        with screen.status(f"{left:,} of {len(every):,} runs to do") as status:

            def show(job: object, seconds: float) -> None:
                nonlocal left
                left -= 1
                status.update(f"{left:,} of {len(every):,} runs to do")

            workers = jobs or cpu_count()
            run(every, out, workers=workers, backend=backend, scheduler=scheduler, on_done=show)
    except KeyboardInterrupt:
        screen.print(f"stopped with {left:,} runs to do; the same command goes on from here")
        raise typer.Exit(130) from None
    except (ValueError, ImportError) as error:
        raise UserError(str(error), "See fairask bench --help") from error
    found = [_comparison(jobs_of, opened[name], out) for name, jobs_of in todo.items()]
    _show(found, out, quiet, as_json, no_color)


def _comparison(jobs: Sequence[TableJob], table: LabelledTable, folder: Path) -> Comparison:
    from fairask.data.protected import as_specs
    from fairask.experiment import Comparison
    from fairask.experiment.runner import read_run

    first = jobs[0]
    methods = list({job.method.name: job.method for job in jobs}.values())
    runs = [read_run(folder / job.path, job.method.name) for job in jobs]
    columns = first.place.columns
    return Comparison(
        first.place.title,
        target="" if columns is None else f"{columns.label} = {table.positive}",
        protected="" if columns is None else ", ".join(as_specs(columns.protected)),
        methods=methods,
        runs=runs,
        task=first.task,
        trials=len(runs) // len(methods),
        pool_shares=table.group_shares,
        notes=table.notes,
        answers=(table.negative, table.positive),
    )


def _show(found: list[Comparison], out: Path, quiet: bool, as_json: bool, no_color: bool) -> None:
    """Write the table and the figure, and print the table."""
    from fairask.cli._screen import console, results_table
    from fairask.plotting import panels
    from fairask.report import curves_display, headline, to_dict, verdict

    drawn, axes = panels(None, 2, len(found), (7.4 * len(found), 5.8))
    for column, comparison in enumerate(found):
        curves_display(comparison).plot(ax=axes[column :: len(found)])
        axes[column].set_title(f"{comparison.title}: accuracy on unseen rows")
    drawn.savefig(out / "curves.png", dpi=110)
    with (out / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "method", "labels", *vars(found[0].final(found[0].methods[0].name))])
        for c in found:
            for method in c.methods:
                end = vars(c.final(method.name)).values()
                writer.writerow([c.title, method.name, c.task.budget, *end])
    if as_json:
        print(json.dumps([to_dict(c) for c in found], indent=1, allow_nan=False))
        return
    screen = console(no_color=no_color)
    for c in found:
        screen.print(f"{c.title}: {headline(c)}", style="bold", markup=False)
        if c.beside() is not None:
            screen.print(verdict(c), markup=False)
        if not quiet:
            screen.print(results_table(c), "")
    if not quiet:
        screen.print(f"table: {out / 'results.csv'}\nfigure: {out / 'curves.png'}", markup=False)
