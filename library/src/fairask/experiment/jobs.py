"""Trials on tables that are named by dataset or file, for a runner that can be stopped and resumed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from fairask.errors import UserError
from fairask.experiment.comparison import Comparison
from fairask.experiment.method import Method
from fairask.experiment.runner import Job, read_run
from fairask.experiment.table import LabelledTable, MemoryTable, TableColumns
from fairask.experiment.task import Task
from fairask.experiment.trial import Run, Trial
from fairask.tables import TableFormat
from fairask.tables.groups import as_specs


@dataclass(frozen=True)
class TablePlace:
    """A dataset of the package by name, or a file and its columns.

    Examples
    --------
    >>> TablePlace("german").open().rows
    1000
    """

    name: str
    columns: TableColumns | None = None
    encoding: str | None = None

    @property
    def title(self) -> str:
        """A name without folders."""
        return self.name.rstrip("/").rpartition("/")[2] or self.name

    def open(self) -> LabelledTable:
        """Read the table into memory."""
        from fairask import datasets

        if self.name in datasets.names():
            return MemoryTable.from_dataset(datasets.load(self.name))
        if self.columns is None:
            raise UserError(
                f"{self.name} is not a dataset, and a file needs its columns", "Give --label and --protected"
            )
        from fairask.experiment.open import open_table

        return open_table(self.name, self.columns, form=TableFormat(encoding=self.encoding), stream=False)


@lru_cache(maxsize=4)
def _keep_open(place: TablePlace, digest: str) -> LabelledTable:
    """Open a table once per process, as long as its content stays the same."""
    return place.open()


@dataclass(frozen=True)
class TableJob(Job):
    """A trial of a method on a table.

    Attributes
    ----------
    place : TablePlace
    digest : str
        sha256 of the table: results of a table that has changed lie elsewhere.
    method : Method
    task : Task
    trial : int
    """

    place: TablePlace
    digest: str
    method: Method
    task: Task
    trial: int

    @property
    def path(self) -> PurePosixPath:
        """Where the result lies."""
        made_from = json.dumps([self.about(), self.digest], sort_keys=True)
        mark = hashlib.sha256(made_from.encode()).hexdigest()[:8]
        table = re.sub(r"[^\w.-]", "_", self.place.title)
        return PurePosixPath(table, f"{self.method.name}-{mark}", f"trial-{self.trial:04d}.json")

    def about(self) -> dict[str, object]:
        """Table, task and settings; not the trial."""
        return {"table": asdict(self.place), "task": asdict(self.task), "settings": self.method.settings}

    def run(self) -> Run:
        """Compute the trial."""
        split = _keep_open(self.place, self.digest).split(self.task.seed, self.trial)
        return Trial(self.method, split, self.task, self.trial).run()


@dataclass(frozen=True, eq=False)
class TableJobs:
    """Trials of several methods on one table.

    Attributes
    ----------
    place : TablePlace
    table : LabelledTable
        What was found there.
    methods : sequence of Method
    task : Task
    trials : int
    """

    place: TablePlace
    table: LabelledTable
    methods: Sequence[Method]
    task: Task
    trials: int

    def jobs(self) -> list[TableJob]:
        """Return one job per trial and method."""
        return [
            TableJob(self.place, self.table.digest, method, self.task, trial)
            for trial in range(self.trials)
            for method in self.methods
        ]

    def comparison(self, folder: Path) -> Comparison:
        """Return what the results in a folder come to."""
        columns, table = self.place.columns, self.table
        return Comparison(
            self.place.title,
            target="" if columns is None else f"{columns.label} = {table.positive}",
            protected="" if columns is None else ", ".join(as_specs(columns.protected)),
            methods=self.methods,
            runs=[read_run(folder / job.path, job.method.name) for job in self.jobs()],
            task=self.task,
            trials=self.trials,
            pool_shares=table.group_shares,
            notes=table.notes,
            answers=(table.negative, table.positive),
        )
