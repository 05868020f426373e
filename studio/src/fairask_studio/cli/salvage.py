"""``fairask study salvage``: what can be saved of a damaged study."""

from __future__ import annotations

from fairask.cli._options import Json, say
from fairask_studio.cli._study import NewPlace, StudyPlace

EXAMPLE = "fairask study salvage loans --to rescued"


def salvage(study: StudyPlace, to: NewPlace, as_json: Json = False) -> None:
    """Make a new study of what can be read of a damaged one."""
    from fairask_studio.whole import salvage as write

    found = write(study, to)
    say(as_json, vars(found), f"{found.events:,} events in {to}, of which {found.lost:,} could not be read")
