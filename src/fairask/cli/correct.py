"""``fairask correct``: another label for a row."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import StudyPlace, Who, me, open_study, refit_after, say

__all__ = ["correct", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("correct", epilog="Example: fairask correct loans 17 good")(correct)


def correct(
    study: StudyPlace,
    row: Annotated[int, typer.Argument(help="Row number.")],
    label: Annotated[str, typer.Argument(help="The right label.")],
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Replace the label of a row."""
    with open_study(study) as opened:
        opened.correct(row, label, me(who))
        refit_after(opened, force=True)
    say(as_json, {"row": row, "label": label}, f"Row {row} is {label}")
