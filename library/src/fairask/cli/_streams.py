"""Standard output and standard error: what comes from files cannot steer the terminal.

Whatever a command writes passes through :func:`visible_output`, or through the console of ``_screen``, which
does the same and has colours of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from fairask.report.words import visible


class VisibleStream:
    """A stream of text that shows the control characters that are written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes would pass by
            raise AttributeError(name)
        return getattr(self.stream, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """Show control characters in all that is written to standard output and standard error."""
    streams = (VisibleStream(sys.stdout), VisibleStream(sys.stderr))
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        yield
