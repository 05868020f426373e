"""What the commands on a study share."""

from __future__ import annotations

import getpass
import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fairask.study import Study

__all__ = ["StudyPlace", "Who", "me", "open_study", "say"]

StudyPlace = Annotated[
    str, typer.Argument(help="The study: a folder, or a postgresql:// URL.", metavar="STUDY")
]
Who = Annotated[str | None, typer.Option("--as", help="Who labels; default your login name.")]


def open_study(target: str) -> Study:
    """Open a study; imports what is heavy only now."""
    from fairask.study import Study

    return Study.open(target)


def me(who: str | None) -> str:
    """Return the name that was given, or the login name."""
    return who or getpass.getuser()


def say(as_json: bool, data: dict[str, object], words: str) -> None:
    """Print the words, or with ``--json`` the data."""
    typer.echo(json.dumps(data, ensure_ascii=False) if as_json else words)
