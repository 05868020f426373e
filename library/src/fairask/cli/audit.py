"""``fairask audit``: certify any model from its predictions, with as few labels as possible."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from fairask.cli._audit_options import AuditOptions
from fairask.cli._requests import takes_options

if TYPE_CHECKING:
    from fairask.cli._screen import Screen

EXAMPLE = """fairask audit scored.csv --predictions score --protected sex
fairask audit scored.csv --tell scored.audit/rows-1.csv
fairask audit history.csv --predictions score --protected sex --truth repaid"""

#: Exit code of the command for each verdict; 3 also while labels are awaited, so that 0 means certified.
EXIT_CODES = {"certified": 0, "refuted": 1, "undecided": 3}


@takes_options
def audit(options: AuditOptions) -> None:
    """Certify a model's fairness: write rows to label, take labels, write the certificate."""
    from fairask.cli._screen import Screen

    options = _with_new_names(options)
    screen = Screen(options.quiet, options.as_json, options.no_color)
    if options.plan_only:
        _plan(options, screen)
    elif options.truth is not None:
        _simulate(options, options.truth, screen)
    else:
        _advance(options, screen)


def _with_new_names(options: AuditOptions) -> AuditOptions:
    """Return the options with the values of old names under the new ones; say the new names."""
    for old, new, value in (
        ("--labels", "--tell", options.old_labels),
        ("--label", "--truth", options.old_label),
    ):
        if value is not None:
            typer.echo(f"{old} is called {new} now; the old name goes in version 0.4", err=True)
    tell, truth = options.tell or options.old_labels, options.truth or options.old_label
    return replace(options, tell=tell, truth=truth)


def _plan(options: AuditOptions, screen: Screen) -> None:
    """Say what budgets would buy."""
    request = options.request()
    found, notes = request.plan(request.checked_plan(options.runs), min(options.runs, 500))
    if options.out is not None:
        options.out.write_text(found.to_svg(), encoding="utf-8")
    screen.data({**found.to_dict(), "notes": notes})
    screen.notes(notes)
    screen.say(str(found), always=True)


def _simulate(options: AuditOptions, truth: str, screen: Screen) -> None:
    """Say what such audits would come to."""
    request = options.request()
    plan = request.checked_plan(options.runs)
    options.check_truth()
    table = request.opened_with_labels(truth, plan.metric)
    found = table.simulate(plan, options.runs)
    screen.data({"rows": table.rows, **plan.to_dict(), **found.to_dict(), "notes": table.notes})
    screen.say(
        f"{request.table}: {table.rows:,} rows, groups by {request.columns['protected']}", style="bold"
    )
    screen.notes(table.notes)
    screen.outcome(found)


def _advance(options: AuditOptions, screen: Screen) -> None:
    """Begin the audit or go on with it; end with the exit code of its verdict."""
    from fairask.audit.folder import AuditFolder
    from fairask.audit.certificate import Decided
    from fairask.cli._passes import passes

    tell = options.tell
    with passes(quiet=options.quiet or options.as_json) as progress:
        request = options.request(progress)
        request.checked_plan(options.runs)
        work = AuditFolder.open(request, begin=tell is None)
        new, corrected = (
            (0, 0) if tell is None else work.tell(tell, unchecked=options.unchecked, correct=options.correct)
        )
        screen.say(work.about(), style="bold")
        screen.notes(work.table.notes)
        if tell is not None:
            changed = f" {corrected:,} changed;" if corrected else ""
            screen.say(f"{new:,} new labels;{changed} {work.audit.n_labels:,} in all.")
        found = work.advance()
    screen.outcome(found)
    screen.data({**found.to_dict(), "notes": work.table.notes})
    verdict = found.verdict if isinstance(found, Decided) else "undecided"
    if code := EXIT_CODES[verdict]:
        raise typer.Exit(code)
