"""The terminal: a live table while runs last, a table of results after them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fairask.experiment import Comparison, LabelledTable, Method, Run, Task, compare
from fairask.metrics import Float
from fairask.tables.labels import GUESS


def console(*, no_color: bool, stderr: bool = False) -> Console:
    """A console that writes plain text when it is no terminal, and never highlights by itself."""
    return Console(
        file=sys.stderr if stderr else sys.stdout,
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


def watch(
    table: LabelledTable,
    methods: Sequence[Method],
    task: Task,
    trials: int,
    jobs: int,
    screen: Console | None,
) -> list[Run]:
    """Run everything, with a live table on ``screen`` if that is a terminal."""
    if screen is None or not screen.is_terminal:
        return list(compare(table, methods, task, trials, jobs))
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Workers write their last result into a file that is mapped into every process: no messages.
        board = np.memmap(Path(folder) / "board", np.float64, "w+", shape=(len(methods), trials, 3))
        started = time.monotonic()

        def draw() -> Table:
            labels = [m.plan_batches(task, table.rows) for m in methods]
            totals = [trials * max(s.budget, s.reach) for s in labels]
            return _live_table(np.array(board), methods, totals, time.monotonic() - started)

        with Live(get_renderable=draw, console=screen, refresh_per_second=6, transient=True):
            return list(compare(table, methods, task, trials, jobs, board))


def _live_table(board: Float, methods: Sequence[Method], totals: Sequence[int], elapsed: float) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("method")
    for name in ("labels spent", "accuracy", "violation"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("time left", justify="right")
    for rows, method, total in zip(board, methods, totals, strict=True):
        begun = rows[rows[:, 0] > 0]
        spent = int(rows[:, 0].sum())
        seen = [f"{begun[:, i].mean():.3f}" if len(begun) else "–" for i in (1, 2)]
        left = f"{elapsed * (total - spent) / spent:.0f} s" if spent else "–"
        table.add_row(
            Text(method.label), f"{spent:,} of {total:,}", *seen, ProgressBar(total, spent, width=28), left
        )
    return table


def results_table(c: Comparison) -> Table:
    """The results at the budget, one row per method; below them what people have without one."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("method")
    for name in ("labels", "accuracy", "violation", f"runs within {c.task.tolerance:g}"):
        table.add_column(name, justify="right")
    rows = [(method.label, c.task.budget, c.final(method.name)) for method in c.methods]
    for label, labels, end in [*rows, *c.references()]:
        accuracy, violation = (
            f"{value:.3f}" + (f" ± {error:.3f}" if end.runs > 1 else "")
            for value, error in ((end.accuracy, end.accuracy_se), (end.violation, end.violation_se))
        )
        # Colour repeats what the numbers say, so nothing is lost without it.
        fair = "green" if end.violation <= c.task.tolerance else "red"
        table.add_row(
            Text(label),
            f"{labels:,}",
            accuracy,
            Text(violation, style=fair),
            f"{end.within} of {end.runs}",
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
