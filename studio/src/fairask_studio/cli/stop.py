"""``fairask study stop``: the rule that ends a study."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study stop loans plateau"


def stop(
    study: StudyPlace,
    rule: Annotated[str, typer.Argument(help="plateau, plateau:ROUNDS, plateau:ROUNDS:BY, or none.")],
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Change the rule that ends a study before its budget is spent."""
    with open_study(study) as opened:
        opened.change(stop="" if rule == "none" else rule, who=me(who))
        reason = opened.state().stop_reason
    say(as_json, {"reason": reason}, f"The study stops now: {reason}" if reason else "The study goes on")
