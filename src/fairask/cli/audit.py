"""``fairask audit``: certify any model from its predictions, with as few labels as possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli import _options as opt
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.certify.audit import AuditPlan
    from fairask.certify.audit.request import AuditRequest

__all__ = ["EXAMPLE", "EXIT_CODES", "audit"]

EXAMPLE = """fairask audit scored.csv --predictions score --protected sex
fairask audit scored.csv --tell scored.audit/rows-1.csv
fairask audit history.csv --predictions score --protected sex --truth repaid"""

#: Exit code of the command for each verdict; 3 also if some labels were told and more are awaited.
EXIT_CODES = {"certified": 0, "refuted": 1, "undecided": 3}
#: Old names of options, and the new ones.
_RENAMED = {"--labels": "--tell", "--label": "--truth"}


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, show_default=False)


def audit(
    pool: Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of Parquet files, or a URL.")],
    predictions: Annotated[str | None, _option("Predictions: 0/1, classes, or probabilities of 1.")] = None,
    protected: Annotated[
        list[str] | None,
        _option("The column whose groups are to be treated alike (repeat; age:30,50 for bands)."),
    ] = None,
    tell: Annotated[
        Path | None, _option("A sheet that was filled in: takes its labels and goes on with the audit.")
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take labels by row number alone, without comparing rows.")
    ] = False,
    correct: Annotated[
        bool, typer.Option("--correct", help="Labels that differ from those told before replace them.")
    ] = False,
    show: Annotated[
        list[str] | None,
        _option("Show this column to who labels: prediction, score, protected (or repeat it)."),
    ] = None,
    truth: Annotated[
        str | None, _option("A column of known labels: simulates such audits, and writes nothing.")
    ] = None,
    positive: Annotated[
        list[str] | None, _option("The class that counts as 1; repeat it for several.")
    ] = None,
    metric: Annotated[
        str | None,
        _option("tprp, fprp, eo, dp, tpr-ratio, fpr-ratio or selection-ratio; default tprp."),
    ] = None,
    also: Annotated[list[str] | None, _option("Another metric to decide, e.g. fprp or fprp:0.15.")] = None,
    at_least: Annotated[float | None, _option("Of a ratio: the least allowed, e.g. 0.8.")] = None,
    compare: Annotated[str | None, _option("pairs (default), or rest: each group with all others.")] = None,
    score: Annotated[str | None, _option("A column that may tell positives: fewer labels.")] = None,
    cost: Annotated[
        str | None, _option("A column with the cost of a label; --budget is a cost then.")
    ] = None,
    known: Annotated[str | None, _option("A column of labels that exist already, empty elsewhere.")] = None,
    noise: Annotated[str | None, _option("Share of wrong labels: 0.05, or a=0.1,b=0.02-0.05.")] = None,
    unknown_groups: Annotated[
        bool,
        typer.Option(
            "--unknown-groups", help="Rows without a group may be of any group: the bounds allow for it."
        ),
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Say what budgets buy, and write nothing (--out: a plot, SVG).")
    ] = False,
    tolerance: Annotated[
        float | None, _option("Difference to certify; default 0.1.", "--tolerance", "--alpha")
    ] = None,
    delta: Annotated[float | None, _option("Probability of error; default 0.05.")] = None,
    budget: Annotated[int | None, _option("Most labels to ask for; default 1000.")] = None,
    looks: Annotated[int | None, _option("Batches of labels; default 5.")] = None,
    target: Annotated[str | None, _option("Whose difference decides: pool (default) or population.")] = None,
    runs: Annotated[int, typer.Option(help="Audits to simulate, with --truth.")] = 500,
    seed: Annotated[int | None, _option("The same seed asks for the same rows; default 0.")] = None,
    stream: Annotated[
        bool | None,
        _option(
            "Count predictions where they are; default so for a URL, or above a million rows.",
            "--stream/--no-stream",
        ),
    ] = None,
    device: Annotated[
        str | None, _option("Count a streamed table on this device of PyTorch: cuda, cuda:1, mps or cpu.")
    ] = None,
    encoding: opt.Encoding = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    thousands: opt.Thousands = None,
    sheet: opt.Sheet = None,
    out: Annotated[Path | None, _option("The audit's folder; default NAME.audit beside the pool.")] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the outcome only.")] = False,
    as_json: opt.Json = False,
    no_color: opt.NoColor = False,
    old_labels: Annotated[Path | None, typer.Option("--labels", hidden=True)] = None,
    old_label: Annotated[str | None, typer.Option("--label", hidden=True)] = None,
) -> None:
    """Certify a model's fairness: write rows to label, take labels, write the certificate."""
    from fairask.certify.audit.folder import AuditFolder
    from fairask.certify.audit.outcome import Decided
    from fairask.certify.audit.request import AuditRequest
    from fairask.cli._passes import passes
    from fairask.data import TableFormat
    from fairask.pools import check_device

    _say_new_names({"--labels": old_labels, "--label": old_label})
    tell, truth = tell or old_labels, truth or old_label
    form = TableFormat(encoding, delimiter, decimal, thousands, sheet)
    if device is not None:
        check_device(device)
        stream = True if stream is None else stream
    given = {
        "metric": metric, "tolerance": tolerance, "delta": delta, "budget": budget,
        "looks": looks, "target": target, "random_state": seed, "compare": compare, "also": also or None,
    }  # fmt: skip
    settings = {name: value for name, value in given.items() if value is not None}
    _take_ratio(settings, at_least)
    plan = _plan(settings, runs)
    groups, good = (v[0] if v and len(v) == 1 else v or None for v in (protected, positive))
    columns = {
        "predictions": predictions, "protected": groups,
        "positive": good, "score": score, "cost": cost, "known": known, "noise": noise,
        "unknown_groups": "yes" if unknown_groups else None,
    }  # fmt: skip
    screen = _Screen(quiet, as_json, no_color)
    if plan_only:
        found_plan, notes = AuditRequest(pool, columns, settings, form=form).plan(plan, min(runs, 500))
        if out is not None:
            out.write_text(found_plan.to_svg(), encoding="utf-8")
        screen.data({**found_plan.to_dict(), "notes": notes})
        screen.notes(notes)
        screen.say(str(found_plan), always=True)
        return
    if truth is not None:
        for name, value in (("tell", tell), ("out", out), ("target", target)):
            if value is not None:
                raise UserError(
                    f"--truth simulates audits of the pool, so --{name} cannot be combined with it",
                    f"Leave out --{name}, or --truth",
                )
        _simulate(AuditRequest(pool, columns, settings, form=form), truth, plan, runs, screen)
        return
    with passes(quiet=quiet or as_json) as progress:
        request = AuditRequest(
            pool, columns, settings, out, form, stream, progress, tuple(show or ()), device
        )
        work = AuditFolder.open(request, begin=tell is None)
        told = (0, 0) if tell is None else work.tell(tell, unchecked=unchecked, correct=correct)
        screen.say(work.about(), style="bold")
        screen.notes(work.table.notes)
        if tell is not None:
            changed = f" {told[1]:,} changed;" if told[1] else ""
            screen.say(f"{told[0]:,} new labels;{changed} {work.audit.n_labels:,} in all.")
        found = work.advance()
    screen.say(found.headline(), always=True, style="bold")
    screen.say(found.details())
    screen.data({**found.to_dict(), "notes": work.table.notes})
    # A gate must not pass while labels are awaited; writing the first rows is no failure.
    first = tell is None and not work.audit.n_labels
    verdict = found.verdict if isinstance(found, Decided) else "certified" if first else "undecided"
    if code := EXIT_CODES[verdict]:
        raise typer.Exit(code)


def _say_new_names(given: dict[str, object]) -> None:
    """Say the new names of options that were given by their old ones."""
    for old, value in given.items():
        if value is not None:
            typer.echo(f"{old} is called {_RENAMED[old]} now; the old name goes in version 0.4", err=True)


def _take_ratio(settings: dict[str, Any], at_least: float | None) -> None:
    """Turn ``--at-least`` into a tolerance: 1 minus the least ratio allowed."""
    if at_least is None:
        return
    if not str(settings.get("metric", "")).endswith("-ratio") or "tolerance" in settings:
        raise UserError(
            "--at-least is for a ratio, and instead of --tolerance",
            "Give --metric tpr-ratio, fpr-ratio or selection-ratio with it",
        )
    if not 0 < at_least < 1:
        raise UserError(f"--at-least {at_least:g} is no ratio between 0 and 1", "Give one, such as 0.8")
    settings["tolerance"] = round(1 - at_least, 12)


def _simulate(request: AuditRequest, label: str, plan: AuditPlan, runs: int, screen: _Screen) -> None:
    table = request.opened_with_labels(label, plan.metric)
    found = table.simulate(plan, runs)
    screen.data({"rows": table.rows, **plan.to_dict(), **found.to_dict(), "notes": table.notes})
    screen.say(
        f"{request.table}: {table.rows:,} rows, groups by {request.columns['protected']}", style="bold"
    )
    screen.notes(table.notes)
    screen.say(found.headline(), always=True, style="bold")
    screen.say(found.details())


def _plan(settings: dict[str, Any], runs: int) -> AuditPlan:
    """Check the options that make the plan."""
    from fairask.certify.audit import AuditPlan
    from fairask.checks import check_count

    try:
        check_count(runs, "runs")
        return AuditPlan(**settings)
    except ValueError as error:
        what, _, remedy = str(error).partition("; ")
        raise UserError(
            f"--{what.replace('random_state=', 'seed=')}", remedy or "See fairask audit --help"
        ) from error


class _Screen:
    """Prints for people, for programs (JSON), or the outcome only."""

    def __init__(self, quiet: bool, as_json: bool, no_color: bool) -> None:
        from fairask.cli._screen import console

        self._json, self._quiet, self._console = as_json, quiet, console(no_color=no_color)

    def say(self, text: str = "", *, always: bool = False, style: str | None = None) -> None:
        """Print for people; ``always`` also when quiet."""
        if not self._json and (always or not self._quiet):
            self._console.print(text, style=style, markup=False)

    def notes(self, notes: list[str]) -> None:
        """Print what the owner of the table should know."""
        from fairask.cli._screen import print_notes

        if not self._json and not self._quiet:
            print_notes(self._console, notes)

    def data(self, values: dict[str, Any]) -> None:
        """Print for programs, if that was asked for."""
        if self._json:
            print(json.dumps(values, indent=1, allow_nan=False))
