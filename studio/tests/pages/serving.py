"""A studio on a free port, in a thread of the tests."""

from __future__ import annotations

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send


def opened(app: FastAPI) -> ASGIApp:
    """The app for browsers that open every page by the printed address, while a study has no people."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        known = any(name == b"cookie" for name, _ in scope.get("headers", ()))
        one = app.title == "fairask studio"  # not the studio of a folder
        if (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and not known
            and one
            and app.state.access.open
        ):
            scope["query_string"] = b"code=" + app.state.access.invite().encode()
        await app(scope, receive, send)

    return call


def _warm(url: str) -> None:
    """Ask for a page: the first one compiles templates, which takes too long on a busy machine."""
    for _ in range(5):
        try:
            urllib.request.urlopen(f"{url}/signin", timeout=60).close()
            return
        except urllib.error.HTTPError as error:
            if error.code != 503:
                return


@contextmanager
def serving(app: FastAPI, **options: Any) -> Iterator[str]:
    """Yield the address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        config = uvicorn.Config(opened(app), log_level="warning", access_log=False, **options)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        url = f"http://localhost:{listener.getsockname()[1]}"
        try:
            _warm(url)
            yield url
        finally:
            server.should_exit = True
            thread.join()
