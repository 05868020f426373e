"""Rows for people who wait while the trainer cannot draw, since it was killed or a draw takes very long.

They are drawn uniformly, which needs no model. Their propensities are in the log like those of all rows.
A batch that the trainer proposes is void if other rows were drawn meanwhile. So each further draw is twice
as large as the one before, until the trainer has had the time that it needs.
"""

from __future__ import annotations

import threading
import time

from fairask_studio import Study

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
