"""``fairask simulate``: how many labels would a method save on a table whose labels are known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._requests import command_of, takes_options

if TYPE_CHECKING:
    from fairask.experiment import LabelledTable
    from fairask.experiment.table import TableColumns

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
    text: opt.Text = None
    text_model: opt.TextModel = None
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
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Pass over the table in every round, or read it once; default by its size.",
        ),
    ] = field(default=None, metadata={"no": "--no-stream"})
    device: opt.Device = None
    output: opt.Output = field(default_factory=opt.Output, metadata=_SILENT)

    def columns(self) -> TableColumns:
        """Which columns are what."""
        from fairask.experiment.table import TableColumns
        from fairask.tables import TextColumns

        text = TextColumns(self.text or (), self.text_model)
        named = (self.label, self.protected, self.positive or (), self.drop or ())
        return TableColumns(*named, self.use_protected, text)

    def again(self, table: LabelledTable, budget: int, batch: int) -> str:
        """Return the command that makes the same again, with what was chosen for the user."""
        positive = self.positive if len(self.positive or ()) > 1 else [table.positive]
        compared = replace(self.compared, budget=budget, batch=batch)
        return command_of("simulate", replace(self, positive=positive, compared=compared))


@takes_options
def simulate(options: SimulateOptions) -> None:
    """Compare methods on your own labelled table, before paying for labels."""
    from fairask.cli._passes import passes
    from fairask.cli._play import About, play
    from fairask.experiment import Task, choose_methods, planning
    from fairask.experiment.open import open_table
    from fairask.pools import check_device

    methods = choose_methods(options.compared.strategy, options.compared.profile)
    goal = Task(
        metric=planning.check_goal(options.compared.metric, options.compared.tolerance),
        tolerance=options.compared.tolerance,
        seed=options.seed,
        blind=not options.use_protected,
        audited=methods[0].name,
        stop=planning.simulated_rule(options.stop),
        device=options.device,
    )
    options.output.check()
    if options.device is not None:
        check_device(options.device)
    planning.check_audit_share(options.audit_share)
    with passes(quiet=not options.output.talks) as progress:
        table = open_table(
            options.table,
            options.columns(),
            stream=options.stream,
            form=options.reading.format(),
            progress=progress,
        )
    task = planning.plan_task(
        goal, table.rows, options.compared.budget, options.compared.batch, audit_share=options.audit_share
    )
    task = replace(task, baseline_budget=planning.baseline_budget(task.budget, table.rows))
    planning.check_counts(task, table.rows, options.trials, options.jobs)
    table.notes = [*table.notes, *planning.sub_pool_notes(table, methods, task)]
    about = About(
        title=options.table.rstrip("/").rpartition("/")[2] or options.table,
        target=f"{options.label} = {table.positive}",
        protected=", ".join(options.protected),
        command=options.again(table, task.budget + task.audit, task.batch),
        answers=(table.negative, table.positive),
    )
    play(table, methods, task, options.trials, options.jobs, about, options.output)
