"""Limits, security headers and what slow visitors cannot do."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx2 as httpx
import psutil
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from fairask_studio import Study, StudyError
from fairask_studio.pages import create_app, guard
from fairask_studio.pages.desk import Desk
from fairask_studio.pages.guard import Limits, TimedProtocol
from fairask_studio.pages.rows import RowQuery, grid_page
from studio.tests.pages.conftest import signed
from studio.tests.pages.serving import serving
from studio.tests.study.postgres import running

Make = Callable[..., Study]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests wait and work for a short time only."""
    monkeypatch.setattr(Limits.__init__, "__defaults__", (0.5, 1.0, 5.0))


@contextmanager
def stopped(url: str) -> Iterator[None]:
    """A PostgreSQL server all of whose processes are stopped until the end of the block."""
    port = url.rpartition(":")[2].partition("/")[0]
    # The attributes are read at once, with None where a process has ended meanwhile or is a zombie.
    found = psutil.process_iter(["name", "cmdline"])
    (home,) = (p for p in found if p.info["name"] == "postgres" and port in " ".join(p.info["cmdline"] or ()))
    home.send_signal(signal.SIGSTOP)  # it starts no more of them
    processes = [*home.children(recursive=True), home]
    try:
        _signal_all(processes, signal.SIGSTOP)
        yield
    finally:
        _signal_all(processes, signal.SIGCONT)


def _signal_all(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # a server's process may end by itself
            process.send_signal(number)


def in_the_end(ask: Callable[[], httpx.Response]) -> int:
    """Ask again while the answer is 503, as a page does: a busy machine may take longer than is allowed."""
    while (answer := ask()).status_code == 503:
        pass
    return answer.status_code


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_a_stopped_database_gives_503_and_files_are_still_served(make: Make) -> None:
    with running() as server:
        study = make(f"{server}/postgres")
        token = study.people.add("ada", "owner")
        study.draw(10)
        headers = {"Authorization": f"Bearer {token}"}
        app = create_app(study, local=False, train=False)
        with serving(app) as url, httpx.Client(timeout=60) as client:

            def ask(path: str) -> httpx.Response:
                return httpx.post(f"{url}{path}", json={}, headers=headers, timeout=60)

            assert in_the_end(lambda: ask("/api/next")) == 200
            with stopped(server), ThreadPoolExecutor(60) as pool:
                study.people._known.clear()
                asked = [pool.submit(ask, "/api/next") for _ in range(60)]
                assert client.get(f"{url}/healthz").status_code == 200
                assert client.get(f"{url}/static/any/studio.css").status_code == 200
                answers = [future.result() for future in asked]
                assert client.get(f"{url}/static/any/studio.css").status_code == 200
            assert Counter(a.status_code for a in answers) == {503: 60}
            assert all(int(a.headers["retry-after"]) > 0 for a in answers)
            assert in_the_end(lambda: ask("/api/next")) == 200  # when the stopped requests are through
        study.close()


def _half(url: str, head: str) -> socket.socket:
    """Send a part of a request."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    sender = socket.create_connection((host, int(port)), timeout=180)
    sender.sendall(head.encode())
    return sender


@pytest.mark.usefixtures("hasty")
def test_halves_of_requests_keep_nobody_from_labelling(make: Make) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    study.draw(10)
    headers = {"Authorization": f"Bearer {token}"}
    head = "POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
    head += f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\r\n{{"
    with serving(create_app(study, local=False, train=False)) as url:
        halves = [_half(url, head) for _ in range(40)]  # more than may work at a time
        refusals = [half.recv(100) for half in halves]
        assert all(b" 503 " in refusal for refusal in refusals)
        assert in_the_end(lambda: httpx.post(f"{url}/api/next", json={}, headers=headers, timeout=60)) == 200
        for half in halves:
            half.close()


def test_nothing_is_computed_for_visitors_who_left_the_line() -> None:
    begun, release, gone = [], asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["number"])
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def visit(limits: Limits, number: int) -> list[int]:
        asked, statuses = asyncio.Event(), list[int]()

        async def receive() -> Message:
            if not asked.is_set():
                asked.set()
                return {"type": "http.request"}
            await (gone if number < 10 else release).wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        await limits({"type": "http", "method": "GET", "path": "/api/rows", "number": number}, receive, send)
        return statuses

    async def all_of_them() -> list[list[int]]:
        limits = Limits(app)
        visits = [asyncio.create_task(visit(limits, number)) for number in range(12)]
        while len(begun) < 4:
            await asyncio.sleep(0.01)
        gone.set()
        await asyncio.wait(visits[4:10])
        release.set()
        return await asyncio.gather(*visits)

    statuses = asyncio.run(all_of_them())
    assert statuses == [[200]] * 4 + [[]] * 6 + [[200]] * 2
    assert begun == [0, 1, 2, 3, 10, 11]


def test_a_connection_that_sends_no_whole_head_is_closed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HEAD_SECONDS", 0.2)
    with serving(create_app(make(), train=False), http=TimedProtocol) as url:
        for head in ("", "GET /healthz HTTP/1.1\r\nHost: local"):
            with _half(url, head) as half:
                assert half.recv(100) == b""  # closed by the server
        monkeypatch.undo()  # a busy machine may send late
        with _half(url, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as whole:
            assert b" 200 " in whole.recv(100)


def test_a_connection_that_asks_without_waiting_for_replies_is_closed(make: Make) -> None:
    ask = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def answered(asks: int) -> int:
        came = b""
        with suppress(ConnectionError), _half(url, ask * asks) as connection:
            while came.count(b" 200 ") < asks and (part := connection.recv(1 << 16)):
                came += part
        return came.count(b" 200 ")

    with serving(create_app(make(), train=False), http=TimedProtocol) as url:
        assert answered(guard.MOST_AHEAD) == guard.MOST_AHEAD
        assert answered(2000) <= guard.MOST_AHEAD


def test_more_connections_than_allowed_are_closed_and_the_others_go_on(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(create_app(make(), train=False), http=TimedProtocol) as url:
        monkeypatch.setattr(guard, "MOST_OPEN", 5)
        with httpx.Client(timeout=60) as client:
            assert client.get(f"{url}/healthz").status_code == 200
            idle = [_half(url, "GET /healthz") for _ in range(4)]
            further = _half(url, "")
            with suppress(ConnectionResetError):
                assert further.recv(100) == b""
            assert client.get(f"{url}/healthz").status_code == 200
        for half in (*idle, further):
            half.close()
        while True:  # until the server has seen that they are gone
            with suppress(httpx.TransportError):
                assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
                break


def test_a_page_of_rows_is_counted_and_only_that_page_is_described(make: Make) -> None:
    study = make(budget=60)
    rows = study.ask(30, "ada")
    study.tell(rows[:20], ["good", "bad"] * 10, "ada")
    everything = grid_page(study, RowQuery(limit=200))
    assert everything["total"] == 30
    assert [row["row"] for row in everything["rows"]] == rows[::-1]
    page = grid_page(study, RowQuery(state="labelled", offset=5, limit=4))
    assert page["total"] == 20
    assert [row["row"] for row in page["rows"]] == rows[:20][::-1][5:9]


def test_the_same_question_is_answered_once_while_nothing_happens(make: Make) -> None:
    study = make()
    desk, asked = Desk(study), []

    def question(study: Study) -> int:
        asked.append(1)
        time.sleep(0.05)
        return study.state().last

    with ThreadPoolExecutor(8) as pool:
        assert len({pool.submit(desk.ask, question).result() for _ in range(8)}) == 1
    assert len(asked) == 1
    study.draw(5)
    assert desk.ask(question) == (study.state().last, False)
    assert len(asked) == 2


def test_a_slow_answer_may_lack_labels_and_nothing_else(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairask_studio.pages.desk._SLOW", -1.0)
    monkeypatch.setattr("fairask_studio.pages.desk._TIMES", 1e12)
    study = make()
    rows = study.ask(5, "ada")
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)

        def labels() -> tuple[int, bool]:
            found = client.get("/api/status")
            return found.json()["labels"], "x-late" in found.headers

        assert labels() == (0, False)
        study.tell(rows[:2], ["good", "bad"], "ada")
        assert labels() == (0, True)
        study.correct(rows[0], "bad", "ada", decide=True)  # whoever decides sees it at once
        assert labels() == (2, False)
        study.tell(rows[2:], ["good"] * 3, "ada")
        assert labels() == (2, True)
        with pytest.raises(StudyError, match="no model to audit"):
            client.app.state.desk.do(Study.start_audit, 5, "ada")  # type: ignore[attr-defined]
        assert labels() == (5, False)


@pytest.mark.slow
def test_the_desk_of_its_own_process_answers_refuses_and_survives_a_kill(make: Make) -> None:
    study = make()
    desk = Desk(study, apart=True)
    try:
        assert desk.ask(Study.status)[0]["labels"] == 0
        with pytest.raises(StudyError, match="no model to audit"):
            desk.do(Study.start_audit, 5, "ada")
        assert desk._pool is not None
        for process in (desk._pool._processes or {}).values():
            process.kill()
        study.draw(5)
        assert desk.ask(Study.status)[0]["open"] == 5
    finally:
        desk.close()
