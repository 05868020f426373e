"""Processes of the studio: the trainers and the desks.

A new Python needs seconds to import the studio. On Linux one process imports it, and all others are
forked from that process: a trainer or a desk is there in a fraction of a second, and they share the
memory of what was imported.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path

from fairask.cli._streams import VisibleStream

#: Imports everything that a trainer and a desk need.
_EVERYTHING = "fairask_studio.pages.server"

#: One core is enough, and people who wait for a page come first. A process to fork from must have no threads.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

_LOCK = threading.Lock()


def process_context() -> ForkServerContext | SpawnContext:
    """Return what makes a process of the studio."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([_EVERYTHING])
    with _LOCK, _one_thread():
        forkserver.ensure_running()
    return made


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Set what a new process reads; what the user has set stays."""
    missing = _ONE_THREAD.keys() - os.environ.keys()
    os.environ.update({name: _ONE_THREAD[name] for name in missing})
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


def begin_process(name: str, nice: int) -> None:
    """Name this process, for ``ps`` and ``top``, and let those pass that people wait for."""
    if sys.platform != "win32":
        os.nice(nice)
    with contextlib.suppress(OSError):  # Linux only
        Path("/proc/self/comm").write_text(name)
    show_controls()


def show_controls() -> None:
    """Show control characters in what this process writes, as ``fairask`` does in the server: errors and
    warnings name columns, groups and cells."""
    sys.stdout, sys.stderr = VisibleStream(sys.stdout), VisibleStream(sys.stderr)
    for handler in logging.getLogger("uvicorn").handlers:  # has the stream of before
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)
