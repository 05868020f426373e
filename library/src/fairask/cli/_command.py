"""What a command is here: options from a dataclass, help with a word for each value, and examples."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

#: A word for the value of an option, by its name; "command name" comes first where one name has two meanings.
_WORDS = {
    **dict.fromkeys(
        (
            "label",
            "protected",
            "drop",
            "keep",
            "text",
            "predictions",
            "score",
            "cost",
            "known",
            "show",
            "truth",
        ),
        "COLUMN",
    ),
    **dict.fromkeys(("metric", "also", "strategy", "profile", "stop", "compare", "target"), "NAME"),
    **dict.fromkeys(("add", "renew", "remove", "invite", "who", "by", "program", "role", "project"), "NAME"),
    **dict.fromkeys(("to", "text_model", "media"), "FOLDER"),
    **dict.fromkeys(("delimiter", "decimal", "thousands"), "SIGN"),
    **dict.fromkeys(("address", "url", "studio", "host"), "ADDRESS"),
    **dict.fromkeys(("since", "until"), "DATE"),
    **dict.fromkeys(("token_env", "secret_env"), "VARIABLE"),
    "vectors": "FILE",
    "positive": "VALUE",
    "missing_groups": "WAY",
    "classes": "A,B",
    "noise": "SHARE",
    "answers": "FILE",
    "sign": "KEY",
    "fact": "NAME=TEXT",
    "report form": "NAME",
    "report beside": "AUDIT",
    "flags text": "TEXT",
    "gold label": "ANSWER",
    "gold remove": "ROW",
    "gold mark": "ROW",
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


class _Parameter(Protocol):
    name: str
    param_type_name: str

    def get_help_record(self, context: Any) -> tuple[str, str] | None: ...


class _HelpfulCommand(TyperCommand):
    """A command whose help has words for values, and examples that can be copied."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; what is wrong with them is wrong with this command, which has the help."""
        try:
            return list(super().parse_args(ctx, args))
        except Exception as error:
            if vars(error).get("ctx", ctx) is None:
                cast(Any, error).ctx = ctx
            raise

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


_Options = TypeVar("_Options")


def takes_options(command: Callable[[_Options], None]) -> Callable[..., None]:
    """Return the command with one parameter per field of the dataclass that it takes.

    A field whose type is a dataclass itself stands for the fields of that one.
    """
    (kind,) = (hint for name, hint in get_type_hints(command).items() if name != "return")

    def run(**given: object) -> None:
        command(_fill(kind, given))

    parameters = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.default is MISSING else option.default,
            annotation=hint,
        )
        for option, hint in _fields_of(kind)
    ]
    run.__name__, run.__module__, run.__doc__ = command.__name__, command.__module__, command.__doc__
    # What typer reads the options from.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields_of(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields of a dataclass and of those within it, with their types."""
    plain, annotated = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    for option in fields(kind):
        if is_dataclass(plain[option.name]):
            yield from _fields_of(plain[option.name])
        else:
            yield option, annotated[option.name]


def _fill(kind: Any, given: Mapping[str, object]) -> Any:
    """Make a dataclass of the values that were given."""
    types = get_type_hints(kind)
    return kind(
        **{
            option.name: _fill(types[option.name], given)
            if is_dataclass(types[option.name])
            else given[option.name]
            for option in fields(kind)
        }
    )


def command_of(command: str, options: object) -> str:
    """Return the command line of options; those whose metadata say so do not change the results.

    >>> from fairask.cli.demo import DemoOptions
    >>> print(command_of("demo", DemoOptions(dataset="german", trials=2, audit_labels=0, seed=7)))
    fairask demo --dataset german --metric dp --profile calibrated --trials 2 --budget 600 --batch 100
    --audit-labels 0 --seed 7
    """
    return shlex.join(["fairask", command, *_words_of(options)])


def _words_of(options: Any) -> Iterator[str]:
    for option in fields(options):
        value = vars(options)[option.name]
        name = "--" + option.name.replace("_", "-")
        if option.metadata.get("silent"):
            continue
        if is_dataclass(value):
            yield from _words_of(value)
        elif option.metadata.get("argument"):
            yield value
        elif isinstance(value, bool):
            if value or "no" in option.metadata:
                yield name if value else option.metadata["no"]
        else:
            several = value if isinstance(value, list | tuple) else [] if value is None else [value]
            for one in several:
                yield from (name, f"{one:g}" if isinstance(one, float) else str(one))
