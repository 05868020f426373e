"""``fairask study reopen``: ask again for rows that were skipped, or that one person answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study reopen loans --by bob --since 2026-11-15 --look"


def reopen(
    study: StudyPlace,
    skipped: Annotated[bool, typer.Option("--skipped", help="Skipped rows only.")] = False,
    by: Annotated[str | None, typer.Option(help="Answers of this person only.")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on, UTC: 2026-11-15 14:30.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time, UTC.")] = None,
    look: Annotated[bool, typer.Option("--look", help="Count only; change nothing.")] = False,
    undo: Annotated[int | None, typer.Option(help="Give back what this event took away.")] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Take answers away and ask for their rows again; rows that an owner decided stay as they are."""

    if undo is not None and (skipped or by or since or until or look):
        raise UserError("--undo gives back a whole event", "Leave out the other options")
    with open_study(study) as opened:
        if undo is not None:
            back = opened.restore(undo, me(who))
            words = f"{back.answers} answers given back; {back.taken} not, since others have answered"
            say(as_json, asdict(back), words)
            return
        found = opened.reopen(by, since=since, until=until, skips=skipped, who=me(who), look=look)
    words = f"{found.answers} answers, {found.labels} of them labels"
    words = f"{words}, would be reopened" if look else f"{words}, reopened"
    if found.event is not None:
        words += f". To give them back: fairask study reopen {study} --undo {found.event}"
    say(as_json, asdict(found), words)
