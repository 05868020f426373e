"""``fairask demo``: FARE against passive sampling on a table that comes with the package."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._command import command_of, takes_options

EXAMPLE = "fairask demo --trials 3"

#: Without a constraint, groups of Adult get the positive answer at rates more than the tolerance apart.
DATASET, METRIC, TRIALS, BUDGET, BATCH = "adult", "dp", 8, 600, 100
#: Labels of the audit; no more than a pool has left.
AUDIT = 1000


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of ``fairask demo``."""

    dataset: Annotated[str, typer.Option(help="A dataset of `fairask datasets list`.")] = DATASET
    metric: opt.Metric = METRIC
    profile: opt.Profile = "calibrated"
    randomized: opt.Randomized = False
    trials: opt.Trials = TRIALS
    budget: Annotated[int, typer.Option(help="Labels per run.")] = BUDGET
    batch: Annotated[int, typer.Option(help="Labels per batch.")] = BATCH
    audit_labels: Annotated[
        int | None,
        typer.Option(
            help="Most labels, besides the budget, to audit FARE's first model; default 1000, 0: none. "
            "dp needs none."
        ),
    ] = None
    jobs: opt.Jobs = field(default=None, metadata={"silent": True})
    seed: opt.Seed = 0
    output: opt.Output = field(default_factory=opt.Output, metadata={"silent": True})


@takes_options
def demo(options: DemoOptions) -> None:
    """Compare a fair model on chosen rows with a plain one and passive sampling on Adult (a minute)."""
    from fairask.cli import _trials
    from fairask.cli.datasets import load_dataset
    from fairask.experiment import LabelledTable, Task
    from fairask.experiment.method import choose_methods
    from fairask.experiment.table import pool_size

    options.output.check()
    goal = _trials.check_goal(options.metric, Task.tolerance)
    table = LabelledTable.from_dataset(load_dataset(options.dataset))
    audit = options.audit_labels
    if audit is None:
        audit = max(min(AUDIT, pool_size(table.rows) - options.budget), 0)
    methods = choose_methods(["fare", "passive", "plain"], options.profile)
    task = Task(
        metric=goal,
        budget=options.budget,
        batch=options.batch,
        baseline_budget=_trials.baseline_budget(options.budget, table.rows),
        seed=options.seed,
        randomized=options.randomized,
        audited=methods[0].name,
        audit=audit,
    )
    _trials.check_counts(task, table.rows, options.trials, options.jobs)
    command = command_of("demo", replace(options, audit_labels=audit))
    _trials.play(table, methods, task, options.trials, options.jobs, command, options.output)
