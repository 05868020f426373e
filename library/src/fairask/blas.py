"""Limit BLAS to one thread where more threads cost more than they save."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

#: Numbers in a matrix up to which one thread factorises it faster than several.
_SMALL = 1 << 20


class _SingleBlas:
    """Limits BLAS to one thread while at least one caller is inside; uses may overlap, e.g. in a server."""

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                # Looking for the loaded BLAS takes longer than a small pool's round: once is enough.
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._limit.restore_original_limits()


single_blas = _SingleBlas()


def small_problem(size: int) -> AbstractContextManager[None]:
    """One BLAS thread for work on matrices of ``size`` numbers, if they are small.

    OpenBLAS starts its threads for some routines even where a matrix has a few hundred numbers. On a busy
    machine, waiting for them takes a thousand times as long as the factorisation.

    >>> with small_problem(400):
    ...     pass
    """
    return single_blas if size <= _SMALL else nullcontext()
