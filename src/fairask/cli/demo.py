"""``fairask demo``: FARE against passive sampling on a table that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli import _options as opt

__all__ = ["demo", "register"]

DATASET, TRIALS, BUDGET, BATCH = "adult", 10, 700, 50
#: Labels of the audit; no more than a pool has left.
AUDIT = 1000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog="Example: fairask demo --trials 3")(demo)


def demo(
    dataset: Annotated[str, typer.Option(help="A dataset of `fairask datasets list`.")] = DATASET,
    profile: opt.Profile = "calibrated",
    trials: opt.Trials = TRIALS,
    budget: Annotated[int, typer.Option(help="Labels per run.")] = BUDGET,
    batch: Annotated[int, typer.Option(help="Labels per batch.")] = BATCH,
    audit_labels: Annotated[
        int | None,
        typer.Option(help="Labels, besides the budget, to audit FARE's first model; default 1000, 0: none."),
    ] = None,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    figure: opt.Figure = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    no_color: opt.NoColor = False,
) -> None:
    """Compare FARE with passive sampling on Adult, and write report.html (a minute)."""
    from fairask.cli._output import BASELINE_FACTOR, Output, check_counts
    from fairask.cli._play import About, play
    from fairask.cli._requests import DemoRequest, command_of
    from fairask.cli.datasets import load_dataset
    from fairask.experiment import MemoryTable, Task, choose_methods, pool_size

    output = Output(out or (None if as_json else Path("report.html")), figure, quiet, as_json, no_color)
    output.check()
    data = load_dataset(dataset)
    pool = pool_size(len(data.y))
    audit = max(min(AUDIT, pool - budget), 0) if audit_labels is None else audit_labels
    methods = choose_methods(["fare", "passive", "plain"], profile)
    task = Task(
        budget=budget,
        batch=batch,
        baseline_budget=min(BASELINE_FACTOR * budget, pool),
        seed=seed,
        audited=methods[0].name,
        audit=audit,
    )
    check_counts(task, len(data.y), trials, jobs)
    request = DemoRequest(dataset, trials, budget, batch, audit, seed, profile)
    about = About(data.name.capitalize(), data.target, data.protected, command_of("demo", request))
    play(MemoryTable.from_dataset(data), methods, task, trials, jobs, about, output)
