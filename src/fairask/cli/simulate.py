"""``fairask simulate``: how many labels would a method save on a table whose labels are known."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli import _options as opt
from fairask.cli._errors import WrongUse

if TYPE_CHECKING:
    from fairask.stopping import StoppingRule

__all__ = ["register", "simulate"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(
    table: Annotated[
        str,
        typer.Argument(
            help="A labelled CSV or Parquet file, a folder of Parquet files, or a URL (s3://...)."
        ),
    ],
    label: Annotated[str, typer.Option(help="The column to predict.")],
    protected: Annotated[str, typer.Option(help="The column whose groups are to be treated alike.")],
    positive: Annotated[str | None, typer.Option(help="The label's value that counts as 1.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out: a,b (or repeat the option).")
    ] = None,
    strategy: Annotated[
        list[str] | None, typer.Option(help="Compare this with passive sampling; repeat for more.")
    ] = None,
    profile: opt.Profile = "calibrated",
    metric: Annotated[str, typer.Option(help="tprp, fprp, eo or dp.")] = "tprp",
    tolerance: Annotated[float, typer.Option(help="Difference between groups to stay within.")] = 0.1,
    budget: Annotated[int | None, typer.Option(help="Labels a run; default 700, or half the pool.")] = None,
    batch: Annotated[
        int | None, typer.Option(help="Labels a batch; default a fourteenth of the budget.")
    ] = None,
    audit_share: Annotated[
        float,
        typer.Option(help="Share of the budget kept to audit the first method's model of the first run."),
    ] = 0.0,
    stop: Annotated[
        str | None,
        typer.Option(help="Also say where this rule would have stopped: plateau, plateau:ROUNDS:BY."),
    ] = None,
    trials: opt.Trials = 10,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    encoding: Annotated[str, typer.Option(help="Of a CSV file, e.g. latin-1.")] = "utf-8",
    exclude_protected: Annotated[
        bool,
        typer.Option("--exclude-protected", help="Models decide without the protected column."),
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Pass over the table in every round, or read it once; default by its size.",
        ),
    ] = None,
    out: opt.Out = None,
    figure: opt.Figure = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    no_color: opt.NoColor = False,
) -> None:
    """Compare methods on your own labelled table, before paying for labels."""
    from fairask.cli._audit_pool import shown_name
    from fairask.cli._compare import Setup, pool_size
    from fairask.cli._methods import chosen
    from fairask.cli._play import BASELINE_FACTOR, Output, check_counts, play
    from fairask.cli._simulate_place import read_or_stream
    from fairask.metrics import check_metric

    methods = chosen(strategy, profile)
    rule = _rule(stop)
    _check_goal(metric, tolerance)
    output = Output(out or (None if as_json else Path("report.html")), figure, quiet, as_json, no_color)
    output.check()
    if not 0 <= audit_share < 1:
        raise WrongUse(
            f"--audit-share {audit_share:g} is outside [0, 1)", "Give a share of the budget, e.g. 0.5"
        )
    place = read_or_stream(
        table,
        stream,
        methods,
        encoding=encoding,
        label=label,
        protected=protected,
        positive=positive,
        drop=drop or (),
        exclude_protected=exclude_protected,
        quiet=quiet or as_json,
    )
    rows = place.rows
    budget = min(700, pool_size(rows) // 2) if budget is None else budget
    kept, whole = round(audit_share * budget), budget
    budget -= kept
    batch = max(1, round(budget / 14)) if batch is None else batch
    check_counts(trials=trials, jobs=jobs, seed=seed, budget=budget, batch=batch, rows=rows, audit=kept)
    setup = (
        None
        if place.data is None
        else Setup(
            place.data.X,
            place.data.y,
            place.data.groups,
            metric=check_metric(metric),
            tolerance=tolerance,
            budget=budget,
            batch=batch,
            baseline_budget=min(BASELINE_FACTOR * budget, pool_size(rows)),
            seed=seed,
            stratify=True,
            audited=methods[0].key,
            audit=kept,
            blind=exclude_protected,
            stop=rule,
        )
    )
    again = [
        "fairask",
        "simulate",
        table,
        "--label",
        label,
        "--protected",
        protected,
        "--positive",
        place.positive,
    ]
    again += [word for name in drop or () for word in ("--drop", name)]
    again += [word for name in strategy or () for word in ("--strategy", name)]
    again += ["--profile", profile] if profile != "calibrated" else []
    again += ["--stop", stop] if stop else []
    again += [
        "--metric",
        metric,
        "--tolerance",
        f"{tolerance:g}",
        "--budget",
        str(whole),
        "--batch",
        str(batch),
    ]
    again += ["--audit-share", f"{audit_share:g}"] if audit_share else []
    again += ["--trials", str(trials), "--seed", str(seed)]
    again += ["--encoding", encoding] if encoding != "utf-8" else []
    again += ["--exclude-protected"] if exclude_protected else []
    again += [] if stream is None else ["--stream" if stream else "--no-stream"]
    about: dict[str, Any] = {
        "trials": trials,
        "output": output,
        "title": shown_name(table),
        "target": f"{label} = {place.positive}",
        "protected": protected,
        "command": shlex.join(again),
    }
    if setup is not None and place.data is not None:
        play(
            setup, methods, jobs=jobs, digest=place.data.digest, notes=place.data.notes, savings=True, **about
        )
        return
    from fairask.cli._simulate_place import play_streamed

    assert place.streamed is not None
    play_streamed(
        place.streamed,
        methods,
        metric=check_metric(metric),
        tolerance=tolerance,
        budget=budget,
        batch=batch,
        seed=seed,
        audit=kept,
        baseline_budget=min(BASELINE_FACTOR * budget, pool_size(rows)),
        blind=exclude_protected,
        stop=rule,
        **about,
    )


def _rule(text: str | None) -> StoppingRule | None:
    from fairask.stopping import make_rule

    if text is None:
        return None
    try:
        rule = make_rule(text)
    except ValueError as error:
        raise WrongUse(str(error), "--stop plateau, or plateau:ROUNDS:BY") from error
    if "certified" in text:
        raise WrongUse(
            "--stop certified: a simulated run is audited once, at its end",
            "Say --stop plateau, and --audit-share for the audit; fairask.stopping.Certified is for loops",
        )
    return rule


def _check_goal(metric: str, tolerance: float) -> None:
    from fairask.errors import suggest
    from fairask.metrics import METRICS

    if metric not in METRICS:
        raise WrongUse(f"unknown metric {metric!r}", f"--metric: {suggest(metric, METRICS)}")
    if not 0 <= tolerance <= 1:
        raise WrongUse(f"--tolerance {tolerance:g} is outside [0, 1]", "Give a difference of rates, e.g. 0.1")
