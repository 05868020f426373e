"""``fairask doctor``: what is installed, what is missing, and how to get it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import open_study, say, without_password

EXAMPLE = "fairask doctor"


def doctor(
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", help="Also open this study.", callback=without_password),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show versions, extras, database and browser, and how to get what is missing."""
    from fairask import __version__
    from fairask.installation import Finding, examine

    findings = examine()
    if study is not None:
        opened = open_study(study)
        findings.append(Finding("study", "ok", f"{opened.status()['labels']:,} labels in {study}"))
    width = max(len(finding.what) for finding in findings)
    lines = [f"fairask {__version__}"]
    for finding in findings:
        lines.append(f"{finding.what:<{width}}  {finding.state:<7}  {finding.found}")
        if finding.remedy:
            lines.append(f"{'':<{width}}  {'':<7}  -> {finding.remedy}")
    say(as_json, {"version": __version__, "findings": [asdict(f) for f in findings]}, "\n".join(lines))
