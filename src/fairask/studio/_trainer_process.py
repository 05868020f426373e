"""The trainer in a process of its own: however long a fit computes, the server's threads do not wait.

The two are joined by pipes. When the server ends, in whatever way, the trainer's input closes and it ends
too; what it is doing comes back a line at a time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading

from fairask.studio._trainer import Trainer
from fairask.study import Study

__all__ = ["TrainerProcess"]


class TrainerProcess:
    """Like :class:`Trainer`, for a study opened again in another process."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.busy: str | None = None
        self.error: str | None = None
        self._process: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None

    def start(self) -> None:
        """Start the process."""
        code = f"import sys; from {__name__} import main; main(sys.argv[1])"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, self.target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the server, which then closes the pipe
        )
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            self.busy, self.error = json.loads(line)
        if process.wait():
            self.busy = None
            self.error = f"the training process ended with code {process.returncode}; start the studio again"

    def stop(self) -> None:
        """Stop it after the step under way."""
        if self._process is not None and self._process.stdin is not None and self._listener is not None:
            self._process.stdin.close()
            self._listener.join()
            if self._process.stdout is not None:
                self._process.stdout.close()


def main(target: str) -> None:
    """Work until standard input closes."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    said: list[str | None] = [None, None]
    with Study.open(target) as study:
        trainer = Trainer(study)

        def tell() -> bool:
            nonlocal said
            now = [trainer.busy, trainer.error]
            if now != said:
                said = now
                print(json.dumps(said), flush=True)
            return ended.is_set()

        trainer.on_change = tell
        trainer.run(tell)
