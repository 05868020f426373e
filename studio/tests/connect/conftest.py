"""Studies and tools to test connectors with."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fairask_studio.connect.webhook import verify_signature
from studio.tests.study.conftest import make

__all__ = ["make"]

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Receiver(ThreadingHTTPServer):
    """A tool that takes rows: it checks the signature, and answers with the codes that it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.codes: list[int] = []  #: of the next replies; 200 when there are none
        self.messages: list[str] = []
        self.rows: dict[int, dict[str, Any]] = {}
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/rows"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = verify_signature(SECRET, dict(self.headers), body)
        code = self.server.codes.pop(0) if self.server.codes else 200
        if code == 200:
            self.server.messages.append(message)
            self.server.bodies.append(json.loads(body))
            for row in json.loads(body)["data"]["rows"]:
                self.server.rows[row["row"]] = row
        self.send_response(code)
        if code == 429:
            self.send_header("Retry-After", "7")
        if code == 302:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
