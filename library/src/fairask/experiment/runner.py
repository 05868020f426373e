"""Compute missing results, here or on a cluster, and write each one when it is done."""

from __future__ import annotations

import csv
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fairask.checks import check_choice
from fairask.experiment.trial import References, Run

#: Where jobs can be computed.
BACKENDS = ("joblib", "dask", "ray")

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
        "violation": result.violation.tolist(),
        "group_labels": result.group_labels,
        "converged": result.converged,
        "feasible": result.feasible,
    }
    if result.labels_needed is not None:
        curve["labels_needed"] = result.labels_needed
    if result.references is not None:
        curve["references"] = asdict(result.references)
    scratch.write_text(json.dumps({**job.about(), "result": curve}, sort_keys=True))
    scratch.replace(path)


def read_run(path: Path, method: str = "") -> Run:
    """Read the curve of a result file."""
    try:
        found = json.loads(path.read_text())["result"]
        return Run(
            method,
            int(path.stem.removeprefix("trial-")),
            np.array(found["labels"], dtype=np.int64),
            np.array(found["accuracy"]),
            np.array(found["violation"]),
            group_labels=found["group_labels"],
            converged=found["converged"],
            feasible=found.get("feasible", []),
            labels_needed=found.get("labels_needed"),
            references=References(**found["references"]) if "references" in found else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a result file of the benchmark: {error}") from error


def run(
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int = 1,
    backend: str = "joblib",
    scheduler: str | None = None,
    on_done: Callable[[Job, float], None] | None = None,
) -> int:
    """Compute the missing jobs and write each as it is done; return how many there were.

    This process writes all files, so workers on other machines need no shared disk. Seconds go to
    ``timings.csv`` beside the results, never into them: results do not depend on the machine.

    Parameters
    ----------
    jobs : sequence of Job
    folder : Path
    workers : int
        Worker processes (joblib and ray); a Dask cluster brings its own.
    backend : {"joblib", "dask", "ray"}
    scheduler : str, optional
        Address of the Dask scheduler or Ray cluster; without it one is started on this machine.
    on_done : callable, optional
        Called with a job and its seconds.
    """
    check_choice(backend, "backend", BACKENDS)
    if scheduler is not None and backend == "joblib":
        raise ValueError("scheduler is for backend='dask' or 'ray'; joblib runs on this machine alone")
    todo = missing(jobs, folder)
    if not todo:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "timings.csv").open("a", newline="") as log:
        timings = csv.writer(log)
        results = compute(_timed, todo, jobs=workers, backend=backend, scheduler=scheduler)
        for job, result, seconds in results:
            write_run(folder, job, result)
            timings.writerow([*job.path.with_suffix("").parts, f"{seconds:.3f}"])
            log.flush()
            if on_done is not None:
                on_done(job, seconds)
    return len(todo)


def _timed(job: Job) -> tuple[Job, Run, float]:
    start = time.perf_counter()
    result = job.run()
    return job, result, time.perf_counter() - start


def compute(
    call: Callable[[Item], Found],
    items: Sequence[Item],
    *,
    jobs: int = 1,
    backend: str = "joblib",
    scheduler: str | None = None,
) -> Iterator[Found]:
    """Yield ``call(item)`` as results come, each computed with one BLAS thread.

    More threads would compete for the cores, and could change the last digits.
    """
    tasks = (delayed(_single_threaded)(call, item) for item in items)
    with _workers(backend, jobs, scheduler):
        if backend != "ray":
            n_jobs = jobs if backend == "joblib" else -1
            yield from Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")(tasks)
            return
        # Ray's joblib backend cannot hand back results one by one: take them in slices.
        width = 8 * max(jobs, 1)
        with Parallel(n_jobs=jobs, batch_size=1) as parallel:
            for start in range(0, len(items), width):
                part = items[start : start + width]
                yield from parallel(delayed(_single_threaded)(call, item) for item in part)


def _single_threaded(call: Callable[[Item], Found], item: Item) -> Found:
    with threadpool_limits(1):
        return call(item)


@contextmanager
def _workers(backend: str, jobs: int, scheduler: str | None) -> Iterator[None]:
    if backend == "joblib":
        with parallel_config(backend="loky", inner_max_num_threads=1):
            yield
    elif backend == "dask":
        with _dask_client(jobs, scheduler), parallel_config(backend="dask"):
            yield
    else:
        _start_ray(jobs, scheduler)
        with parallel_config(backend="ray"):
            yield


def _dask_client(jobs: int, scheduler: str | None) -> AbstractContextManager[object]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("backend='dask' needs Dask: pip install 'fairask[dask]'") from error
    local = {"n_workers": jobs, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    make: Callable[..., AbstractContextManager[object]] = Client
    return make(**({"address": scheduler} if scheduler else local))


def _start_ray(jobs: int, scheduler: str | None) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise ImportError("backend='ray' needs Ray: pip install 'fairask[ray]'") from error
    if not ray.is_initialized():
        ray.init(**({"address": scheduler} if scheduler else {"num_cpus": jobs}), include_dashboard=False)
    register: Callable[[], None] = register_ray
    register()
