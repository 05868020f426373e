"""``fairask limits``: how many rows one person may skip, and how fast they may answer."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import StudyPlace, Who, me, open_study, say

__all__ = ["limits", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("limits", epilog="Example: fairask limits loans --skips 20 --per-minute 30")(limits)


def limits(
    study: StudyPlace,
    skips: Annotated[int | None, typer.Option(help="Rows that one person may skip; 0: any.")] = None,
    per_minute: Annotated[int | None, typer.Option(help="Answers of one person in a minute; 0: any.")] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Show or change the limits on each person in the studio; owners see a warning when one is reached."""
    with open_study(study) as opened:
        if skips is not None or per_minute is not None:
            opened.change(most_skips=skips, most_per_minute=per_minute, who=me(who))
        config = opened.config
    data: dict[str, object] = {"most_skips": config.most_skips, "most_per_minute": config.most_per_minute}
    shown = [str(most or "any number of") for most in (config.most_skips, config.most_per_minute)]
    say(as_json, data, f"Each person: {shown[0]} skipped rows, {shown[1]} answers in a minute")
