"""The trainer: what draws rows and fits models beside the server, in a thread or in a process of its own.

:class:`Trainer` does what is due. :class:`TrainerProcess` runs it in another process, so that the
server's threads never wait for a fit. A pipe joins them. When the server ends in any way, the pipe
closes, and the trainer ends. The trainer sends a beat every few seconds. A trainer that ended or has no
beat is started again, later each time it fails soon. It writes what it is doing into the study's
database, where every process of the server reads it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from fairask.errors import UserError
from fairask_studio import Study
from fairask_studio.events import now
from fairask_studio.pages.processes import begin_process, process_context
from fairask_studio.store.database import UNREACHABLE, Outage, why_unreachable
from fairask_studio.store.store import Store, Training

_LOG = logging.getLogger("fairask_studio.pages")

#: How long after an answer a person counts as labelling.
_ACTIVE_SECONDS = 30.0

#: Over how many seconds answers are counted, and the most answers per second of one person.
_RATE_SECONDS, _FASTEST = 20.0, 2.0

#: Seconds of a draw that people wait for; and how many labels a fit takes a second for.
_PATIENCE, _LABELS_PER_SECOND = 3.0, 5000.0


class Trainer:
    """Keeps the queue filled and the model up to date.

    Rows are drawn as late as possible, since a later draw knows more labels, but early enough that the
    queue does not run empty during the next draw or fit: the more people label, the more rows wait. When it
    is empty all the same, and a draw takes long, people get rows drawn uniformly at once.
    """

    def __init__(self, study: Study, pause: float = 0.05) -> None:
        self.study, self.pause = study, pause
        self.busy: str | None = None  #: what is being done, for the page
        self.error: str | None = None
        self._said: Training | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        with study.lock:
            state = study.state()
            # Until a draw was timed: a fit takes a second on some thousand labels.
            self._draw_seconds = max(0.2, (state.answered - state.skipped) / _LABELS_PER_SECOND)
        self._fit_seconds = 0.0
        self._rate = 0.0  #: answers per second

    def low(self, people: int) -> int:
        """Return the number of free rows below which more are drawn, for so many people labelling."""
        lasting = self._rate * (1.5 * (self._draw_seconds + self.pause) + self._fit_seconds)
        return max(2, 2 * people, math.ceil(lasting))

    def step(self) -> bool:
        """Do what is due; return whether anything was."""
        waiting = self.study.store.waiting()
        with self.study.lock:
            state = self.study.state()
            undrawn, fit_is_due = state.undrawn, state.fit_is_due()
            active = state.active_since(now(-_ACTIVE_SECONDS))
            answers = state.answers_since(now(-_RATE_SECONDS))
        # Labels of a file come all at once: nobody answers faster than this.
        self._rate = min(answers / _RATE_SECONDS, active * _FASTEST)
        # People who wait for a row hold none, so those who answered lately count as well.
        people = max(waiting.people, active)
        low = self.low(people)
        worked = False
        if waiting.free < low and undrawn > 0:
            self._say("choosing the next rows")
            batch = self.study.config.learner.batch_size
            n = min(max(batch, 2 * low - waiting.free), batch + low)
            # Those who have been waiting since before the last answer cannot be counted.
            if waiting.free <= people and self._draw_seconds > _PATIENCE:
                return self.study.draw(n, uniform=True) is not None
            began = time.monotonic()
            worked = self.study.draw(n) is not None
            self._draw_seconds = 0.5 * self._draw_seconds + 0.5 * (time.monotonic() - began)
        elif fit_is_due:
            self._say("training")
            began = time.monotonic()
            worked = self.study.refit() is not None
            self._fit_seconds = time.monotonic() - began
        self._say(None)
        return worked

    def _say(self, busy: str | None) -> None:
        self.busy = busy
        current = Training(self.busy, self.error)
        if current != self._said:
            self.study.store.set_training(current)
            self._said = current

    def run(self, ended: Callable[[], bool]) -> None:
        """Work until ``ended()`` is true; it is called after every step."""
        outage = Outage("the trainer", self._stop.wait)
        while not ended():
            worked = False
            try:
                worked = self.step()
                self.error = None
                self._say(None)
                outage.is_over()
            except Exception as error:
                # Annotators go on with rows drawn before; the owner sees why no new rows come.
                self.error = why_unreachable(error) or f"{type(error).__name__}: {error}"
                with contextlib.suppress(*UNREACHABLE):
                    self._say(None)
                if not outage.passes(error):
                    if isinstance(error, UserError):  # in words already
                        _LOG.error("drawing or fitting failed: %s", error)
                    else:
                        _LOG.exception("drawing or fitting failed")
                    self._stop.wait(2.0)
            self._stop.wait(0.001 if worked else self.pause)

    def start(self) -> None:
        """Work in a thread of its own."""
        self._thread = threading.Thread(
            target=self.run, args=(self._stop.is_set,), name="fairask-trainer", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop after the step under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()


_BEAT_SECONDS = 2.0

#: What a beat says: the study is being opened, or is open. Anything else is why the trainer ends.
_OPENS, _WORKS = "o", "."

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
        #: Whether the process runs, or is being started.
        self.alive = False
        # Only the watcher asks whether the process has ended: the answer can be read once.
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._watcher: threading.Thread | None = None
        self._stop = threading.Event()

    def start(self) -> None:
        """Start the process, and watch it."""
        self.alive = True
        self._watcher = threading.Thread(target=self._watch, name="fairask-watch", daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            began, self.alive = time.monotonic(), True
            end = self._run()
            self.alive = False
            if self._stop.is_set():
                return
            self.error = f"the training process {end}; it is started again"
            _LOG.error(self.error)
            threading.Thread(target=self._record, daemon=True).start()  # the database may not answer
            pause = _FIRST_PAUSE if time.monotonic() - began > _LONG_RUN else min(2 * pause, _LONGEST_PAUSE)
            self._stop.wait(pause)

    def _run(self) -> str:
        """Start the process and listen to it; return how it ended."""
        kind = process_context()
        mine, its = kind.Pipe()
        with mine:
            process = kind.Process(target=main, args=(self.target, its), daemon=True)
            try:
                process.start()
            except (OSError, EOFError) as error:
                return f"could not be started: {error}"
            finally:
                its.close()
            self._process, self._pipe = process, mine
            if self._stop.is_set():  # the pipe closes, and it ends
                return "was not wanted"
            return self._listen(process, mine)

    def _listen(self, process: BaseProcess, pipe: Connection) -> str:
        """Read beats until the process ends or is silent for too long; return how it ended."""
        heard, reason = time.monotonic(), ""
        while True:
            if pipe.poll(0.5):
                try:
                    said = str(pipe.recv())
                except (EOFError, OSError):
                    process.join()
                    code = process.exitcode or 0
                    return f"ended with code {code}{reason}" if code >= 0 else f"was killed by signal {-code}"
                heard = time.monotonic()
                if said == _WORKS:
                    self.error = None
                elif said != _OPENS:
                    reason = f": {said}"
            elif time.monotonic() - heard > self.patience:
                process.kill()
                process.join()
                return f"did not move for {self.patience:.0f} s and was ended"

    def _record(self) -> None:
        try:
            store = Store(self.target)
            try:
                store.set_training(Training(error=self.error))
            finally:
                store.close()
        except (*UNREACHABLE, UserError) as error:
            why = why_unreachable(error) or error
            _LOG.error("the end of the training process could not be recorded: %s", why)

    def stop(self) -> None:
        """Stop it after the step under way, or at once if that step takes too long."""
        self._stop.set()
        if self._watcher is None:
            return
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # it has ended
                self._pipe.send("stop")
        self._watcher.join(_GRACE)
        if self._watcher.is_alive() and self._process is not None:
            self._process.kill()
            self._watcher.join(_GRACE)


def main(target: str, pipe: Connection) -> None:
    """Work until the pipe says stop, or closes."""
    begin_process("fairask-trainer", nice=10)
    if sys.platform != "win32":
        os.setsid()  # Ctrl-C goes to the server, which then stops this process
    ended, opened = threading.Event(), threading.Event()

    def wait() -> None:
        with contextlib.suppress(EOFError, OSError):
            pipe.recv()
        ended.set()
        if not opened.is_set():
            os._exit(0)  # the server ended before there was anything to finish

    def beat() -> None:
        with contextlib.suppress(OSError):  # the server was killed: ``wait`` ends this process
            while True:
                pipe.send(_WORKS if opened.is_set() else _OPENS)
                time.sleep(_BEAT_SECONDS)

    for act in (wait, beat):  # opening a large study on a busy machine takes longer than silence may last
        threading.Thread(target=act, daemon=True).start()
    try:
        trainer = _begun(target)
        with trainer.study:
            opened.set()
            trainer.run(ended.is_set)
    except UserError as error:
        with contextlib.suppress(OSError):
            pipe.send(error.what)
        sys.exit(1)


def _begun(target: str) -> Trainer:
    """Open a study, however long its database does not answer; ``wait`` in :func:`main` ends the process."""
    outage = Outage("the trainer", time.sleep)
    while True:
        try:
            trainer = Trainer(Study.open(target))
        except UNREACHABLE as error:
            outage.passes(error)
        else:
            outage.is_over()
            return trainer
