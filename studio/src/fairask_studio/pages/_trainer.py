"""Draw and fit in the background, so that annotators wait for neither."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import OperationalError

from fairask_studio import Study
from fairask_studio.events import now
from fairask_studio.store import Training

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
