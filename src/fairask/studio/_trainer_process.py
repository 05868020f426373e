"""The trainer in a process of its own, so that the server's threads never wait for a fit.

Two pipes join them. When the server ends in any way, the trainer's input closes, and the trainer ends. The
trainer's output carries a beat every few seconds. A trainer that ended or has no beat is started again, later
each time it fails soon. It writes what it is doing into the study's database, where every process of the
server reads it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
import sys
import threading
import time

from sqlalchemy.exc import SQLAlchemyError

from fairask.studio._trainer import Trainer
from fairask.study import Study, StudyError
from fairask.study.store import Store, Training

__all__ = ["TrainerProcess"]

_LOG = logging.getLogger("fairask.studio")
_BEAT_SECONDS = 2.0
#: What a beat says: the study is being opened, or is open.
_OPENS, _WORKS = b"o", b"."
#: First and longest pause before a new start. After a long run the first pause counts again.
_FIRST_PAUSE, _LONGEST_PAUSE, _LONG_RUN = 0.5, 30.0, 60.0
#: Seconds for the step under way when the studio stops.
_GRACE = 8.0


class TrainerProcess:
    """Like :class:`Trainer`, for a study opened again in another process, which is watched.

    Parameters
    ----------
    target : str
        The study.
    patience : float
        Seconds without a beat after which the process is ended and started again.
    """

    def __init__(self, target: str, patience: float = 60.0) -> None:
        self.target, self.patience = target, patience
        self.error: str | None = None
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: threading.Thread | None = None
        self._stop = threading.Event()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, and watch it."""
        self._process = self._launch()
        self._watcher = threading.Thread(target=self._watch, name="fairask-watch", daemon=True)
        self._watcher.start()

    def _launch(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        code = f"import sys; from {__name__} import main; main(sys.argv[1])"
        return subprocess.Popen(
            [sys.executable, "-c", code, self.target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # One core is enough, and people who wait for a page come first.
            env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ},
            start_new_session=True,  # Ctrl-C goes to the server, which then closes the pipe
        )

    def _watch(self) -> None:
        pause = _FIRST_PAUSE
        while self._process is not None:
            began = time.monotonic()
            with self._process:  # closes its pipes
                end = self._listen(self._process)
            if self._stop.is_set():
                return
            self.error = f"the training process {end}; it is started again"
            _LOG.error(self.error)
            threading.Thread(target=self._record, daemon=True).start()  # the database may not answer
            pause = _FIRST_PAUSE if time.monotonic() - began > _LONG_RUN else min(2 * pause, _LONGEST_PAUSE)
            if self._stop.wait(pause):
                return
            self._process = self._launch()

    def _listen(self, process: subprocess.Popen[bytes]) -> str:
        """Read beats until the process ends or is silent for too long; return how it ended."""
        assert process.stdout is not None
        heard = time.monotonic()
        while True:
            ready, _, _ = select.select([process.stdout], [], [], 0.5)
            if ready:
                said = os.read(process.stdout.fileno(), 4096)
                if not said:
                    code = process.wait()
                    return f"ended with code {code}" if code >= 0 else f"was killed by signal {-code}"
                heard = time.monotonic()
                if _WORKS in said:
                    self.error = None
            elif time.monotonic() - heard > self.patience:
                process.kill()
                process.wait()
                return f"did not move for {self.patience:.0f} s and was ended"

    def _record(self) -> None:
        try:
            store = Store(self.target)
            try:
                store.set_training(Training(error=self.error))
            finally:
                store.close()
        except (SQLAlchemyError, StudyError):
            _LOG.exception("the end of the training process could not be recorded")

    def stop(self) -> None:
        """Stop it after the step under way, or at once if that step takes too long."""
        self._stop.set()
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._watcher is not None:
            self._watcher.join(_GRACE)


def main(target: str) -> None:
    """Work until standard input closes."""
    if sys.platform != "win32":
        os.nice(10)
    ended, opened = threading.Event(), threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()
        if not opened.is_set():
            os._exit(0)  # the server ended before there was anything to finish

    def beat() -> None:
        with contextlib.suppress(BrokenPipeError):  # the server was killed: ``wait`` ends this process
            while True:
                os.write(1, _WORKS if opened.is_set() else _OPENS)
                time.sleep(_BEAT_SECONDS)

    for act in (wait, beat):  # opening a large study on a busy machine takes longer than silence may last
        threading.Thread(target=act, daemon=True).start()
    with Study.open(target) as study:
        opened.set()
        Trainer(study).run(ended.is_set)
