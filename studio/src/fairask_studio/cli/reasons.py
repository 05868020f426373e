"""``fairask study reasons``: why rows are skipped."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study reasons loans --set unclear --set 'wrong language'"


def reasons(
    study: StudyPlace,
    chosen: Annotated[
        list[str] | None, typer.Option("--set", help="A reason to choose from; repeat it for more.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Do not ask for reasons.")] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Count skipped rows by their reason, or set the reasons that annotators choose from."""
    if chosen and none:
        raise UserError("--set and --none exclude each other", "Leave out one of them")
    with open_study(study) as opened:
        if chosen or none:
            opened.change(skip_reasons=chosen or [], who=me(who))
        known, counted = list(opened.config.skip_reasons), opened.status()["skip_reasons"]
    lines = [f"Annotators choose from: {', '.join(known)}" if known else "Annotators are not asked why."]
    lines += [f"{found['skips']:>6}  {found['reason'] or 'no reason given'}" for found in counted]
    say(as_json, {"reasons": known, "skips": counted}, "\n".join(lines))
