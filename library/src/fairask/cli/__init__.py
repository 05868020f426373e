"""The command line: ``fairask --help``. One file per command; heavy imports wait until a command runs."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Sequence

from fairask.cli._errors import guarded

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong use, 130 interrupted."""
    if (sys.argv[1:] if argv is None else list(argv)) == ["--version"]:
        # The version is told without the extra that all other commands need.
        from fairask import __version__

        print(f"fairask {__version__}")
        sys.exit(0)

    def run() -> object:
        from fairask.cli._app import app

        return app(args=None if argv is None else list(argv), prog_name="fairask")

    try:  # the app guards its own commands and exits; this guards its import, which needs an extra
        code = guarded(run, debug="--debug" in (sys.argv if argv is None else argv))
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 0
    if argv is None and "pyarrow" in sys.modules:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """End the process without tearing down native threads: Arrow may abort there (apache/arrow#34314)."""
    threading._shutdown()  # type: ignore[attr-defined]  # joins threads, as the end of a process does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code)
