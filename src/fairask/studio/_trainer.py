"""Draw and fit in the background, so that annotators wait for neither."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import OperationalError

from fairask.study import Study
from fairask.study.events import now
from fairask.study.store import Training

__all__ = ["Trainer"]

_LOG = logging.getLogger("fairask.studio")
#: How long after an answer a person counts as labelling.
_ACTIVE_SECONDS = 30.0


class Trainer:
    """Keeps the queue filled and the model up to date.

    Rows are drawn as late as possible, since a later draw knows more labels, but early enough that the
    queue does not run empty during the next draw: the more people label, the more rows wait.
    """

    def __init__(self, study: Study, pause: float = 0.05) -> None:
        self.study, self.pause = study, pause
        self.busy: str | None = None  #: what is being done, for the page
        self.error: str | None = None
        self._said: Training | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._draw_seconds = 0.2
        self._seen: tuple[float, int] | None = None  # answers of before the start are not arriving now
        self._rate = 0.0

    def low(self, people: int) -> int:
        """Return the number of free rows below which more are drawn, for so many people labelling."""
        lasting = self._rate * 2.0 * (self._draw_seconds + self.pause)
        return max(2, 2 * people, math.ceil(lasting))

    def _measure(self, answered: int) -> None:
        if self._seen is None:
            self._seen = (time.monotonic(), answered)
        at, before = self._seen
        elapsed = time.monotonic() - at
        if elapsed >= 0.5:
            self._rate = max((answered - before) / elapsed, 0.6 * self._rate)
            self._seen = (time.monotonic(), answered)

    def step(self) -> bool:
        """Do what is due; return whether anything was."""
        waiting = self.study.store.waiting()
        with self.study.lock:
            state = self.study.state()
            answered, undrawn, fit_is_due = state.answered, state.undrawn, state.fit_is_due()
            active = state.active_since(now(-_ACTIVE_SECONDS))
        self._measure(answered)
        # People who wait for a row hold none, so those who answered lately count as well.
        low = self.low(max(waiting.people, active))
        worked = False
        if waiting.free < low and undrawn > 0:
            self._say("choosing the next rows")
            began = time.monotonic()
            batch = self.study.config.learner.batch_size
            worked = self.study.draw(min(max(batch, 2 * low - waiting.free), batch + low)) is not None
            self._draw_seconds = 0.5 * self._draw_seconds + 0.5 * (time.monotonic() - began)
        elif fit_is_due:
            self._say("training")
            worked = self.study.refit() is not None
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
