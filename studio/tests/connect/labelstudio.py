"""A real Label Studio for the tests: its own environment, folder and port, and people who annotate."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[3]
PYTHON = Path(os.environ.get("LABEL_STUDIO_ENV", ROOT / ".venv-labelstudio")).absolute() / "bin" / "python"
PREPARED = PYTHON.parents[1] / "prepared"
PROGRAM = Path(__file__).with_name("labelstudio_server.py")
OWNER, ANNOTATORS = "owner@example.org", [f"annotator{i:02d}@example.org" for i in range(20)]


def token_of(email: str) -> str:
    return email.split("@")[0].ljust(40, "x")


def require_label_studio() -> None:
    """Skip where Label Studio is not installed; fail where CI is set."""
    if (PREPARED / "ready").is_file():
        return
    reason = "Label Studio is not installed in .venv-labelstudio; make test installs it where it can"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Server:
    """A running Label Studio; ``kill`` ends its process without warning, and it is started again."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(PREPARED, folder)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (folder / "server.log").open("wb")
        self._process = subprocess.Popen(
            [str(PYTHON), str(PROGRAM), "serve", str(folder), str(self.port)],
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,  # it writes version_.py where it starts, and leaves it there when it is killed
            env={k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CI")},
        )
        self.child = self._next()
        self.owner = Person(self.url, OWNER)
        self.people: list[Person] = []
        self.wait()

    def _next(self) -> int:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Label Studio did not start; see server.log in its folder")
        return int(line)

    def wait(self) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/health", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise TimeoutError("Label Studio does not answer")

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)
        self.child = self._next()

    def stop(self) -> None:
        for person in [self.owner, *self.people]:
            person.http.close()
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()


class Person:
    """Somebody who works in Label Studio through its API, as its own page does."""

    def __init__(self, url: str, email: str) -> None:
        self.email = email
        headers = {"Authorization": f"Token {token_of(email)}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=60)

    def ask(self, method: str, path: str, **options: Any) -> Any:
        reply = self.http.request(method, path, **options)
        reply.raise_for_status()
        return reply.json() if reply.content else None

    def next(self, project: int) -> dict[str, Any] | None:
        """Return the task that Label Studio gives this person next."""
        reply = self.http.get(f"/api/projects/{project}/next")
        if reply.status_code == 404:
            return None
        reply.raise_for_status()
        found: dict[str, Any] = reply.json()
        return found

    def annotate(self, task: int, label: str | None) -> int:
        """Answer a task, or skip it; return the annotation's number."""
        given = {"result": result(label), "was_cancelled": label is None, "lead_time": 1.0}
        return int(self.ask("POST", f"/api/tasks/{task}/annotations/", json=given)["id"])

    def change(self, annotation: int, label: str) -> None:
        self.ask("PATCH", f"/api/annotations/{annotation}/", json={"result": result(label)})

    def delete(self, annotation: int) -> None:
        self.ask("DELETE", f"/api/annotations/{annotation}/")

    def tasks(self, project: int) -> list[dict[str, Any]]:
        pages = {
            "project": project,
            "page_size": 1000,
            "fields": "all",
            "include": "id,data,annotations,result",
        }
        found: list[dict[str, Any]] = self.ask("GET", "/api/tasks/", params=pages)["tasks"]
        return found


def result(label: str | None) -> list[dict[str, Any]]:
    if label is None:
        return []
    value = {"choices": [label]}
    return [{"from_name": "label", "to_name": "row", "type": "choices", "value": value}]


def people(server: Server, count: int = 20) -> Sequence[Person]:
    while len(server.people) < count:
        server.people.append(Person(server.url, ANNOTATORS[len(server.people)]))
    return server.people[:count]
