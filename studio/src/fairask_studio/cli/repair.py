"""``fairask study repair``: the queue rebuilt from the events."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace, open_study

EXAMPLE = "fairask study repair loans"


def repair(
    study: StudyPlace,
    check: Annotated[
        bool, typer.Option("--check", help="Only look; exit 1 when something is wrong.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Rebuild the queue of drawn rows from the event log, after it was damaged."""
    with open_study(study) as opened:
        found = opened.store.repair(change=not check)
    words = "The queue is what the events say"
    if not found.sound:
        words = (
            f"The queue was wrong: {found.missing} places missing, {found.foreign} of rows never drawn, "
            f"{found.wrong} with other answers than the events say\n"
        )
        words += "Nothing was changed" if check else f"Rebuilt from the events; {found.leases} leases kept"
    data = {**vars(found), "sound": found.sound, "changed": not (check or found.sound)}
    say(as_json, data, words)
    if check and not found.sound:
        raise typer.Exit(1)
