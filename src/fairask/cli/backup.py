"""``fairask backup``: copies of a study."""

from __future__ import annotations

import typer

from fairask.cli._options import Json
from fairask.cli._study import NewPlace, StudyPlace, say

__all__ = ["backup", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backup", epilog="Example: fairask backup loans --to loans-monday")(backup)


def backup(
    study: StudyPlace,
    to: NewPlace,
    as_json: Json = False,
) -> None:
    """Copy a study while people work on it; a backup is a study, and restoring is the same command."""
    from fairask.study.whole import backup as write

    events = write(study, to)
    say(as_json, {"events": events, "to": to}, f"{events:,} events copied to {to}, and verified")
