"""``fairask skip``: rows that cannot be labelled."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._study import StudyPlace, Who, me, open_study

__all__ = ["register", "skip"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("skip")(skip)


def skip(
    study: StudyPlace,
    rows: Annotated[list[int], typer.Argument(help="Row numbers.")],
    who: Who = None,
) -> None:
    """Set aside rows that cannot be labelled."""
    with open_study(study) as opened:
        opened.skip(rows, me(who))
    typer.echo(f"{len(rows)} rows skipped")
