"""A local HTTP server that hands out files well or badly."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """Serve ``files`` (path -> content) in the given ``mode``, and remember what was asked for.

    Modes: "good", "truncated" (breaks off half-way), "stalled" (falls silent half-way), "silent" (never
    answers).
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.mode = "good"
        self.requests: list[str] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: FileServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        server.requests.append(self.path)
        if server.mode == "silent":
            server.over.wait()
            return
        content = server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if server.mode in ("truncated", "stalled"):
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            if server.mode == "stalled":
                server.over.wait()
            return
        self.wfile.write(content)
