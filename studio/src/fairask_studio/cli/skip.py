"""``fairask study skip``: rows that cannot be labelled."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study skip loans 17 18 --reason 'wrong language'"


def skip(
    study: StudyPlace,
    rows: Annotated[list[int], typer.Argument(help="Row numbers.")],
    reason: Annotated[
        str, typer.Option(help="Why: one of the study's reasons (fairask study reasons) or your own words.")
    ] = "",
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Set aside rows that cannot be labelled."""
    with open_study(study) as opened:
        opened.skip(rows, me(who), reason=reason)
    say(as_json, {"skipped": rows, "reason": reason}, f"{len(rows)} rows skipped")
