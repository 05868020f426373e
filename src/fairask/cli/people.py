"""``fairask people``: who may sign in to the studio."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._study import StudyPlace, open_study

__all__ = ["people", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("people")(people)


def people(
    study: StudyPlace,
    add: Annotated[str | None, typer.Option(help="Add a person, or give them a new token.")] = None,
    role: Annotated[str, typer.Option(help="annotator or owner.")] = "annotator",
    remove: Annotated[str | None, typer.Option(help="Remove a person; their labels stay.")] = None,
) -> None:
    """List, add or remove the people who may sign in to the studio."""
    with open_study(study) as opened:
        if add is not None:
            token = opened.people.add(add, role)
            typer.echo(f"{add} ({role}) signs in with this token, shown only now:\n{token}")
        elif remove is not None:
            opened.people.remove(remove)
            typer.echo(f"{remove} can no longer sign in")
        else:
            for person in opened.people.all():
                typer.echo(f"{person.name}\t{person.role}\tsince {person.since}")
