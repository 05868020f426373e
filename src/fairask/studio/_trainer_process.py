"""The trainer in a process of its own, so that the server's threads never wait for a fit.

A pipe joins the two: when the server ends in any way, the trainer's input closes, and the trainer ends. It
writes what it is doing into the study's database, where every process of the server reads it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

from sqlalchemy.exc import OperationalError

from fairask.studio._trainer import Trainer
from fairask.study import Study, StudyError
from fairask.study.store import Store, Training

__all__ = ["TrainerProcess"]

_LOG = logging.getLogger("fairask.studio")


class TrainerProcess:
    """Like :class:`Trainer`, for a study opened again in another process."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.error: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    def start(self) -> None:
        """Start the process."""
        code = f"import sys; from {__name__} import main; main(sys.argv[1])"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, self.target],
            stdin=subprocess.PIPE,
            # One core is enough, and people who wait for a page come first.
            env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ},
            start_new_session=True,  # Ctrl-C goes to the server, which then closes the pipe
        )
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        if process.wait():
            self.error = f"the training process ended with code {process.returncode}; start the studio again"
            try:
                store = Store(self.target)
                store.set_training(Training(error=self.error))
                store.close()
            except (OperationalError, StudyError):
                _LOG.exception("the end of the training process could not be recorded")

    def stop(self) -> None:
        """Stop it after the step under way."""
        if self._process is not None and self._process.stdin is not None and self._listener is not None:
            self._process.stdin.close()
            self._listener.join()


def main(target: str) -> None:
    """Work until standard input closes."""
    if sys.platform != "win32":
        os.nice(5)
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    with Study.open(target) as study:
        Trainer(study).run(ended.is_set)
