"""``fairask study people``: who may sign in to the studio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace

if TYPE_CHECKING:
    from fairask_studio.store import Store

EXAMPLE = "fairask study people loans --add ada"


def people(
    study: StudyPlace,
    add: Annotated[str | None, typer.Option(help="Add a person.")] = None,
    renew: Annotated[
        str | None, typer.Option(help="Give a person a new token and this role; the old token ends.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="annotator (the default), reviewer or owner.")] = None,
    remove: Annotated[
        str | None, typer.Option(help="Remove a person or a program; their labels stay.")
    ] = None,
    program: Annotated[str | None, typer.Option(help="Give a program a token of its own.")] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Last day of the program's token; default 90 days from now."),
    ] = None,
    invite: Annotated[
        str | None, typer.Option(help="Make a link that signs a person in once; they are added if new.")
    ] = None,
    hours: Annotated[float, typer.Option(min=0.1, max=720, help="How long the link can be used.")] = 72.0,
    address: Annotated[
        str, typer.Option(help="The studio's address, for the link: https://studio.example.org.")
    ] = "",
    as_json: Json = False,
) -> None:
    """List, add or remove the people who may sign in to the studio, and the programs that may use its API.

    For a folder of studies, or postgresql://HOST: the people of the home page, who own all of its studies.
    """
    from fairask_studio.events import AccessNoted, end_of_day, now
    from fairask_studio.store.people import TOKEN_SECONDS

    makes = add is not None or invite is not None or program is not None
    with _opened(study, role, make=makes) as (opened, role):
        chosen = add or renew
        if chosen is not None:
            token = opened.people.add(chosen, role, renew=add is None)
            opened.append("owner", AccessNoted("gave a token to", chosen))
            days = int(TOKEN_SECONDS // 86400)
            words = f"{chosen} ({role}) signs in with this token for {days} days, shown only now:\n{token}"
            say(as_json, {"person": chosen, "role": role, "token": token, "days": days}, words)
        elif program is not None:
            ends = datetime.now(UTC) + timedelta(seconds=TOKEN_SECONDS) if until is None else until
            token = opened.people.add_program(program, role, end_of_day(ends.date()))
            opened.append("owner", AccessNoted("gave a token to the program", program))
            day = f"{ends:%Y-%m-%d}"
            words = f"{program} ({role}) uses the API with this token until {day}, shown only now:\n{token}"
            say(as_json, {"program": program, "role": role, "token": token, "until": day}, words)
        elif invite is not None:
            if invite not in {person.name for person in opened.people.all()}:
                opened.people.add(invite, role)
            code = opened.people.invite(invite, 3600 * hours)
            opened.append("owner", AccessNoted("invited", invite))
            link = f"{address.rstrip('/')}/?code={code}"
            words = f"{invite} signs in once, within {hours:g} hours, by this link, shown only now:\n{link}"
            say(as_json, {"person": invite, "link": link, "hours": hours}, words)
        elif remove is not None:
            opened.people.remove(remove)
            opened.append("owner", AccessNoted("removed", remove))
            say(as_json, {"removed": remove}, f"{remove} can no longer sign in")
        else:
            persons, programs = opened.people.all(), opened.people.programs()
            lines = [f"{person.name}\t{person.role}\tsince {person.since}" for person in persons]
            for known in programs:
                ended = "ended" if known.until <= now() else "until"
                lines.append(f"{known.name}\tprogram, {known.role}\t{ended} {known.until[:10]}")
            data: dict[str, object] = {
                "people": [{"name": p.name, "role": p.role, "since": p.since} for p in persons],
                "programs": [{"name": p.name, "role": p.role, "until": p.until} for p in programs],
            }
            say(as_json, data, "\n".join(lines) or "Nobody yet: --add NAME")


@contextmanager
def _opened(place: str, role: str | None, *, make: bool) -> Iterator[tuple[Store, str]]:
    """Open the store of a study, or of the home page of several; yield it and the role, or the usual one."""
    from fairask_studio import StudyError
    from fairask_studio.store import Store, is_server

    if not is_server(place) and (not Path(place).is_dir() or (Path(place) / "study.db").exists()):
        store, usual = Store.open(place), "annotator"
    else:
        from fairask_studio.pages import shelf_of

        usual = "owner"
        if role not in (None, usual):
            raise StudyError(
                f"{place!r} holds several studies, and its people own them all", "Leave out --role"
            )
        shelf = shelf_of(place)
        found = shelf.people(make=make)
        shelf.close()
        if found is None:
            raise StudyError(f"no study in {place!r}, and no people of a home page", "Add one: --add NAME")
        store = found
    try:
        yield store, role or usual
    finally:
        store.close()
