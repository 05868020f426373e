"""What to expect of a study whose table holds some labels: ``fairask simulate`` in the background.

A process of its own with low priority, so that nothing waits for it; one for each home page. A new question
ends the one before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairask.experiment.table import pool_size
from fairask_studio import StudyError
from fairask_studio.events import Document

#: Fewer labelled rows say too little.
FEWEST = 80
_TRIALS, _SECONDS = 3, 600.0
_POLITELY = ("nice", "-n", "10") if shutil.which("nice") else ()


@dataclass(frozen=True)
class Forecast:
    """The question: which column holds labels, and what the study would be like."""

    label: str
    positive: str
    protected: tuple[str, ...]
    drop: tuple[str, ...]
    tolerance: float
    budget: int

    def labelled(self, table: pa.Table) -> pa.Table:
        """Return the rows that have a label; StudyError in words if they are too few or of one kind."""
        for name in (self.label, *self.protected, *self.drop):
            if name not in table.column_names:
                raise StudyError(f"no column {name!r}")
        values = pc.cast(table.column(self.label), pa.string())
        known = pc.and_(pc.is_valid(values), pc.not_equal(values, ""))
        rows = table.filter(pc.fill_null(known, False))
        if rows.num_rows < FEWEST:
            raise StudyError(f"{rows.num_rows} labelled rows say too little: {FEWEST} are needed")
        if self.positive not in pc.unique(values).to_pylist():
            raise StudyError(f"no row of {self.label!r} is {self.positive!r}")
        return rows

    def command(self, file: Path, rows: int) -> list[str]:
        """Return the command that answers it."""
        budget = max(10, min(self.budget, pool_size(rows) // 2))
        given = [
            *("--label", self.label, "--positive", self.positive),
            *(word for name in self.protected for word in ("--protected", name)),
            *(word for name in self.drop for word in ("--drop", name)),
            *("--tolerance", str(self.tolerance), "--budget", str(budget), "--trials", str(_TRIALS)),
            *("--strategy", "fare", "--jobs", "1", "--json"),
        ]
        return [sys.executable, "-m", "fairask", "simulate", str(file), *given]


class Forecasts:
    """Runs one forecast at a time, and keeps what the last one found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._number, self._said = 0, Document()

    def start(self, table: pa.Table, wanted: Forecast) -> None:
        """Begin; the forecast before, if it still runs, is ended."""
        rows = wanted.labelled(table)
        self.stop()
        with self._lock:
            self._number += 1
            self._said = {"state": "running", "rows": rows.num_rows, "words": ""}
            number = self._number
        self._thread = threading.Thread(target=self._run, args=(number, rows, wanted), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until what runs has ended."""
        if self._thread is not None:
            self._thread.join()

    def said(self) -> Document:
        """Return the state ("none", "running", "done" or "failed") and what was found, in words."""
        with self._lock:
            return dict(self._said or {"state": "none", "rows": 0, "words": ""})

    def stop(self) -> None:
        """End what runs."""
        with self._lock:
            self._number += 1
            if self._process is not None:
                self._process.kill()

    def _run(self, number: int, rows: pa.Table, wanted: Forecast) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table.parquet"
            pq.write_table(rows, file)
            with self._lock:
                if number != self._number:
                    return
                process = self._process = subprocess.Popen(
                    [*_POLITELY, *wanted.command(file, rows.num_rows)],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                )  # fmt: skip
            try:
                out, error = process.communicate(timeout=_SECONDS)
                said = _words(out) if process.returncode == 0 else {"state": "failed", "words": _last(error)}
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                said = {"state": "failed", "words": f"It took longer than {_SECONDS / 60:.0f} minutes."}
        with self._lock:
            if number == self._number:
                self._process, self._said = None, {"rows": rows.num_rows, **said}


def _words(out: str) -> Document:
    found = json.loads(out)
    return {"state": "done", "words": f"{found['verdict']} {found['headline']}"}


def _last(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return lines[0].removeprefix("Error: ") if lines else "fairask simulate gave no reason."
