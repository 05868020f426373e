"""What draws and fits beside the server: in a thread, or in a process of its own that is watched.

:class:`Trainer` does what is due. :class:`TrainerProcess` runs it in another process, so that the
server's threads never wait for a fit. A pipe joins them. When the server ends in any way, the pipe
closes, and the trainer ends. The trainer sends a beat every few seconds. A trainer that ended or has no
beat is started again, later each time it fails soon. It writes what it is doing into the study's
database, where every process of the server reads it.

While the trainer cannot draw, since it was killed or a draw takes very long, :class:`Stopgap` draws rows
uniformly for people who wait, which needs no model. Their propensities are in the log like those of all
rows. A batch that the trainer proposes is void if other rows were drawn meanwhile. So each further draw
is twice as large as the one before, until the trainer has had the time that it needs.

A new Python needs seconds to import the studio. On Linux one process imports it, and all others are
forked from that process: a trainer or a desk is there in a fraction of a second, and they share the
memory of what was imported.
"""

from __future__ import annotations

import contextlib
import logging
import math
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path

from sqlalchemy.exc import OperationalError, SQLAlchemyError

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.events import now
from fairask_studio.store import Store, Training

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
        while not ended():
            try:
                worked = self.step()
                self.error = None
                self._say(None)
            except Exception as error:
                # Annotators go on with rows drawn before; the owner sees why no new rows come.
                _LOG.exception("drawing or fitting failed")
                self.error, worked = f"{type(error).__name__}: {error}", False
                with contextlib.suppress(OperationalError):  # the database itself may have failed
                    self._say(None)
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
        self.starts = 0
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
        kind = context()
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
            self.starts += 1
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
        except (SQLAlchemyError, StudyError):
            _LOG.exception("the end of the training process could not be recorded")

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
        with Study.open(target) as study:
            opened.set()
            Trainer(study).run(ended.is_set)
    except UserError as error:
        with contextlib.suppress(OSError):
            pipe.send(error.what)
        raise


#: Imports everything that a trainer and a desk need.
_EVERYTHING = "fairask_studio.pages.server"


#: One core is enough, and people who wait for a page come first. A process to fork from must have no threads.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


_LOCK = threading.Lock()


def context() -> ForkServerContext | SpawnContext:
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


#: Seconds that people wait for the trainer: one that works, one that has stopped.
_WORKING, _STOPPED = 4.0, 3.0


#: Rows for each person: at first, at most.
_ROWS, _MOST_ROWS = 5, 20


#: Seconds between two questions for rows, of each person who waits; and of all who wait together.
_RETRY, _RETRY_OF_ALL = 0.4, 0.04


class Stopgap:
    """Draws rows when the queue has been empty for too long, and keeps it filled until the trainer draws."""

    def __init__(self) -> None:
        self._lock, self._drawing = threading.Lock(), threading.Lock()
        self._empty: float | None = None  # since when
        self._waiting: set[str] = set()
        self._batches: int | None = None  # after the last draw made here, until the trainer draws
        self._rows = _ROWS

    @property
    def retry(self) -> float:
        """Seconds after which a person who waits should ask again: longer if many wait."""
        return max(_RETRY, _RETRY_OF_ALL * len(self._waiting))

    def found(self, study: Study) -> None:
        """Note that somebody was given a row; draw more if this has to be done in the trainer's place."""
        if self._empty is not None:
            self._empty, self._waiting = None, set()
        if self._batches is None:
            return
        waiting = study.store.waiting(max_age=0.5)
        if waiting.free >= waiting.people or not self._drawing.acquire(blocking=False):
            return
        try:
            with study.lock:
                drawn_by_trainer = study.state().batches != self._batches
            if drawn_by_trainer:
                self._batches, self._rows = None, _ROWS
            elif study.store.waiting().free < waiting.people:
                self._draw(study, waiting.people)
        finally:
            self._drawing.release()

    def wait(self, study: Study, who: str, *, stopped: bool) -> bool:
        """Note that there is no row for this person; return whether rows were drawn."""
        now = time.monotonic()
        with self._lock:
            if self._empty is None:
                self._empty, self._waiting = now, set()
            self._waiting.add(who)
            if now - self._empty < (_STOPPED if stopped else _WORKING):
                return False
            self._empty, people = now, len(self._waiting)
        with self._drawing:
            return self._draw(study, people)

    def _draw(self, study: Study, people: int) -> bool:
        n = max(study.config.learner.batch_size, self._rows * people)
        drawn = study.draw(n, uniform=True) is not None
        if drawn:
            with study.lock:
                self._batches = study.state().batches
            self._rows = min(2 * self._rows, _MOST_ROWS)
        return drawn
