"""No call of the studio reaches this machine or its network unless the owner has named it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from fastapi import HTTPException

from fairask_studio import Study, StudyError
from fairask_studio.connect import outside, webhook
from fairask_studio.connect.connector import Link, ToolUnreachable
from fairask_studio.connect.labelstudio import open_client
from fairask_studio.connect.outside import ALLOWED, outside_client
from fairask_studio.connect.webhook import Webhooks, WebhookTool
from fairask_studio.pages.media import Media
from studio.tests.connect.conftest import SECRET


class Inner(ThreadingHTTPServer):
    """A server that only this machine can reach; it leads elsewhere, and counts who comes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.leads = ""


class _Handler(BaseHTTPRequestHandler):
    server: Inner

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.headers['Host']}{self.path}")
        self.send_response(307 if self.server.leads else 200)
        if self.server.leads:
            self.send_header("Location", self.server.leads)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def inner() -> Iterator[Inner]:
    with Inner() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names are resolved to, one answer after the other; the last one stays."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if host in known:
            answers = known[host]
            host = answers.pop(0) if len(answers) > 1 else answers[0]
        return real(host, port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.delenv(ALLOWED, raising=False)
    return known


WITHIN = "an address of this machine or its network"


def test_names_that_lead_inside_are_refused_unless_they_are_allowed(
    inner: Inner, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = inner.server_address[1]
    for number, address in enumerate(("127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "169.254.169.254", "::1")):
        host = f"host{number}.example"
        names[host] = [address]
        with (
            outside_client([f"http://{host}"], 2.0) as client,
            pytest.raises(httpx.ConnectError, match=WITHIN) as refused,
        ):
            client.get(f"http://{host}:{port}/")
        assert f"{ALLOWED}={host}" in str(refused.value)
    assert inner.asked == []
    monkeypatch.setenv(ALLOWED, "other.example, HOST0.example")
    with outside_client([], 2.0) as client:
        assert client.get(f"http://host0.example:{port}/in").status_code == 200
    assert inner.asked == [f"host0.example:{port}/in"]


def test_an_address_of_this_machine_is_reached_where_the_owner_gave_it_and_from_nowhere_else(
    inner: Inner, names: dict[str, list[str]]
) -> None:
    place = f"http://127.0.0.1:{inner.server_address[1]}"
    with outside_client([place], 2.0, follow_redirects=True) as client:
        assert client.get(place).status_code == 200
        for leads in ("http://127.0.0.1:9/", "http://localhost:9/", "http://2130706433/", "http://[::1]:9/"):
            inner.leads = leads
            with pytest.raises(httpx.ConnectError, match=WITHIN):
                client.get(place)


def test_a_name_that_changes_its_address_between_check_and_use_is_resolved_once(
    inner: Inner, names: dict[str, list[str]]
) -> None:
    # Public when it is asked first, inside when it is asked again.
    names["rebinds.example"] = ["203.0.113.1", "127.0.0.1"]
    names["both.example"] = ["127.0.0.1"]
    with outside_client([], 0.2) as client:
        with pytest.raises(httpx.ConnectError, match=WITHIN):  # 203.0.113.0/24 is for documents only
            client.get(f"http://rebinds.example:{inner.server_address[1]}/")
        with pytest.raises(httpx.ConnectError, match=WITHIN):
            client.get(f"http://rebinds.example:{inner.server_address[1]}/")
    assert inner.asked == []


def test_the_connection_goes_to_the_address_that_was_checked(
    names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[tuple[str, int]] = []

    def connect(address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        reached.append(address[:2])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    names["rebinds.example"] = ["93.184.216.34", "127.0.0.1"]
    with outside_client([], 1.0) as client, pytest.raises(httpx.ConnectError):
        client.get("https://rebinds.example/")
    assert reached == [("93.184.216.34", 443)]


def test_webhooks_images_and_label_studio_keep_to_it(
    make: Callable[..., Study], inner: Inner, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    names["evil.example"], port = ["127.0.0.1"], inner.server_address[1]
    place = f"http://evil.example:{port}"
    study = make()
    with pytest.raises(ToolUnreachable, match=WITHIN):
        WebhookTool(study, Link("webhook", "webhook", f"{place}/hook"), SECRET).send([])
    monkeypatch.setattr(webhook, "_TRIES", 1)
    teller = Webhooks(study, [f"http://user:hunter2@evil.example:{port}/T0KEN"], pause=0.0)
    teller.step()
    assert WITHIN in caplog.text
    assert not any(secret in caplog.text for secret in ("hunter2", "T0KEN"))
    with pytest.raises(HTTPException) as refused:
        Media.of([place], study.target).read(f"{place}/a.png")
    assert WITHIN in refused.value.detail
    with open_client(place, "token") as client, pytest.raises(Exception, match=WITHIN):
        client.projects.get(1)
    assert inner.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "http://labels.example:http/", "http://labels.example:99999/", "http://labels.example:0/", "http:///x",
        "http://[::1/", "https://a\x1b/", "https://\u202e/", "ftp://labels.example/", "labels.example",
    ],
)  # fmt: skip
def test_what_cannot_be_called_is_refused_before_anything_is_served(
    make: Callable[..., Study], address: str
) -> None:
    study = make()
    for use in (
        lambda: Webhooks(study, [address]),
        lambda: WebhookTool(study, Link("webhook", "webhook", address), SECRET),
        lambda: open_client(address, "token").__enter__(),
    ):
        with pytest.raises(StudyError, match="is not an address"):
            use()
    if "://" in address:
        with pytest.raises(StudyError, match=r"--media .* is not an address"):
            Media.of([address], study.target)


@pytest.mark.parametrize("cell", ["https://[x/a.png", "https://media.example/\ud800.png", "https://[]/"])
def test_a_cell_that_is_no_address_is_said_to_be_none(cell: str) -> None:
    with pytest.raises(HTTPException):
        Media.of(["https://media.example"], "nowhere").read(cell)


def _dripping(parts: Iterator[bytes], over: threading.Event) -> str:
    """Serve one connection whose reply comes part by part, until the test is over; return the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener, listener.accept()[0] as connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            for part in parts:
                connection.sendall(part)
                if over.wait(0.02):
                    return

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", b"a"),
    ],
    ids=["head", "replies before the reply", "body"],
)
def test_a_reply_that_comes_byte_by_byte_keeps_nobody_waiting_for_ever(first: bytes, again: bytes) -> None:
    over = threading.Event()
    address = _dripping(itertools.chain([first], itertools.repeat(again)), over)
    try:
        with outside_client([address], 0.3) as client, pytest.raises(httpx.ReadTimeout):
            client.get(address)
    finally:
        over.set()


def test_a_reply_without_end_does_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "_MOST_BYTES", 1 << 20)
    over = threading.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    address = _dripping(itertools.chain([head], itertools.repeat(b"a" * (1 << 19))), over)
    try:
        with outside_client([address], 60.0) as client, pytest.raises(httpx.ReadTimeout, match="after 1 MB"):
            client.get(address)
    finally:
        over.set()
