"""Compute the cells that are missing, here or on a cluster."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fairask.bench.cells import cell_path, write_cell
from fairask.bench.methods import get_method
from fairask.bench.problems import get_profile
from fairask.bench.protocol import Cell, Result, run_cell
from fairask.errors import suggest

__all__ = ["BACKENDS", "missing", "plan", "run"]

#: Where cells can be computed.
BACKENDS = ("joblib", "dask", "ray")


def plan(profile: str, problems: Sequence[str], methods: Sequence[str], trials: int) -> list[Cell]:
    """Return all cells of a run, after checking every name.

    Examples
    --------
    >>> len(plan("paper", ["drug", "german"], ["fare", "passive"], 10))
    40
    """
    known = get_profile(profile)
    if trials < 1:
        raise ValueError(f"trials={trials} must be 1 or more")
    for problem in problems:
        known.problem(problem)
    for method in methods:
        get_method(method)
    # Trials outermost within a problem: a run that is stopped early has as many trials of every method.
    return [
        Cell(profile, problem, method, trial)
        for problem in problems
        for trial in range(trials)
        for method in methods
    ]


def missing(cells: Iterable[Cell], folder: Path) -> list[Cell]:
    """Return the cells that ``folder`` has no result of."""
    return [cell for cell in cells if not cell_path(folder, cell).exists()]


def run(
    cells: Sequence[Cell],
    folder: Path,
    *,
    jobs: int = 1,
    backend: str = "joblib",
    scheduler: str | None = None,
    on_done: Callable[[Cell, float], None] | None = None,
) -> int:
    """Compute the missing cells and write each as it is done; return how many there were.

    This process writes all files, so workers on other machines need no shared disk. Seconds go to
    ``timings.csv`` beside the cells, never into them: cells do not depend on the machine.

    Parameters
    ----------
    cells : sequence of Cell
    folder : Path
    jobs : int
        Worker processes (joblib and ray); a Dask cluster brings its own.
    backend : {"joblib", "dask", "ray"}
    scheduler : str, optional
        Address of the Dask scheduler or Ray cluster; without it one is started on this machine.
    on_done : callable, optional
        Called with a cell and its seconds.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r} is unknown; {suggest(backend, BACKENDS)}")
    if scheduler is not None and backend == "joblib":
        raise ValueError("scheduler is for backend='dask' or 'ray'; joblib runs on this machine alone")
    todo = missing(cells, folder)
    if not todo:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    with _workers(backend, jobs, scheduler), (folder / "timings.csv").open("a", newline="") as log:
        timings = csv.writer(log)
        for cell, result, seconds in _compute(todo, jobs, backend):
            write_cell(folder, cell, result)
            timings.writerow([cell.profile, cell.problem, cell.method, cell.trial, f"{seconds:.3f}"])
            log.flush()
            if on_done is not None:
                on_done(cell, seconds)
    return len(todo)


def timed_cell(cell: Cell) -> tuple[Cell, Result, float]:
    """Compute a cell with one thread: the cells are the parallelism, and sums keep their order."""
    with threadpool_limits(1):
        start = time.perf_counter()
        result = run_cell(cell)
        return cell, result, time.perf_counter() - start


def _compute(todo: list[Cell], jobs: int, backend: str) -> Iterator[tuple[Cell, Result, float]]:
    if backend != "ray":
        n_jobs = jobs if backend == "joblib" else -1
        yield from Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")(
            delayed(timed_cell)(cell) for cell in todo
        )
        return
    # Ray's joblib backend cannot hand back results one by one: take them in slices.
    width = 8 * max(jobs, 1)
    with Parallel(n_jobs=jobs, batch_size=1) as parallel:
        for start in range(0, len(todo), width):
            yield from parallel(delayed(timed_cell)(cell) for cell in todo[start : start + width])


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


def _dask_client(jobs: int, scheduler: str | None) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError("backend='dask' needs Dask: pip install 'fairask[dask]'") from error
    client: Any = distributed.Client
    if scheduler is not None:
        return client(scheduler)
    return client(n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=None)


def _start_ray(jobs: int, scheduler: str | None) -> None:
    try:
        import ray
        import ray.util.joblib
    except ImportError as error:
        raise ImportError("backend='ray' needs Ray: pip install 'fairask[ray]'") from error
    if not ray.is_initialized():
        ray.init(**({"address": scheduler} if scheduler else {"num_cpus": jobs}), include_dashboard=False)
    register: Any = ray.util.joblib.register_ray
    register()
