"""``fairask doctor``: what a table allows and what blocks it; without a table, what is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairask.cli import _options as opt
from fairask.cli._command import takes_options
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.installation import Finding
    from fairask.tables.groups import MissingGroups

EXAMPLE = """fairask doctor
fairask doctor loans.csv --protected sex --label repaid --predictions score"""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of ``fairask doctor``."""

    table: Annotated[
        str | None,
        typer.Argument(help="A file, a folder of Parquet files, or a URL. Without one: what is installed."),
    ] = None
    label: Annotated[str | None, typer.Option(help="The column to predict.")] = None
    protected: Annotated[
        list[str] | None, typer.Option(help="The column whose groups are compared (repeat; age:30,50).")
    ] = None
    predictions: Annotated[str | None, typer.Option(help="Predictions of a model that you have.")] = None
    positive: opt.Positive = None
    drop: opt.Drop = None
    keep: opt.Keep = None
    missing_groups: opt.MissingGroups = None
    metric: Annotated[str, typer.Option(help="tprp, fprp, eo, dp, or a ratio as of fairask audit.")] = "tprp"
    tolerance: opt.Tolerance = 0.1
    reading: opt.Reading
    as_json: opt.Json = False


@takes_options
def doctor(options: DoctorOptions) -> None:
    """Say what can be computed from a table, what blocks it, and how many labels unblock it."""
    if options.table is None:
        _installation(options)
    else:
        _table(options, options.table)


def _installation(options: DoctorOptions) -> None:
    """Show versions, extras and browser, and how to get what is missing."""
    from fairask import __version__
    from fairask.installation import examine

    for name in ("label", "protected", "predictions", "positive", "drop", "keep", "missing_groups"):
        if getattr(options, name) is not None:
            option = name.replace("_", "-")
            raise UserError(
                f"--{option} is about a table, and none was given", "Give it: fairask doctor TABLE"
            )
    findings = examine()
    words = "\n".join([f"fairask {__version__}", *_lines(findings)])
    opt.say(options.as_json, {"version": __version__, "findings": [asdict(f) for f in findings]}, words)


def _table(options: DoctorOptions, place: str) -> None:
    """Show what a table allows; end with 1 if something that was asked for is blocked."""
    from fairask.audit.plan import check_question
    from fairask.examination import examine_table

    try:
        found = examine_table(
            place,
            label=options.label,
            protected=options.protected or (),
            predictions=options.predictions,
            positive=options.positive or (),
            drop=options.drop or (),
            keep=options.keep or (),
            missing_groups=cast("MissingGroups | None", options.missing_groups),
            metric=check_question(options.metric),
            tolerance=options.tolerance,
            form=options.reading.format(),
        )
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        what, _, remedy = str(error).partition("; ")
        raise UserError(f"--{what}", remedy or "See fairask doctor --help") from error
    words = [*_lines(found.findings), "", "What can be done", *_lines(found.tasks)]
    parts = {"findings": found.findings, "tasks": found.tasks}
    data: dict[str, object] = {name: [asdict(f) for f in part] for name, part in parts.items()}
    opt.say(options.as_json, {"table": place, "blocked": found.blocked, **data}, "\n".join(words))
    if found.blocked:
        raise typer.Exit(1)


def _lines(findings: Sequence[Finding]) -> list[str]:
    """Return one line per finding, and one for what to do."""
    width = max(len(finding.what) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.what:<{width}}  {finding.state:<7}  {finding.found}")
        if finding.remedy:
            lines.append(f"{'':<{width}}  {'':<7}  -> {finding.remedy}")
    return lines
