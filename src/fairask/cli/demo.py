"""``fairask demo``: FARE against passive sampling on a table that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli import _options as opt

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "fairask demo --trials 3"

#: Without a constraint, groups of Adult get the positive answer at rates more than the tolerance apart.
DATASET, METRIC, TRIALS, BUDGET, BATCH = "adult", "dp", 8, 600, 100
#: Labels of the audit; no more than a pool has left.
AUDIT = 1000


def demo(
    dataset: Annotated[str, typer.Option(help="A dataset of `fairask datasets list`.")] = DATASET,
    metric: opt.Metric = METRIC,
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
    """Compare a fair model on chosen rows with a plain one and passive sampling on Adult (a minute)."""
    from fairask.cli._output import BASELINE_FACTOR, Output, check_counts, check_goal
    from fairask.cli._play import About, play
    from fairask.cli._requests import DemoRequest, command_of
    from fairask.cli.datasets import load_dataset
    from fairask.experiment import MemoryTable, Task, choose_methods, pool_size

    output = Output(out or (None if as_json else Path("report.html")), figure, quiet, as_json, no_color)
    output.check()
    goal = check_goal(metric, Task.tolerance)
    data = load_dataset(dataset)
    pool = pool_size(len(data.y))
    audit = max(min(AUDIT, pool - budget), 0) if audit_labels is None else audit_labels
    methods = choose_methods(["fare", "passive", "plain"], profile)
    task = Task(
        metric=goal,
        budget=budget,
        batch=batch,
        baseline_budget=min(BASELINE_FACTOR * budget, pool),
        seed=seed,
        audited=methods[0].name,
        audit=audit,
    )
    check_counts(task, len(data.y), trials, jobs)
    request = DemoRequest(dataset, metric, trials, budget, batch, audit, seed, profile)
    about = About(data.name.capitalize(), data.target, data.protected, command_of("demo", request))
    play(MemoryTable.from_dataset(data), methods, task, trials, jobs, about, output)
