"""The typer app: a list of commands, and one place where errors become words."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

import typer
from typer.core import TyperGroup

from fairask.cli._command import HelpfulApp, add_command
from fairask.cli._errors import guarded
from fairask.cli._streams import visible_output
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.audit.verification import Check

#: The library's commands in the order of ``fairask --help``. Each is a module of this package, which imports
#: what is heavy or optional inside its functions.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Before any label is paid for": {
        "demo": "Fair models against plain ones on the Adult table (a minute).",
        "simulate": "Compare methods on your own labelled table.",
        "bench": "Compare methods on several tables; it can be stopped and resumed.",
        "datasets": "The tables of the benchmark: list, info, pull.",
    },
    "Proof": {
        "audit": "Certify any model from its predictions and a few labels.",
        "report": "Fill in a form of a law from an audit: a page and JSON.",
        "watch": "Does a certified model still hold, month after month?",
        "verify": "Check that a study or a certificate is what it says.",
    },
    "Help": {
        "doctor": "What a table allows, and what blocks it; or what is installed.",
    },
}
#: Commands of fairask-studio: without it, they name what to install.
STUDIO = ("new", "ask", "tell", "status", "export", "studio", "connect", "study")


class Plugin(Protocol):
    """A module that adds commands."""

    SECTIONS: Mapping[str, Mapping[str, str]]  #: of ``fairask --help``: names of commands and what they do

    def register(self, app: typer.Typer) -> None:
        """Add the commands."""

    def verify(self, place: str, model: str | None, pool: str | None, key: str | None) -> Check:
        """Check what ``fairask verify`` was given and the library does not know: a study, or its model."""


@cache
def plugins() -> tuple[Plugin, ...]:
    """Load the modules that add commands, once per process."""
    found = sorted(entry_points(group="fairask.commands"), key=lambda point: point.name)
    return tuple(cast(Plugin, point.load()) for point in found)


class _Guarded(TyperGroup):
    """A group whose errors are two lines, and a traceback only with ``--debug``, wherever that stands."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        words = [word for word in given if word != "--debug"]
        standalone = options.get("standalone_mode", True)
        options["standalone_mode"] = False
        with visible_output():
            code = guarded(
                lambda: super(_Guarded, self).main(words, *rest, **options),
                debug=len(words) < len(given),
            )
        if standalone:
            sys.exit(code)
        return code

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by what they are for, each in one line of 80 columns."""
        joined = [section for plugin in plugins() for section in plugin.SECTIONS.items()]
        first, *rest = SECTIONS.items()
        sections = dict([first, *joined, *rest])
        width = max(len(name) for commands in sections.values() for name in commands)
        for title, commands in sections.items():
            formatter.write(f"\n{title}\n")
            for name, words in commands.items():
                formatter.write(f"  {name:<{width}}  {words}\n")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; one of the studio that is not installed is named with what to install."""
        if args and args[0] in STUDIO and args[0] not in self.commands:
            from fairask.installation import GET_STUDIO

            raise UserError(
                f"'fairask {args[0]}' belongs to the studio, which is not installed",
                GET_STUDIO,
            )
        return super().resolve_command(ctx, args)


app = HelpfulApp(
    cls=_Guarded,
    name="fairask",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # Help is as wide as the terminal, up to what is easy to read.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def _version(wanted: bool) -> None:
    if wanted:
        from fairask import __version__

        typer.echo(f"fairask {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    """Choose which rows to label so that a classifier is accurate and treats groups alike."""


for _name in (name for commands in SECTIONS.values() for name in commands):
    _module = import_module(f"fairask.cli.{_name}")
    if _name == "datasets":  # a group of commands
        _module.register(app)
    else:
        add_command(app, _module, _name)
for _plugin in plugins():
    _plugin.register(app)
