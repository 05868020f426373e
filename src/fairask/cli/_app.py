"""The typer app: a list of commands, and one place where errors become words."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairask.cli._errors import guarded

__all__ = ["COMMANDS", "app"]

#: Modules of this package with a ``register(app)``, in the order of ``fairask --help``. They import what is
#: heavy or optional inside their functions.
COMMANDS = (
    "demo", "simulate", "new", "ask", "tell", "correct", "skip", "reasons", "flags", "gold", "reopen",
    "limits", "stop", "status", "fit", "certify", "export", "verify", "backup", "salvage", "repair",
    "people", "studio", "connect", "audit", "datasets", "bench", "doctor", "explain",
)  # fmt: skip


class _Guarded(TyperGroup):
    """A group whose errors are two lines, and a traceback only with ``--debug``, wherever that stands."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        words = [word for word in given if word != "--debug"]
        standalone = options.get("standalone_mode", True)
        options["standalone_mode"] = False
        code = guarded(
            lambda: super(_Guarded, self).main(words, *rest, **options),
            debug=len(words) < len(given),
        )
        if standalone:
            sys.exit(code)
        return code


app = typer.Typer(
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


for _name in COMMANDS:
    import_module(f"fairask.cli.{_name}").register(app)
