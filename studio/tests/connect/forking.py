"""A studio and a connector that are killed: one process imports everything and forks both of them.

Run as a program: ``forking.py STUDY URL TOKEN PORT TREES``. A line on standard input names who is killed and
started again ("studio" or "connector"); the answer is a line, once the new process is there.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from threading import Event

import uvicorn

from fairask.oracle.linear_forest import LinearForestClassifier
from fairask_studio import Study
from fairask_studio.connect import Connector
from fairask_studio.connect.connector import Link
from fairask_studio.connect.labelstudio import LabelStudioTool, open_client
from fairask_studio.pages import create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import label_studio_sdk  # noqa: F401  # imported once, not in every child


def run_studio(target: str, port: int) -> None:
    app = create_app(Study.open(target))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


def run_connector(target: str, url: str, token: str) -> None:
    study = Study.open(target)
    link = Link.of(study.state().outside.links["labelstudio"])
    with open_client(url, token) as client:
        connector = Connector(study, LabelStudioTool(study, link, client), seconds=0.4)
        never = Event()
        # Failures are expected here: the pause after one is short.
        connector.run(lambda pause: never.wait(min(pause, 0.5)))


def main(target: str, url: str, token: str, port: int, trees: int) -> None:
    LinearForestClassifier.__init__.__defaults__ = (trees,)  # as many as in the process that compares
    work: dict[str, Callable[[], None]] = {
        "studio": lambda: run_studio(target, port),
        "connector": lambda: run_connector(target, url, token),
    }
    children: dict[str, int] = {}
    # What is imported and built late is there before the forks.
    with Study.open(target) as study, open_client(url, token):
        create_app(study, train=False)

    def start(name: str) -> None:
        child = os.fork()
        if child == 0:
            os.close(0)
            try:
                work[name]()
            finally:
                os._exit(1)
        children[name] = child

    for name in work:
        start(name)
    print("started", flush=True)
    for line in sys.stdin:
        name = line.strip()
        os.kill(children[name], signal.SIGKILL)
        os.waitpid(children[name], 0)
        start(name)
        print(name, flush=True)
    for child in children.values():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
