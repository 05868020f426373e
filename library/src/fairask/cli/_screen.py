"""The terminal: plain text where it is none, notes, progress and outcomes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fairask.cli._streams import VisibleStream
from fairask.report.words import visible
from fairask.tables.labels import GUESS


class _VisibleConsole(Console):
    """A console that shows control characters in what it is given; its own colours are none of these."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def console(*, no_color: bool, stderr: bool = False) -> Console:
    """A console that writes plain text when it is no terminal, and never highlights by itself."""
    stream = sys.stderr if stderr else sys.stdout
    return _VisibleConsole(
        file=stream.stream if isinstance(stream, VisibleStream) else stream,
        no_color=True if no_color else None,
        highlight=False,
        soft_wrap=True,
    )


def print_notes(screen: Console, notes: Sequence[str]) -> None:
    """Print what the owner of a table should know; a guess to be checked comes first, in bold."""
    for note in sorted(notes, key=lambda note: not note.startswith(GUESS)):
        if note.startswith(GUESS):
            screen.print(note, style="bold yellow", markup=False)
        else:
            screen.print(f"note: {note}", markup=False)


@contextmanager
def progress(
    screen: Console, total: int | None = None, *, shown: bool = True
) -> Iterator[Callable[..., None]]:
    """Show a bar of runs on a terminal; what is given advances it by one."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.completed:,.0f} runs done"), BarColumn(), TimeRemainingColumn()
    hidden = not (shown and screen.is_terminal)
    with Progress(*columns, console=screen, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=total)
        yield lambda *_: bar.advance(task)


class _Outcome(Protocol):
    def headline(self) -> str: ...
    def details(self) -> str: ...


class Screen:
    """Prints for people, for programs (JSON), or the outcome only."""

    def __init__(self, quiet: bool, as_json: bool, no_color: bool) -> None:
        self._json, self._quiet, self._console = as_json, quiet, console(no_color=no_color)

    def say(self, text: str = "", *, always: bool = False, style: str | None = None) -> None:
        """Print for people; ``always`` also when quiet."""
        if not self._json and (always or not self._quiet):
            self._console.print(text, style=style, markup=False)

    def outcome(self, found: _Outcome) -> None:
        """Print what came out, and its details unless quiet."""
        self.say(found.headline(), always=True, style="bold")
        self.say(found.details())

    def notes(self, notes: Sequence[str]) -> None:
        """Print what the owner of the table should know."""
        if not self._json and not self._quiet:
            print_notes(self._console, notes)

    def data(self, values: Mapping[str, Any]) -> None:
        """Print for programs, if that was asked for."""
        if self._json:
            print(json.dumps(values, indent=1, allow_nan=False))
