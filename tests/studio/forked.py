"""A studio in a process of its own, forked from one that has imported it: it begins at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from fairask.studio import server
from fairask.studio._processes import context

__all__ = ["forked", "serve_study"]


def serve_study(target: str, port: int, processes: int = 1, grace: int = 8) -> None:
    """Serve until told to end; ``grace`` is for requests under way then."""
    warnings.simplefilter("ignore")
    server._GRACE = grace
    server.serve(target, port=port, processes=processes)


@contextmanager
def forked(work: Callable[..., None], *args: object) -> Iterator[psutil.Process]:
    """Call a function of a module in another process, which is ended at the end."""
    process = context().Process(target=work, args=args)
    process.start()
    assert process.pid is not None
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join(40)
        process.kill()
        process.join()
