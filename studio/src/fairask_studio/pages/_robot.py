"""The demo's scripted annotator: it answers with known labels, at a given pace, and can be paused."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from fairask_studio import Study


class Robot:
    """Answers one row after another with the known labels."""

    def __init__(self, study: Study, truth: Sequence[str], seconds: float = 0.4) -> None:
        self.study, self.truth, self.seconds, self.name = study, truth, seconds, "robot"
        self.paused = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def step(self) -> bool:
        """Answer one row, if there is one; return whether there was."""
        rows = self.study.lease(self.name, 1, seconds=60.0)
        if rows:
            self.study.tell(rows, [self.truth[row] for row in rows], self.name)
        return bool(rows)

    def _run(self) -> None:
        while not self._stop.wait(self.seconds):
            if not self.paused:
                self.step()

    def start(self) -> None:
        """Work in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="fairask-robot", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the row under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
