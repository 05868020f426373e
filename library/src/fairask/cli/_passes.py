"""Progress of passes over a pool: rows and rows per second, on a terminal and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask.pools.runners import PassProgress, ProgressCallback


@contextmanager
def passes(*, quiet: bool = False) -> Iterator[ProgressCallback | None]:
    """Yield what a pool calls during its passes; None without a terminal.

    Examples
    --------
    >>> with passes(quiet=True) as progress:
    ...     progress is None
    True
    """
    from fairask.cli._screen import console

    screen = console(no_color=False, stderr=True)
    if quiet or not screen.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        TextColumn("{task.fields[rate]:,.0f} rows/s"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        redirect_stdout=False,  # what a command prints is for its own pipe
        redirect_stderr=False,
    )
    with bar:
        task = bar.add_task("", total=None, visible=False, rate=0.0)
        seen = ("", 0)

        def show(now: PassProgress) -> None:
            nonlocal seen
            if now.stage != seen[0] or now.rows < seen[1]:
                bar.reset(task, total=now.total, description=now.stage, visible=True)
            bar.update(task, completed=now.rows, rate=now.rate)
            seen = (now.stage, now.rows)

        yield show
