"""Checks on every request (host, size) and headers on every response."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The pages send less: a note has 2,000 characters at most, a column dictionary some kilobytes.
LARGEST_BODY = 1 << 20
#: Files of labels and tables are larger.
_LARGEST_FILE = 64 << 20
_FILES = ("/api/labels", "/api/tables")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Refuses foreign hosts and large bodies; adds security headers to every response."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None) -> None:
        self.app = app
        self.hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers["content-security-policy"] = _POLICY
                if "cache-control" not in headers:
                    headers["cache-control"] = "no-store"
            await send(message)

        headers = Headers(scope=scope)
        if self.hosts is not None and _host(headers.get("host", "")) not in self.hosts:
            # A web page of another site could reach a local server by a name that resolves to this machine.
            refusal = JSONResponse({"detail": "unknown host"}, 421)
            await refusal(scope, receive, guarded_send)
            return
        length = headers.get("content-length", "0")
        size = 0
        largest = _LARGEST_FILE if path_of(scope).startswith(_FILES) else LARGEST_BODY
        too_large = f"the body is larger than {largest} bytes"

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > largest:
                raise HTTPException(413, too_large)
            return message

        if not length.isdigit() or int(length) > largest:
            await JSONResponse({"detail": too_large}, 413)(scope, receive, guarded_send)
            return
        await self.app(scope, counted, guarded_send)


def path_of(scope: Scope) -> str:
    """Return the path of a request without the prefix under which a proxy serves the studio.

    Examples
    --------
    >>> path_of({"path": "/loans/label", "root_path": "/loans"}), path_of({"path": "/label"})
    ('/label', '/label')
    """
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def _host(header: str) -> str:
    """The name in a Host header, without its port."""
    name, _, port = header.rpartition(":")
    return name if name and port.isdigit() else header
