"""Running a task on many blocks: in this process by threads, with progress and a clean stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any

from fairask._blas import single_blas

__all__ = ["PassProgress", "ProgressCallback", "Threads", "cores", "tracked"]


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
        """Rows a second."""
        return self.rows / max(self.seconds, 1e-9)

    def __str__(self) -> str:
        return f"{self.stage}: {self.rows:,} of {self.total:,} rows, {self.rate:,.0f} rows/s"


ProgressCallback = Callable[[PassProgress], None]


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tracked(
    results: Generator[tuple[int, Any]],
    sizes: Sequence[int],
    stage: str,
    progress: ProgressCallback | None,
) -> dict[int, Any]:
    """Collect (position, result) pairs in order of position, telling ``progress`` after each."""
    found: dict[int, Any] = {}
    started, rows = time.perf_counter(), 0
    with closing(results):  # an interruption stops what is still under way before it goes on
        for position, result in results:
            found[position] = result
            rows += sizes[position]
            if progress is not None:
                progress(PassProgress(stage, rows, sum(sizes), time.perf_counter() - started))
    return {position: found[position] for position in sorted(found)}


class Threads:
    """Run calls in threads of this process: products, scans and most of NumPy release the lock.

    Parameters
    ----------
    workers : int, optional
        Threads; by default one a core.
    """

    #: Whether results stay in this process.
    local = True

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and (not isinstance(workers, int) or workers < 1):
            raise ValueError(f"workers={workers!r} must be a whole number, 1 or more")
        self.workers = workers or cores()

    def run(
        self,
        function: Callable[..., Any],
        shared: Any,
        calls: Sequence[tuple[Any, ...]],
        *,
        threads: bool = True,
    ) -> Generator[tuple[int, Any]]:
        """Yield (position, ``function(shared, *call)``) as calls finish."""
        workers = min(self.workers, len(calls)) if threads else 1
        # One thread a block beats all threads on one block: nothing waits within a block. A stranger's
        # estimator, which is not run in threads, may use all of them.
        with single_blas if threads else nullcontext():
            if workers > 1:
                yield from _in_threads(function, shared, calls, workers)
                return
            for position, call in enumerate(calls):
                yield position, function(shared, *call)


def _in_threads(
    function: Callable[..., Any], shared: Any, calls: Sequence[tuple[Any, ...]], workers: int
) -> Generator[tuple[int, Any]]:
    executor = ThreadPoolExecutor(workers, thread_name_prefix="fairask-pool")
    try:
        waiting: dict[Future[Any], int] = {}
        upcoming = iter(enumerate(calls))
        while True:
            # Few calls are under way at a time, so that stopping never waits for a long queue.
            while len(waiting) < 2 * workers and (nxt := next(upcoming, None)) is not None:
                waiting[executor.submit(function, shared, *nxt[1])] = nxt[0]
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
