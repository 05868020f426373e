"""Compute missing results, and write each one when it is done.

Trials run in processes of this machine. Inside ``with joblib.parallel_config(backend=...)`` they run where
that says: on a Dask or Ray cluster, for example.
"""

from __future__ import annotations

import csv
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fairask.documents import read_json, reading
from fairask.errors import UserError
from fairask.experiment.loop import References, Run

Item = TypeVar("Item")
Found = TypeVar("Found")


class Job(ABC):
    """A trial that is computed once. A subclass is a small frozen dataclass that a worker can unpickle."""

    @property
    @abstractmethod
    def path(self) -> PurePosixPath:
        """Where the result lies in a folder; it changes with the settings."""

    @abstractmethod
    def about(self) -> dict[str, object]:
        """What the result was made from, as plain JSON."""

    @abstractmethod
    def run(self) -> Run:
        """Compute the result. It depends on the job alone."""


def missing(jobs: Iterable[Job], folder: Path) -> list[Job]:
    """Return the jobs that ``folder`` has no result of."""
    return [job for job in jobs if not (folder / job.path).exists()]


def write_run(folder: Path, job: Job, result: Run) -> None:
    """Write a result; a process killed in the middle leaves no half file under the final name."""
    path = folder / job.path
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    curve: dict[str, object] = {
        "labels": result.labels.tolist(),
        "accuracy": result.accuracy.tolist(),
        "gap": result.gap.tolist(),
        "group_labels": result.group_labels,
        "converged": result.converged,
        "feasible": result.feasible,
        "by_lot": result.by_lot,
        "constant": result.constant,
    }
    if result.labels_needed is not None:
        curve["labels_needed"] = result.labels_needed
    if result.references is not None:
        curve["references"] = asdict(result.references)
    scratch.write_text(json.dumps({**job.about(), "result": curve}, sort_keys=True))
    scratch.replace(path)


def read_run(path: Path, method: str = "") -> Run:
    """Read the curve of a result file."""
    with reading(str(path), "Delete it: bench runs what is missing", UserError):
        found = read_json(path)["result"]
        return Run(
            method,
            int(path.stem.removeprefix("trial-")),
            np.array(found["labels"], dtype=np.int64),
            np.array(found["accuracy"]),
            np.array(found["gap"]),
            group_labels=found["group_labels"],
            converged=found["converged"],
            feasible=found.get("feasible", []),
            labels_needed=None if (needed := found.get("labels_needed")) is None else tuple(needed),
            by_lot=found.get("by_lot", 0.0),
            constant=found.get("constant", False),
            references=References(**found["references"]) if "references" in found else None,
        )


def run(
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int | None = None,
    on_done: Callable[[Job, float], None] | None = None,
) -> int:
    """Compute the missing jobs and write each as it is done; return how many there were.

    This process writes all files, so workers on other machines need no shared disk. Seconds go to
    ``timings.csv`` beside the results, never into them: results do not depend on the machine.

    Parameters
    ----------
    jobs : sequence of Job
    folder : Path
    workers : int, optional
        Worker processes; default what ``joblib.parallel_config`` says, or one.
    on_done : callable, optional
        Called with a job and its seconds.
    """
    todo = missing(jobs, folder)
    if not todo:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "timings.csv").open("a", newline="") as log:
        timings = csv.writer(log)
        for job, result, seconds in compute(timed, todo, workers):
            write_run(folder, job, result)
            timings.writerow([*job.path.with_suffix("").parts, f"{seconds:.3f}"])
            log.flush()
            if on_done is not None:
                on_done(job, seconds)
    return len(todo)


def timed(job: Job) -> tuple[Job, Run, float]:
    """Compute a result, and how long it takes."""
    start = time.perf_counter()
    result = job.run()
    return job, result, time.perf_counter() - start


def compute(
    call: Callable[[Item], Found], items: Sequence[Item], workers: int | None = None
) -> Iterator[Found]:
    """Yield ``call(item)`` as results come, each computed with one BLAS thread.

    More threads would compete for the cores, and could change the last digits.
    """
    # Ray's backend cannot hand back results one by one.
    one_by_one = get_active_backend()[0].supports_return_generator
    parallel = Parallel(
        n_jobs=workers, batch_size=1, return_as="generator_unordered" if one_by_one else "list"
    )
    yield from parallel(delayed(_single_threaded)(call, item) for item in items)


def _single_threaded(call: Callable[[Item], Found], item: Item) -> Found:
    with threadpool_limits(1):
        return call(item)
