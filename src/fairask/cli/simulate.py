"""``fairask simulate``: how many labels would a method save on a table whose labels are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.cli._output import Output
    from fairask.cli._requests import SimulateRequest
    from fairask.stopping import StoppingRule

__all__ = ["EXAMPLE", "simulate"]

EXAMPLE = "fairask simulate loans.csv --label repaid --protected sex --budget 300"


def simulate(
    table: Annotated[
        str,
        typer.Argument(
            help="A labelled CSV or Parquet file, a folder of Parquet files, or a URL (s3://...)."
        ),
    ],
    label: opt.Label,
    protected: opt.Protected,
    positive: opt.Positive = None,
    drop: opt.Drop = None,
    text: opt.Text = None,
    text_model: opt.TextModel = None,
    strategy: opt.Strategies = None,
    profile: opt.Profile = "calibrated",
    metric: opt.Metric = "tprp",
    tolerance: opt.Tolerance = 0.1,
    budget: opt.Budget = None,
    batch: opt.Batch = None,
    audit_share: Annotated[
        float,
        typer.Option(help="Share of the budget kept to audit the first method's model of the first run."),
    ] = 0.0,
    stop: opt.Stop = None,
    trials: opt.Trials = 10,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    encoding: opt.Encoding = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    thousands: opt.Thousands = None,
    sheet: opt.Sheet = None,
    vectors: opt.Vectors = None,
    use_protected: opt.UseProtected = opt.USE_PROTECTED,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Pass over the table in every round, or read it once; default by its size.",
        ),
    ] = None,
    device: opt.Device = None,
    out: opt.Out = None,
    figure: opt.Figure = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    no_color: opt.NoColor = False,
) -> None:
    """Compare methods on your own labelled table, before paying for labels."""
    from fairask.cli._output import Output
    from fairask.cli._requests import SimulateRequest

    report = out or (None if as_json else Path("report.html"))
    request = SimulateRequest(
        table, label, protected, positive or (), drop or (), text or (), text_model, strategy or (), profile,
        metric, tolerance, budget, batch, audit_share, stop, trials, seed, encoding,
        delimiter, decimal, thousands, sheet, vectors, use_protected, stream, device,
    )  # fmt: skip
    _simulate(request, jobs, Output(report, figure, quiet, as_json, no_color))


def _simulate(request: SimulateRequest, jobs: int | None, output: Output) -> None:
    from fairask.cli._output import BASELINE_FACTOR, check_counts, check_goal
    from fairask.cli._passes import passes
    from fairask.cli._play import About, play
    from fairask.cli._requests import command_of
    from fairask.data import TableFormat, TextColumns
    from fairask.experiment import Task, choose_methods, pool_size
    from fairask.experiment.open import open_table
    from fairask.experiment.table import TableColumns
    from fairask.pools import check_device, sub_pool_note, sub_pool_size

    methods = choose_methods(request.strategy, request.profile)
    rule = _rule(request.stop)
    metric = check_goal(request.metric, request.tolerance)
    output.check()
    if request.device is not None:
        check_device(request.device)
    share = request.audit_share
    if not 0 <= share < 1:
        raise UserError(f"--audit-share {share:g} is outside [0, 1)", "Give a share of the budget, e.g. 0.5")
    columns = TableColumns(
        request.label,
        request.protected,
        request.positive,
        request.drop,
        request.use_protected,
        TextColumns(request.text, request.text_model),
    )
    with passes(quiet=not output.talks) as progress:
        table = open_table(
            request.table,
            columns,
            stream=request.stream,
            form=TableFormat(
                request.encoding,
                request.delimiter,
                request.decimal,
                request.thousands,
                request.sheet,
                request.vectors,
            ),
            progress=progress,
        )
    pool = pool_size(table.rows)
    whole = min(opt.BUDGET, pool // 2) if request.budget is None else request.budget
    kept = round(share * whole)
    task = Task(
        metric=metric,
        tolerance=request.tolerance,
        budget=whole - kept,
        batch=min(opt.BATCH, whole - kept) if request.batch is None else request.batch,
        baseline_budget=min(BASELINE_FACTOR * (whole - kept), pool),
        seed=request.seed,
        blind=not request.use_protected,
        audited=methods[0].name,
        audit=kept,
        stop=rule,
        device=request.device,
    )
    check_counts(task, table.rows, request.trials, jobs)
    if pool > sub_pool_size(task.batch) and any(method.profile == "calibrated" for method in methods):
        table.notes = [*table.notes, f"unless the model is a linear score, {sub_pool_note(pool, task.batch)}"]
    positive = request.positive if len(request.positive) > 1 else (table.positive,)
    request = replace(request, positive=positive, budget=whole, batch=task.batch)
    about = About(
        title=request.table.rstrip("/").rpartition("/")[2] or request.table,
        target=f"{request.label} = {table.positive}",
        protected=", ".join(request.protected),
        command=command_of("simulate", request),
        answers=(table.negative, table.positive),
    )
    play(table, methods, task, request.trials, jobs, about, output)


def _rule(text: str | None) -> StoppingRule | None:
    from fairask.stopping import make_rule

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
