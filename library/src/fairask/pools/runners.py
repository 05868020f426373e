"""Run a function on many blocks, with progress and a clean stop. Here: in threads of this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeVar, TypeVarTuple

from fairask.blas import single_blas
from fairask.checks import check_count

S = TypeVar("S")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True)
class PassProgress:
    """How far a pass over the pool has come.

    Examples
    --------
    >>> print(PassProgress("counting", 500_000, 1_000_000, 0.25))
    counting: 500,000 of 1,000,000 rows, 2,000,000 rows/s
    """

    stage: str
    rows: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / max(self.seconds, 1e-9)

    def __str__(self) -> str:
        return f"{self.stage}: {self.rows:,} of {self.total:,} rows, {self.rate:,.0f} rows/s"


ProgressCallback = Callable[[PassProgress], None]


class Runner(Protocol):
    """Runs one function on many blocks: in threads (:class:`Threads`) or on a cluster (``OnDask``).

    Functions have no side effects, so a runner may run a call again after a failure.
    """

    @property
    def local(self) -> bool:
        """Whether results stay in this process, so that large ones cost nothing."""

    def run(
        self, work: Callable[[S, *Ts], R], shared: S, calls: Mapping[int, tuple[*Ts]], threads: bool = True
    ) -> Generator[tuple[int, R]]:
        """Yield (block, ``work(shared, *calls[block])``) as calls finish, in any order.

        ``threads`` says whether calls may run at the same time in one process. Closing the generator stops
        what is still under way.
        """


def cores() -> int:
    """Cores this process may use."""
    # sched_getaffinity does not exist on macOS and Windows.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def collect(
    results: Generator[tuple[int, R]], sizes: Mapping[int, int], stage: str, progress: ProgressCallback | None
) -> dict[int, R]:
    """Collect (block, result) pairs in the order of blocks; report progress after each.

    ``sizes`` are the rows of each block.
    """
    found: dict[int, R] = {}
    started, rows, total = time.perf_counter(), 0, sum(sizes.values())
    with closing(results):  # on an interrupt, stops what is still under way
        for block, result in results:
            found[block] = result
            rows += sizes[block]
            if progress is not None:
                progress(PassProgress(stage, rows, total, time.perf_counter() - started))
    return {block: found[block] for block in sorted(found)}


class Threads:
    """Run calls in threads of this process: matrix products, scans and most of NumPy release the lock.

    Parameters
    ----------
    workers : int, optional
        Threads; by default one per core.
    """

    #: See :class:`Runner`.
    local = True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = cores() if workers is None else check_count(workers, "workers")

    def run(
        self, work: Callable[[S, *Ts], R], shared: S, calls: Mapping[int, tuple[*Ts]], threads: bool = True
    ) -> Generator[tuple[int, R]]:
        """See :class:`Runner`."""
        workers = min(self.workers, len(calls)) if threads else 1
        # One thread per block is faster than all threads on one block. Estimators that are not run in
        # threads may use all of them.
        with single_blas if threads else nullcontext():
            if workers > 1:
                yield from _in_threads(work, shared, calls, workers)
                return
            for block, call in calls.items():
                yield block, work(shared, *call)


def _in_threads(
    work: Callable[[S, *Ts], R], shared: S, calls: Mapping[int, tuple[*Ts]], workers: int
) -> Generator[tuple[int, R]]:
    executor = ThreadPoolExecutor(workers, thread_name_prefix="fairask-pool")
    try:
        waiting: dict[Future[R], int] = {}
        upcoming = iter(calls.items())
        while True:
            # Few calls are submitted at a time, so that stopping never waits for a long queue.
            while len(waiting) < 2 * workers and (nxt := next(upcoming, None)) is not None:
                waiting[executor.submit(work, shared, *nxt[1])] = nxt[0]
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
