"""``fairask people``: who may sign in to the studio."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._study import StudyPlace, open_study

__all__ = ["people", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("people", epilog="Example: fairask people loans --add ada")(people)


def people(
    study: StudyPlace,
    add: Annotated[str | None, typer.Option(help="Add a person.")] = None,
    renew: Annotated[
        str | None, typer.Option(help="Give a person a new token and this role; the old token ends.")
    ] = None,
    role: Annotated[str, typer.Option(help="annotator or owner.")] = "annotator",
    remove: Annotated[str | None, typer.Option(help="Remove a person; their labels stay.")] = None,
) -> None:
    """List, add or remove the people who may sign in to the studio."""
    from fairask.study.events import AccessNoted
    from fairask.study.store.people import TOKEN_SECONDS

    with open_study(study) as opened:
        chosen = add or renew
        if chosen is not None:
            token = opened.people.add(chosen, role, renew=add is None)
            opened.store.append("owner", AccessNoted("gave a token to", chosen))
            days = int(TOKEN_SECONDS // 86400)
            typer.echo(
                f"{chosen} ({role}) signs in with this token for {days} days, shown only now:\n{token}"
            )
        elif remove is not None:
            opened.people.remove(remove)
            opened.store.append("owner", AccessNoted("removed", remove))
            typer.echo(f"{remove} can no longer sign in")
        else:
            for person in opened.people.all():
                typer.echo(f"{person.name}\t{person.role}\tsince {person.since}")
