"""How help looks: commands in groups, options with a word for their value, examples as they are typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol, cast

import typer
from typer.core import TyperCommand, TyperGroup

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
        "verify": "Check that a study or a certificate is what it says.",
    },
    "Help": {
        "doctor": "What is installed, what is missing, and how to get it.",
    },
}

#: A word for the value of an option, by its name; "command name" comes first where one name has two meanings.
_WORDS = {
    **dict.fromkeys(
        ("label", "protected", "drop", "text", "predictions", "score", "cost", "known", "show", "truth"),
        "COLUMN",
    ),
    **dict.fromkeys(
        ("metric", "also", "strategy", "profile", "stop", "compare", "target", "backend"), "NAME"
    ),
    **dict.fromkeys(("add", "renew", "remove", "invite", "who", "by", "program", "role", "project"), "NAME"),
    **dict.fromkeys(("to", "text_model", "images"), "FOLDER"),
    **dict.fromkeys(("delimiter", "decimal", "thousands"), "SIGN"),
    **dict.fromkeys(("scheduler", "address", "url", "studio", "host"), "ADDRESS"),
    **dict.fromkeys(("since", "until"), "DATE"),
    **dict.fromkeys(("token_env", "secret_env"), "VARIABLE"),
    "vectors": "FILE",
    "positive": "VALUE",
    "classes": "A,B",
    "noise": "SHARE",
    "flags text": "TEXT",
    "gold label": "ANSWER",
    "gold remove": "ROW",
    "gold mark": "ROW",
    "verify predictions": "FILE",
    "audit out": "FOLDER",
    "bench out": "FOLDER",
    "export out": "FOLDER",
}
#: A word for the value of an option by its type, as any version of typer shows it.
_TYPES = (
    ("int", "N"),
    ("float", "NUMBER"),
    ("dir", "FOLDER"),
    ("file", "FILE"),
    ("path", "FILE"),
    ("%", "DATE"),
)
_SHOWN_TYPE = re.compile(r" (<[^>]*(?:>=?[^>]*)?>|[A-Z]+(?: RANGE)?)(\.\.\.)?$")


class _Formatter(Protocol):
    """What is used of the formatter of click, which newer versions of typer carry themselves."""

    def write(self, text: str) -> None: ...
    def write_dl(self, rows: list[tuple[str, str]]) -> None: ...
    def section(self, name: str) -> Any: ...


class _Parameter(Protocol):
    name: str
    param_type_name: str

    def get_help_record(self, context: Any) -> tuple[str, str] | None: ...


def write_commands(formatter: _Formatter, sections: Mapping[str, Mapping[str, str]]) -> None:
    """Write the commands by section, each in one line of 80 columns."""
    width = max(len(name) for commands in sections.values() for name in commands)
    for group, commands in sections.items():
        formatter.write(f"\n{group}\n")
        for name, words in commands.items():
            formatter.write(f"  {name:<{width}}  {words}\n")


class _HelpfulCommand(TyperCommand):
    """A command whose help has words for values, and examples that can be copied."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        kinds: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in cast("list[_Parameter]", self.get_params(ctx)):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                names = record[0].partition(" ")[0].strip("{}[]").upper()
            else:
                names = _SHOWN_TYPE.sub(f" {_word(self.name or '', parameter.name, record[0])}", record[0])
            kinds[parameter.param_type_name].append((names, record[1]))
        for title, rows in (("Arguments", kinds["argument"]), ("Options", kinds["option"])):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = [str(piece) for piece in super().collect_usage_pieces(ctx)]
        return [re.sub(r"\{(.*?)\}", r"\1", piece).upper() for piece in pieces]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            # Not wrapped: an example is copied as it stands.
            lines = self.epilog.removeprefix("Example: ").splitlines()
            formatter.write("\nExample:\n" if len(lines) == 1 else "\nExamples:\n")
            formatter.write("".join(f"  {line}\n" for line in lines))


def _word(command: str, option: str, shown: str) -> str:
    """Return a word for the value of an option."""
    named = _WORDS.get(f"{command} {option}") or _WORDS.get(option)
    kind = shown.rpartition(" <")[2].lower() if " <" in shown else shown.rpartition(" ")[2].lower()
    return named or next((word for part, word in _TYPES if part in kind), "TEXT")


class _HelpfulGroup(TyperGroup):
    """A group whose commands are described in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help or "") for name, command in self.commands.items()])


class HelpfulApp(typer.Typer):
    """An app or a group of commands whose commands have helpful help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"cls": _HelpfulGroup, **options})

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command."""
        return super().command(name, **{"cls": _HelpfulCommand, **options})


def add_command(app: typer.Typer, module: ModuleType, name: str) -> None:
    """Add the command of a module: the function of this name, and its EXAMPLE."""
    app.command(name, epilog=f"Example: {module.EXAMPLE}")(vars(module)[name])
