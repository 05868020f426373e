"""Owners' questions, answered where they do not hurt annotators: in a process of its own, and not twice.

An owner's page asks for numbers over all labels. That takes a second when there are 100,000. The desk answers
in another process, gives one answer to all who ask the same, and answers a slow question again only after a
while, unless more happened meanwhile than that people labelled. A reply that leaves out what happened last
says so in a header, and the page asks again: it would show an old number until something else happens.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import TypeVar, cast

from fastapi import Request

from fairask_studio import Study
from fairask_studio.events import (
    AnswerRefused,
    AnswerWithdrawn,
    KnownAnswered,
    ModelFitted,
    RowLabelled,
    RowsDrawn,
    RowSkipped,
    RowsSent,
)
from fairask_studio.pages.processes import begin_process, process_context

_T = TypeVar("_T")

#: A slow answer (seconds) is given again for so many times the seconds it took.
_SLOW, _TIMES = 0.1, 4.0

#: What happens all the time while people label. Whoever decides anything else sees it at once.
_OFTEN = frozenset(
    one.kind
    for one in (
        AnswerRefused,
        AnswerWithdrawn,
        KnownAnswered,
        ModelFitted,
        RowLabelled,
        RowsDrawn,
        RowSkipped,
        RowsSent,
    )
)

_MOST_KEPT = 64


@dataclass
class _Known:
    """An answer, and the lock of those who wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    last: int = -1  #: the event up to which it is right
    at: float = 0.0
    took: float = 0.0
    answer: object = None


class Desk:
    """Answers questions about a study: functions of a module whose first argument is the study.

    Parameters
    ----------
    study : Study
        The server's.
    apart : bool
        Answer in a process of its own, which opens the study again when the first question comes.
    """

    def __init__(self, study: Study, *, apart: bool = False) -> None:
        self.study, self.apart = study, apart
        self._known: dict[tuple[object, ...], _Known] = {}
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def ask(self, question: Callable[..., _T], *args: object) -> tuple[_T, bool]:
        """Return the answer, and whether it is late: one that took long may lack labels of some seconds."""
        with self._lock:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            known = self._known.setdefault((question, *args), _Known())
        with known.lock:  # whoever asks the same meanwhile gets this answer
            last = self.study.state().last
            if known.last != last and not self._may_wait(known, last):
                known.took, known.answer = self._do(question, args)
                known.last, known.at = last, time.monotonic()
            return cast(_T, known.answer), known.last != last

    def _may_wait(self, known: _Known, last: int) -> bool:
        recent = known.took > _SLOW and time.monotonic() - known.at < _TIMES * known.took
        return recent and all(e.kind in _OFTEN for e in self.study.store.events(known.last, last))

    def do(self, question: Callable[..., _T], *args: object) -> _T:
        """Call the function now. Whoever asks afterwards sees what it changed, however slow that is."""
        try:
            return cast(_T, self._do(question, args)[1])
        finally:  # also what failed may have changed something
            with self._lock:
                self._known.clear()

    def _do(self, question: Callable[..., object], args: tuple[object, ...]) -> tuple[float, object]:
        if not self.apart:
            return _timed(question, self.study, args)
        try:
            return self._worker().submit(_answer, question, args).result()
        except BrokenProcessPool:  # it was killed: open the study again
            self.close()
            return self._worker().submit(_answer, question, args).result()

    def _worker(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, process_context(), _open, (self.study.target,))
            return self._pool

    def close(self) -> None:
        """End the process."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def desk_of(request: Request) -> Desk:
    """Return the app's desk."""
    desk: Desk = request.app.state.desk
    return desk


def ask(request: Request, question: Callable[..., _T], *args: object) -> _T:
    """Answer a page; the guard says in a header when the answer is late."""
    answer, late = desk_of(request).ask(question, *args)
    request.state.late = late
    return answer


_OPENED: list[Study] = []


def _open(target: str) -> None:
    begin_process("fairask-desk", nice=5)  # people who label come first
    threading.Thread(target=_end_with_server, daemon=True).start()
    _OPENED.append(Study.open(target))


def _end_with_server() -> None:
    """End this process when the server has ended in any way: nobody else would."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _answer(question: Callable[..., object], args: tuple[object, ...]) -> tuple[float, object]:
    return _timed(question, _OPENED[0], args)


def _timed(question: Callable[..., object], study: Study, args: tuple[object, ...]) -> tuple[float, object]:
    """Return how long the answer took, and the answer. The start of a process does not count."""
    began = time.monotonic()
    answer = question(study, *args)
    return time.monotonic() - began, answer
