"""Several server processes are one studio: one limit on guesses, one word on what the trainer does."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from fairask_studio import Study
from fairask_studio.store import Training
from studio.tests.forked import forked, serve_study
from studio.tests.pages.conftest import new_database
from studio.tests.pages.test_operations import free_port
from studio.tests.pages.test_serving import until

Make = Callable[..., Study]


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return new_database(request.getfixturevalue("postgres_url"))


#: Read by every new process: those that serve are slow to begin, as on a small machine.
SLOW_START = """
import sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    time.sleep(5.5)
"""


@contextmanager
def two_processes(target: str, folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """A studio of two server processes; its port and the process that started them."""
    slow = "://" not in target  # where the study is has no part in it: once is enough
    if slow:
        (folder / "sitecustomize.py").write_text(SLOW_START)
    port = free_port()
    with forked(serve_study, target, port, 2, 8, str(folder) if slow else "") as server:
        # Two that listen, and the trainer.
        until(lambda: len(server.children(recursive=True)) >= 3)
        until(lambda: _reached(port))
        yield port, server


def _reached(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def send(port: int, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
    """One request on a connection of its own, so that either process may take it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    data = json.loads(answer.read())
    connection.close()
    return answer.status, data


@pytest.mark.long
@pytest.mark.slow
def test_guesses_and_the_trainers_end_are_known_to_both(make: Make, target: str, tmp_path: Path) -> None:
    study = make(target)
    token = study.people.add("ada", "owner")
    with two_processes(target, tmp_path) as (port, server):
        statuses = Counter(send(port, "POST", "/api/session", {"token": "guess"})[0] for _ in range(40))
        assert statuses == {401: 8, 429: 32}
        until(lambda: study.store.waiting().free)  # the trainer draws
        assert send(port, "GET", "/api/status", token=token)[1]["error"] is None
        (trainer,) = [c for c in server.children(recursive=True) if c.name() == "fairask-trainer"]
        os.kill(trainer.pid, signal.SIGKILL)
        known = study.status()["batches"]
        rows = study.lease("ada", 10)
        study.tell(rows, ["good"] * len(rows), "ada")
        until(lambda: study.status()["batches"] > known)  # another one was started, and draws
        until(lambda: send(port, "GET", "/readyz")[0] == 200)  # and both know that it works


def test_what_the_trainer_says_is_read_by_every_process(make: Make, target: str) -> None:
    study = make(target)
    assert study.store.training() == Training()
    with Study.open(target) as other:
        study.store.set_training(Training("training"))
        assert other.store.training() == Training("training")
        other.store.set_training(Training(None, "x" * 5000))
        assert study.store.training() == Training(None, "x" * 2000)
