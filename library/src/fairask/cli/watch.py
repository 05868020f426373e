"""``fairask watch``: does the model of an audit still deserve its certificate?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._command import takes_options
from fairask.cli.audit import EXIT_CODES
from fairask.errors import UserError

EXAMPLE = """fairask watch scored.audit march.csv --month 2026-03
fairask watch scored.audit --tell scored.audit/watch-2026-03.csv
fairask watch scored.audit march.csv --month 2026-03 --known repaid"""


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of ``fairask watch``."""

    audit: Annotated[Path, typer.Argument(help="The folder of the audit that certified the model.")]
    table: Annotated[str | None, typer.Argument(help="New rows, with the audit's columns.")] = None
    month: Annotated[str | None, typer.Option(help="The month of the new rows: 2026-03.")] = None
    tell: Annotated[Path | None, typer.Option(help="A sheet that was filled in.")] = None
    known: Annotated[
        str | None,
        typer.Option(help="A column of outcomes, empty where there is none: only these are asked."),
    ] = None
    score: Annotated[str | None, typer.Option(help="A score, if the audit has none.")] = None
    labels: Annotated[int | None, typer.Option(help="Labels from this month on; default 200.")] = None
    valid_for: Annotated[int | None, typer.Option(help="Months that a certificate holds; default 12.")] = None
    horizon: Annotated[
        int | None, typer.Option(help="Months to watch, which share the error; default 36.")
    ] = None
    certified: Annotated[
        str | None, typer.Option(help="Month of the certificate; default that of certificate.json.")
    ] = None
    reading: opt.Reading
    quiet: opt.Quiet = False
    as_json: opt.Json = False
    no_color: opt.NoColor = False


@takes_options
def watch(options: WatchOptions) -> None:
    """Add a month's rows to a watch, tell their labels, or say where the model stands."""
    from fairask.audit.watch_folder import WatchFolder
    from fairask.cli._screen import Screen
    from fairask.report.pages import watch_page
    from fairask.report.words import shift_sentences

    if (options.table is None) != (options.month is None):
        raise UserError(
            "a month's table and --month belong together", "fairask watch AUDIT TABLE --month 2026-03"
        )
    screen, form = Screen(options.quiet, options.as_json, options.no_color), options.reading.format()
    settings = {"labels": options.labels, "valid_for": options.valid_for, "horizon": options.horizon}
    try:
        work = WatchFolder.open(options.audit, settings, options.certified)
    except UserError:
        raise
    except ValueError as error:
        raise UserError(
            f"--{error}".replace("valid_for=", "valid-for="), "See fairask watch --help"
        ) from error
    sheet = None
    if options.table is not None and options.month is not None:
        sheet = work.add(
            options.table, options.month, form=form,
            score=options.score, known=options.known, labels=options.labels,
        )  # fmt: skip
    if options.tell is not None:
        told = work.tell(options.tell, form=form)
        screen.say(f"{told:,} labels told.")
    awaited = len(work.watch.months[-1].awaited) if work.watch.months else 0
    standing, shift = work.watch.standing(), work.watch.shift()
    screen.outcome(standing)
    for line in shift_sentences(shift):
        screen.say(line)
    if awaited:
        where = sheet or options.audit / f"watch-{work.watch.months[-1].name}.csv"
        screen.say(f"{awaited:,} rows wait for a label: {where}", always=True)
        screen.say(f"Then: fairask watch {options.audit} --tell {where}")
    page = work.publish(watch_page(work.watch))
    screen.say(f"page: {page}")
    screen.data({**standing.to_dict(), "awaited": awaited, "shift": shift, "page": str(page)})
    code = EXIT_CODES[standing.verdict]
    if code or awaited:
        raise typer.Exit(code or EXIT_CODES["undecided"])
