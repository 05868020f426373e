"""``fairask demo``: FARE against passive sampling on a table that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli import _options as opt

__all__ = ["demo", "register"]

DATASET, TRIALS, BUDGET, BATCH, TOLERANCE = "adult", 10, 700, 50, 0.1
#: Labels of the audit; no more than a pool has left.
AUDIT = 1000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    dataset: Annotated[str, typer.Option(help="A dataset of `fairask datasets list`.")] = DATASET,
    profile: opt.Profile = "calibrated",
    trials: opt.Trials = TRIALS,
    budget: opt.Budget = BUDGET,
    batch: Annotated[int, typer.Option(help="Labels a batch.")] = BATCH,
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
    from fairask.cli._compare import Setup, pool_size
    from fairask.cli._methods import chosen
    from fairask.cli._play import BASELINE_FACTOR, Output, check_counts, data_hash, play
    from fairask.cli.datasets import loaded

    output = Output(out or (None if as_json else Path("report.html")), figure, quiet, as_json, no_color)
    output.check()
    data = loaded(dataset)
    rows = len(data.y)
    audit = max(min(AUDIT, pool_size(rows) - budget), 0) if audit_labels is None else audit_labels
    check_counts(trials=trials, jobs=jobs, seed=seed, budget=budget, batch=batch, rows=rows, audit=audit)
    methods = chosen(None, profile)
    setup = Setup(
        data.X,
        data.y,
        data.groups,
        metric="tprp",
        tolerance=TOLERANCE,
        budget=budget,
        batch=batch,
        baseline_budget=min(BASELINE_FACTOR * budget, pool_size(rows)),
        seed=seed,
        audited=methods[0].key,
        audit=audit,
    )
    profile_option = "" if profile == "calibrated" else f"--profile {profile} "
    play(
        setup,
        methods,
        trials=trials,
        jobs=jobs,
        output=output,
        title=data.name.capitalize(),
        target=data.target,
        protected=data.protected,
        command=f"fairask demo --dataset {dataset} {profile_option}--trials {trials} "
        f"--budget {budget} --batch {batch} --audit-labels {audit} --seed {seed}",
        digest=data_hash(data.X, data.y, data.groups),
    )
