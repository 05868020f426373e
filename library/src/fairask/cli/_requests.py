"""Options as dataclasses: a command takes one object, whose fields are its arguments and options."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

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
        for option, hint in _options(kind)
    ]
    run.__name__, run.__module__, run.__doc__ = command.__name__, command.__module__, command.__doc__
    # What typer reads the options from.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields of a dataclass and of those within it, with their types."""
    plain, annotated = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    for option in fields(kind):
        if is_dataclass(plain[option.name]):
            yield from _options(plain[option.name])
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

    Examples
    --------
    >>> from fairask.cli.demo import DemoOptions
    >>> print(command_of("demo", DemoOptions(dataset="german", trials=2, audit_labels=0, seed=7)))
    fairask demo --dataset german --metric dp --profile calibrated --trials 2 --budget 600 --batch 100
    --audit-labels 0 --seed 7
    """
    return shlex.join(["fairask", command, *_words(options)])


def _words(options: Any) -> Iterator[str]:
    for option in fields(options):
        value = vars(options)[option.name]
        name = "--" + option.name.replace("_", "-")
        if option.metadata.get("silent"):
            continue
        if is_dataclass(value):
            yield from _words(value)
        elif option.metadata.get("argument"):
            yield value
        elif isinstance(value, bool):
            yield name if value else option.metadata["no"]
        else:
            several = value if isinstance(value, list | tuple) else [] if value is None else [value]
            for one in several:
                yield from (name, f"{one:g}" if isinstance(one, float) else str(one))
