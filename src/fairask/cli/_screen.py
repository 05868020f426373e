"""The terminal: a live table while runs last, a table of results after them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fairask.cli._compare import Setup, compare
from fairask.report import Comparison, Method, Run

__all__ = ["console", "results_table", "watch"]


def console(*, no_color: bool, stderr: bool = False) -> Console:
    """A console that writes plain text when it is no terminal, and never highlights by itself."""
    return Console(
        file=sys.stderr if stderr else sys.stdout,
        no_color=True if no_color else None,
        highlight=False,
        soft_wrap=True,
    )


def watch(
    setup: Setup, methods: Sequence[Method], trials: int, jobs: int, screen: Console | None
) -> list[Run]:
    """Run everything, with a live table on ``screen`` if that is a terminal."""
    if screen is None or not screen.is_terminal:
        return list(compare(setup, methods, trials, jobs))
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Workers write their last result into a file that is mapped into every process: no messages.
        board = np.memmap(Path(folder) / "board", np.float64, "w+", shape=(len(methods), trials, 3))
        started = time.monotonic()

        def draw() -> Table:
            return _live_table(np.array(board), setup, methods, trials, time.monotonic() - started)

        with Live(get_renderable=draw, console=screen, refresh_per_second=6, transient=True):
            return list(compare(setup, methods, trials, jobs, board))


def _live_table(board: Any, setup: Setup, methods: Sequence[Method], trials: int, elapsed: float) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("method")
    for name in ("labels spent", "accuracy", "violation"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("time left", justify="right")
    for m, method in enumerate(methods):
        rows = board[m]
        begun = rows[rows[:, 0] > 0]
        spent, total = int(rows[:, 0].sum()), trials * setup.reach(method)
        seen = [f"{begun[:, i].mean():.3f}" if len(begun) else "–" for i in (1, 2)]
        left = f"{elapsed * (total - spent) / spent:.0f} s" if spent else "–"
        table.add_row(
            Text(method.label), f"{spent:,} of {total:,}", *seen, ProgressBar(total, spent, width=28), left
        )
    return table


def results_table(c: Comparison) -> Table:
    """The results at the budget, a row a method."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("method")
    for name in ("labels", "accuracy", "violation", f"runs within {c.tolerance:g}"):
        table.add_column(name, justify="right")
    for method in c.methods:
        end = c.final(method.key)
        cells = [
            f"{end[n]:.3f}" + (f" ± {end[n + '_se']:.3f}" if end["runs"] > 1 else "")
            for n in ("accuracy", "violation")
        ]
        # Colour repeats what the numbers say, so nothing is lost without it.
        fair = "green" if end["violation"] <= c.tolerance else "red"
        table.add_row(
            Text(method.label),
            f"{c.budget:,}",
            cells[0],
            Text(cells[1], style=fair),
            f"{end['within']} of {end['runs']}",
        )
    return table


class PullProgress:
    """A download's bar, in the form that pooch reports to: ``total``, ``update``, ``reset``, ``close``."""

    def __init__(self, name: str, screen: Console) -> None:
        from rich.progress import DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=screen,
            transient=True,
        )
        self._task = self._bar.add_task(name, total=None)
        self.total = 0

    def update(self, amount: int) -> None:
        """Add received bytes."""
        self._bar.start()
        self._bar.update(self._task, advance=amount, total=self.total or None)

    def reset(self) -> None:
        """Start over."""
        self._bar.reset(self._task)

    def close(self) -> None:
        """End the display."""
        self._bar.stop()
