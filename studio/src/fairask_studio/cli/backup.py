"""``fairask study backup``: copies of a study."""

from __future__ import annotations

from fairask.cli._options import Json, say
from fairask_studio.cli._study import NewPlace, StudyPlace

EXAMPLE = "fairask study backup loans --to loans-monday"


def backup(study: StudyPlace, to: NewPlace, as_json: Json = False) -> None:
    """Copy a study while people work on it; a backup is a study, and restoring is the same command."""
    from fairask_studio.integrity import backup as write

    events = write(study, to)
    say(as_json, {"events": events, "to": to}, f"{events:,} events copied to {to}, and verified")
