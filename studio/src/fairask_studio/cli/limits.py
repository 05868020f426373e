"""``fairask study limits``: how many rows one person may skip, and how fast they may answer."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study limits loans --skips 20 --per-minute 30"


def limits(
    study: StudyPlace,
    skips: Annotated[int | None, typer.Option(help="Rows that one person may skip; 0: any.")] = None,
    per_minute: Annotated[int | None, typer.Option(help="Answers of one person in a minute; 0: any.")] = None,
    gold_every: Annotated[
        int | None, typer.Option(help="Of so many answers of a person one is to a gold row; 0: none.")
    ] = None,
    gold_least: Annotated[
        int | None,
        typer.Option(help="Warn when a person is right on fewer gold rows, in per cent; 0: never."),
    ] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Show or change the limits on each person in the studio; owners see a warning when one is reached."""
    with open_study(study) as opened:
        if any(limit is not None for limit in (skips, per_minute, gold_every, gold_least)):
            opened.change(
                most_skips=skips,
                most_per_minute=per_minute,
                gold_every=gold_every,
                gold_least=gold_least,
                who=me(who),
            )
        config = opened.config
    names = ("most_skips", "most_per_minute", "gold_every", "gold_least")
    shown = [str(most or "any number of") for most in (config.most_skips, config.most_per_minute)]
    gold = f"one gold row in {config.gold_every} answers" if config.gold_every else "no gold rows"
    gold += (
        f", a warning below {config.gold_least} % right" if config.gold_least and config.gold_every else ""
    )
    words = f"Each person: {shown[0]} skipped rows, {shown[1]} answers in a minute, {gold}"
    say(as_json, {name: vars(config)[name] for name in names}, words)
