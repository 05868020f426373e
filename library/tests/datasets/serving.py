"""A local HTTP server that hands out files well or badly."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """Serve ``files`` (path -> content) in the given ``mode``, and remember the requests' headers.

    Modes: "good" (honours Range and If-Range), "no ranges" (always the whole file), "no validator" (ranges,
    without saying which version they are of), "truncated" (breaks off half-way), "stalled" (falls silent
    half-way), "silent" (never answers).
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.mode = "good"
        self.etag = '"first"'
        self.requests: list[dict[str, str]] = []
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
        server.requests.append(dict(self.headers))
        if server.mode == "silent":
            server.over.wait()
            return
        content = server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = self._start(len(content))
        if start >= len(content) > 0:
            self.send_error(416)
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if server.mode != "no validator":
            self.send_header("ETag", server.etag)
        self.end_headers()
        if server.mode in ("truncated", "stalled"):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            if server.mode == "stalled":
                server.over.wait()
            return
        self.wfile.write(body)

    def _start(self, size: int) -> int:
        asked = self.headers.get("Range")
        if asked is None or self.server.mode == "no ranges":
            return 0
        condition = self.headers.get("If-Range")
        if condition is not None and condition != self.server.etag:
            return 0
        return int(asked.removeprefix("bytes=").removesuffix("-"))
