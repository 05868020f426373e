"""Commands of other packages, found by the entry points ``fairask.commands``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import typer


#: Commands of fairask-studio: without it, they name what to install.
STUDIO = ("new", "ask", "tell", "status", "export", "studio", "connect", "study")


class Check(Protocol):
    """Whether something is what it says; written as a string, it is the good news."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong."""


class Plugin(Protocol):
    """A module that adds commands."""

    SECTIONS: Mapping[str, Mapping[str, str]]  #: of ``fairask --help``: names of commands and what they do

    def register(self, app: typer.Typer) -> None:
        """Add the commands."""

    def verify(self, place: str, model: str | None, pool: str | None) -> Check:
        """Check what ``fairask verify`` was given and the library does not know: a study, or its model."""


@cache
def plugins() -> tuple[Plugin, ...]:
    """Load the modules that add commands, once per process."""
    found = sorted(entry_points(group="fairask.commands"), key=lambda point: point.name)
    return tuple(cast(Plugin, point.load()) for point in found)
