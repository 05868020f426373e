"""Rows for people who wait while the trainer cannot draw: it was killed, or a draw takes very long.

They are drawn uniformly, which needs no model. Their propensities are in the log like those of all rows.
"""

from __future__ import annotations

import threading
import time

from fairask.study import Study

__all__ = ["Stopgap"]

#: Seconds that people wait for the trainer: one that works, one that has stopped.
_WORKING, _STOPPED = 10.0, 3.0
#: Rows for each person who waits.
_ROWS = 5


class Stopgap:
    """Draws rows when the queue has been empty for too long; one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._empty: float | None = None  # since when
        self._waiting: set[str] = set()

    def found(self) -> None:
        """Note that somebody was given a row."""
        self._empty = None

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
        n = max(study.config.learner.batch_size, _ROWS * people)
        return study.draw(n, uniform=True) is not None
