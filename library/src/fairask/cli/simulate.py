"""``fairask simulate``: how many labels would a method save on a table whose labels are known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._command import command_of, takes_options

if TYPE_CHECKING:
    from fairask.experiment import LabelledTable

EXAMPLE = "fairask simulate loans.csv --label repaid --protected sex --budget 300"

_SILENT = {"silent": True}


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """The options of ``fairask simulate``."""

    table: Annotated[
        str,
        typer.Argument(
            help="A labelled CSV or Parquet file, a folder of Parquet files, or a URL (s3://...)."
        ),
    ] = field(metadata={"argument": True})
    label: opt.Label
    protected: opt.Protected
    positive: opt.Positive = None
    drop: opt.Drop = None
    keep: opt.Keep = None
    text: opt.Text = None
    text_model: opt.TextModel = None
    missing_groups: opt.MissingGroups = None
    compared: opt.Compared = field(default_factory=opt.Compared)
    audit_share: Annotated[
        float,
        typer.Option(help="Share of the budget kept to audit the first method's model of the first run."),
    ] = 0.0
    stop: opt.Stop = None
    trials: opt.Trials = 10
    jobs: opt.Jobs = field(default=None, metadata=_SILENT)
    seed: opt.Seed = 0
    reading: opt.ReadingWithVectors = field(default_factory=opt.ReadingWithVectors)
    use_protected: opt.UseProtected = field(default=opt.USE_PROTECTED, metadata={"no": "--exclude-protected"})
    output: opt.Output = field(default_factory=opt.Output, metadata=_SILENT)

    def open(self) -> LabelledTable:
        """Read the table."""
        from fairask.experiment import LabelledTable
        from fairask.tables import TextColumns
        from fairask.tables.groups import check_missing_groups

        return LabelledTable.open(
            self.table,
            label=self.label,
            protected=self.protected,
            positive=self.positive or (),
            drop=self.drop or (),
            keep=self.keep or (),
            use_protected=self.use_protected,
            text=TextColumns(self.text or (), self.text_model),
            missing_groups=check_missing_groups(self.missing_groups),
            form=self.reading.format(),
        )

    def again(self, table: LabelledTable, budget: int, batch: int) -> str:
        """Return the command that makes the same again, with what was chosen for the user."""
        positive = self.positive if len(self.positive or ()) > 1 else [table.answers[1]]
        compared = replace(self.compared, budget=budget, batch=batch)
        return command_of("simulate", replace(self, positive=positive, compared=compared))


@takes_options
def simulate(options: SimulateOptions) -> None:
    """Compare methods on your own labelled table, before paying for labels."""
    from fairask.cli import _trials
    from fairask.experiment import Task
    from fairask.experiment.method import choose_methods

    asked = options.compared
    methods = choose_methods(asked.strategy, asked.profile)
    goal = Task(
        metric=_trials.check_goal(asked.metric, asked.tolerance),
        tolerance=asked.tolerance,
        seed=options.seed,
        blind=not options.use_protected,
        randomized=asked.randomized,
        audited=methods[0].name,
        stop=_trials.simulated_rule(options.stop),
    )
    options.output.check()
    _trials.check_audit_share(options.audit_share)
    table = options.open()
    task = _trials.plan_task(goal, table.rows, asked.budget, asked.batch, audit_share=options.audit_share)
    task = replace(task, baseline_budget=_trials.baseline_budget(task.budget, table.rows))
    _trials.check_counts(task, table.rows, options.trials, options.jobs)
    command = options.again(table, task.budget + task.audit, task.batch)
    _trials.play(table, methods, task, options.trials, options.jobs, command, options.output)
