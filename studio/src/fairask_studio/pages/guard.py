"""What stands before an app: checks on every request, headers on every response, limits, errors in words.

The limits keep a slow database, a slow reader or a busy owner's page from stopping the others. Requests
wait in two lines. Owners' pages have a short line of their own, so that annotators never wait behind
them; files that need no database wait in none. A place in a line is taken when all of a request is there:
whoever sends slowly keeps nobody waiting. A request that waits or works too long is answered with
503 and Retry-After. Its work may still be finished afterwards: answers can be repeated, and the second
one changes nothing. A reply that is being read keeps no place in a line; large ones, which fill memory while
somebody reads them slowly, have a line of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Iterable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairask.errors import UserError
from fairask_studio.errors import NotYoursError, in_sentences
from fairask_studio.pages.frame import error_page
from fairask_studio.store.database import UNREACHABLE, why_unreachable

_LOG = logging.getLogger("fairask_studio.pages")

#: Names of this machine.
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")


def guard(app: FastAPI, *, local: bool) -> None:
    """Put everything of this module before an app; ``local``: requests must name this machine."""
    app.add_middleware(Compressed, minimum_size=1000, compresslevel=4)
    app.add_middleware(Limits)
    app.add_middleware(Guard, hosts=_LOCAL_HOSTS if local else None)
    _handle_errors(app)


#: Exports and images: others would wait while they are compressed.
_PLAIN = ("/api/export/", "/api/cells/", "/api/tables/")


class Compressed(GZipMiddleware):
    """Compresses replies, but not large ones."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        plain = scope["type"] == "http" and path_of(scope).startswith(_PLAIN)
        await (self.app if plain else super().__call__)(scope, receive, send)


#: The pages send less: a note has 2,000 characters at most, a column dictionary some kilobytes.
LARGEST_BODY = 1 << 20

#: Files of labels and tables are larger.
_LARGEST_FILE = 64 << 20

#: Where files come, by method and path. They are read after their owner is known, all other bodies before.
_FILES = re.compile(r"POST /(api/(labels|known|tables)|new)|PUT /api/tables/[^/]+/files")


def _takes_file(scope: Scope) -> bool:
    return _FILES.fullmatch(f"{scope['method']} {path_of(scope)}") is not None


_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; media-src blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
#: What binds a document, and says nothing of a script or a style sheet: 400 bytes for each of twenty files.
_OF_DOCUMENTS = {
    "content-security-policy": _POLICY,
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cross-origin-opener-policy": "same-origin",
}
_NO_DOCUMENTS = ("text/javascript", "text/css")


class Guard:
    """Refuses foreign hosts and large bodies; adds security headers to responses."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None) -> None:
        self.app = app
        self.hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        state = scope.setdefault("state", {})

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if state.get("late"):
                    headers["x-late"] = "1"
                if not headers.get("content-type", "").startswith(_NO_DOCUMENTS):
                    headers.update(_OF_DOCUMENTS)
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
        largest = _LARGEST_FILE if _takes_file(scope) else LARGEST_BODY
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


#: Seconds after which a refused request may be repeated.
RETRY_SECONDS = 2

#: Requests at work: all but owners', owners'. Together fewer than the server's 40 threads: files need some.
_AT_WORK, _OWNERS_AT_WORK = 28, 4

#: Replies of more bytes wait for one of so many places until they are read; bodies of more bytes, likewise.
_LARGE, _LARGE_AT_ONCE = 1 << 18, 16
_LARGE_BODY = 1 << 16

_FREE = ("/static/", "/healthz")

_OWNERS = (
    "/api/status",
    "/api/story",
    "/api/events",
    "/api/rows",
    "/api/reopened",
    "/api/labels",
    "/api/people/figures",
    "/api/people/errors",
    "/api/people/again",
    "/api/proxies",
    "/api/model",
    "/api/certificate",
    "/api/audit",
    "/api/export",
    "/api/tables",
    "/api/studies",
    "/new",
)

_WORDS = "The server or its database is busy or cannot be reached. Try again in a moment."


@dataclass
class _Lines:
    """The lines of one event loop."""

    others: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_WORK))
    owners: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_OWNERS_AT_WORK))
    large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_LARGE_AT_ONCE))
    bodies: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_LARGE_AT_ONCE))


class Limits:
    """Lets so many requests work at a time, and answers 503 for those that take too long."""

    def __init__(
        self, app: ASGIApp, wait: float = 4.0, work: float = 8.0, owners_work: float = 120.0
    ) -> None:
        self.app, self.wait, self.work, self.owners_work = app, wait, work, owners_work
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lines] = WeakKeyDictionary()
        self._left: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or path_of(scope).startswith(_FREE):
            await self.app(scope, receive, send)
            return
        lines = self._lines.setdefault(asyncio.get_running_loop(), _Lines())
        gone: Receive | None = None
        async with contextlib.AsyncExitStack() as held:
            if not _takes_file(scope):
                gone = receive
                try:
                    async with asyncio.timeout(self.work):
                        receive = await _whole_body(receive, lines.bodies, held)
                except TimeoutError:
                    await _busy(scope, receive, send)
                    return
                except HTTPException as error:
                    refusal = JSONResponse({"detail": error.detail}, error.status_code)
                    await refusal(scope, receive, send)
                    return
            await self._in_line(lines, scope, receive, send, gone)

    async def _in_line(
        self, lines: _Lines, scope: Scope, receive: Receive, send: Send, gone: Receive | None
    ) -> None:
        owners = path_of(scope).startswith(_OWNERS)
        line, seconds = (lines.owners, self.owners_work) if owners else (lines.others, self.work)
        try:
            if not await _place(line, gone, seconds if owners else self.wait):
                return
        except TimeoutError:
            await _busy(scope, receive, send)
            return
        reply, body = _Reply(send, line, lines.large, self.wait), _Body(receive)
        task = asyncio.create_task(self._handle(scope, body, reply))
        task.add_done_callback(lambda _: reply.leave())
        try:
            done, _ = await asyncio.wait([task], timeout=seconds)
            if done or reply.begun:
                await task
                return
        except asyncio.CancelledError:
            task.cancel()
            raise
        reply.closed = True
        if body.awaited:  # half of a request must not keep a place in the line
            task.cancel()
        # A thread that waits for the database cannot be stopped: leave it, and answer without it.
        self._left.add(task)
        task.add_done_callback(self._forget)
        await _busy(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        await self.app(scope, receive, reply)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._left.discard(task)
        with contextlib.suppress(asyncio.CancelledError, Exception):  # nobody waits for its answer
            task.result()


async def _place(line: asyncio.Semaphore, gone: Receive | None, seconds: float) -> bool:
    """Wait for a place in a line; False if whoever asked has gone: nothing is computed for nobody."""
    if not line.locked():
        return await line.acquire()
    place = asyncio.ensure_future(line.acquire())
    left = [] if gone is None else [asyncio.ensure_future(gone())]
    try:
        done, _ = await asyncio.wait([place, *left], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise TimeoutError
        return place in done
    except asyncio.CancelledError:
        if place.done():
            line.release()
        raise
    finally:
        for task in (place, *left):
            task.cancel()


async def _whole_body(
    receive: Receive, places: asyncio.Semaphore, held: contextlib.AsyncExitStack
) -> Receive:
    """Receive all of a body, and return what gives it again. A large one keeps a place: memory has bounds."""
    messages, size = [await receive()], 0
    while messages[-1]["type"] == "http.request":
        before, size = size, size + len(messages[-1].get("body", b""))
        if before <= _LARGE_BODY < size:
            await held.enter_async_context(places)
        if not messages[-1].get("more_body", False):
            break
        messages.append(await receive())
    rest = iter(messages)

    async def again() -> Message:
        message = next(rest, None)
        return await receive() if message is None else message

    return again


class _Body:
    """Receives a request, and knows whether a part of it is being waited for."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.awaited = receive, False

    async def __call__(self) -> Message:
        self.awaited = True
        message = await self._receive()
        self.awaited = False
        return message


class _Reply:
    """Sends a reply, unless another one was sent in its place; leaves the line as soon as it begins."""

    def __init__(self, send: Send, line: asyncio.Semaphore, large: asyncio.Semaphore, wait: float) -> None:
        self._send, self._large, self._wait = send, large, wait
        self._held: asyncio.Semaphore | None = line
        self.begun, self.closed = False, False

    def leave(self) -> None:
        """Give the place in a line to the next one."""
        if self._held is not None:
            self._held.release()
        self._held = None

    async def __call__(self, message: Message) -> None:
        if self.closed:
            return
        if message["type"] == "http.response.start":
            self.leave()
            length = MutableHeaders(scope=message).get("content-length", "")
            if length.isdigit() and int(length) > _LARGE and not await self._take_place():
                return
        self.begun = True
        await self._send(message)

    async def _take_place(self) -> bool:
        """Wait for a place among large replies; False if there is none, or if it took too long."""
        try:
            async with asyncio.timeout(self._wait):
                await self._large.acquire()
        except TimeoutError:
            if not self.closed:
                self.begun = self.closed = True
                await _busy({"type": "http"}, _nothing, self._send)
            return False
        self._held = self._large
        return not self.closed


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"detail": _WORDS}, 503, {"Retry-After": str(RETRY_SECONDS)})(scope, receive, send)


#: Seconds after which the log says the same of the database again: each page that is open asks all the time.
AGAIN_SECONDS, _MOST_TOLD = 60.0, 16


def _handle_errors(app: FastAPI) -> None:
    """Answer what goes wrong in words: as JSON under ``/api``, as a page elsewhere."""

    @app.exception_handler(UserError)
    def _refused(request: Request, error: UserError) -> Response:
        return JSONResponse({"detail": in_sentences(error)}, 409 if isinstance(error, NotYoursError) else 422)

    told: dict[str, float] = {}  # what the log has lately said of the database, and when

    def _unreachable(request: Request, error: Exception) -> Response:
        # Nothing was acknowledged, so the request can be repeated, and the page repeats it.
        why, at = str(why_unreachable(error)), time.monotonic()
        if at - told.get(why, -AGAIN_SECONDS) >= AGAIN_SECONDS:
            if len(told) > _MOST_TOLD:
                told.clear()
            told[why] = at
            _LOG.error("the database cannot be reached: %s", why)
        return later(request, "The database cannot be reached. Try again in a moment.")

    for kind in UNREACHABLE:
        app.add_exception_handler(kind, _unreachable)

    @app.exception_handler(BrokenProcessPool)
    def _ended(request: Request, error: BrokenProcessPool) -> Response:
        _LOG.error("the process that computes owners' pages ended while it was asked")
        return later(request, "The process that computes this was ended. Try again in a moment.")

    def later(request: Request, words: str) -> Response:
        if path_of(request.scope).startswith("/api"):
            return JSONResponse({"detail": words}, 503, {"Retry-After": str(RETRY_SECONDS)})
        page = error_page(request, 503, words)
        page.headers["Retry-After"] = str(RETRY_SECONDS)
        return page

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return JSONResponse({"detail": f"{where}: {first['msg']}"}, 422)

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        if error.status_code in (303, 304):
            return Response(status_code=error.status_code, headers=error.headers)
        if path_of(request.scope).startswith("/api"):
            return JSONResponse({"detail": str(error.detail)}, error.status_code, error.headers)
        return error_page(request, error.status_code, str(error.detail))


#: Seconds for the head of a request; a connection that sends none is closed.
HEAD_SECONDS = 15.0


#: Connections of a process, which may have 1,024 files open where nothing else is said: databases need some.
#: Those that are there work on when others are refused.
MOST_OPEN = 850


#: Seconds for reading a reply that does not fit into the buffers at once; then the connection ends.
READ_SECONDS = 120.0


#: Requests that may wait on one connection until one before them is answered. Browsers, proxies and programs
#: send none ahead; thousands would keep the event loop busy with their heads, and fill memory.
MOST_AHEAD = 8


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which by itself waits for ever: for a request's head, and for a slow reader.
    It also takes any number of requests before it answers the first."""

    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; close a connection that would leave no file to open for the others."""
        super().connection_made(transport)
        if len(self.connections) > MOST_OPEN:
            transport.abort()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Read; while the head of a request is not complete, its time runs."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif self._head_timer is None:
            self._await_head()

    def on_message_begin(self) -> None:
        """Begin a request; end the connection of who sends many without waiting for the replies."""
        if len(self.pipeline) >= MOST_AHEAD:
            self.transport.abort()
            raise ConnectionAbortedError  # ends the reading of what else has come
        super().on_message_begin()

    def pause_writing(self) -> None:
        """Begin to wait for who reads slowly."""
        super().pause_writing()
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def on_response_complete(self) -> None:
        """Forget who has read all."""
        self._stop_reading()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._stop_timer()
        self._stop_reading()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_reading(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _close(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
