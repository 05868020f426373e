"""What somebody tried who had not written the studio: requests, names, cells and files made to do harm."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from fairask.cli._app import app
from fairask_studio import Study, StudyError
from fairask_studio.pages import create_app, guard
from fairask_studio.pages.access import PAGES
from fairask_studio.pages.guard import Limits, TimedProtocol
from fairask_studio.store.postgres import connect_postgres
from studio.tests.pages.conftest import bearer, signed
from studio.tests.pages.serving import serving
from studio.tests.study.conftest import people_table, target

__all__ = ["target"]

Make = Callable[..., Study]
pytestmark = pytest.mark.usefixtures("few_trees")

GET, POST = (
    "GET /api/me HTTP/1.1\r\nHost: localhost\r\n",
    "POST /api/next HTTP/1.1\r\nHost: localhost\r\n",
)
#: Requests that servers and proxies have read differently.
REQUESTS = {
    "two lengths": f"{POST}Content-Length: 2\r\nContent-Length: 30\r\n\r\n{{}}",
    "length and chunks": f"{POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks of no encoding": f"{POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a length below zero": f"{POST}Content-Length: -1\r\n\r\n",
    "a length with a sign": f"{POST}Content-Length: +2\r\n\r\n{{}}",
    "a length in other digits": f"{POST}Content-Length: \u00b2\r\n\r\n{{}}",
    "a length past all numbers": f"{POST}Content-Length: {'9' * 40}\r\n\r\n",
    "a chunk past all numbers": f"{POST}Transfer-Encoding: chunked\r\n\r\n{'F' * 40}\r\n",
    "a chunk that is no number": f"{POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a head of a megabyte": f"{GET}X-Long: {'x' * (1 << 20)}\r\n\r\n",
    "a hundred thousand heads": GET + "X: y\r\n" * 100_000 + "\r\n",
    "a folded head": f"{GET}X-A: b\r\n c\r\n\r\n",
    "a head without a name": f"{GET}: b\r\n\r\n",
    "a blank before the colon": f"{POST}Content-Length : 2\r\n\r\n{{}}",
    "NUL in a head": f"{GET}X-A: b\0c\r\n\r\n",
    "NUL in the path": "GET /api/\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another site's address": "GET http://evil.example/api/me HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "CONNECT": "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TRACE": "TRACE /api/me HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\n\r\n",
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "HTTP/0.9": "GET /\r\n\r\n",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a websocket": f"{GET}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    "h2c": f"{GET}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "a path upwards": "GET /static/any/../../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a path upwards, written otherwise": "GET /static/any/%2e%2e%2f%2e%2e%2fpages%2fguard.py HTTP/1.1\r\n"
    "Host: localhost\r\n\r\n",
    "two slashes": "GET //evil.example/%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a path of backslashes": "GET /\\evil.example HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a line break in the path": "GET /label%0d%0aSet-Cookie:a=b HTTP/1.1\r\nHost: localhost\r\n\r\n",
}  # fmt: skip


def _answer(address: tuple[str, int], request: str) -> bytes:
    """Send a request, and return all that comes back until the server closes the connection."""
    answer = b""
    with socket.create_connection(address, timeout=60) as sender:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            sender.sendall(request.encode("latin-1"))
        with contextlib.suppress(ConnectionResetError):
            while part := sender.recv(1 << 16):
                answer += part
    return answer


def test_requests_that_are_read_in_two_ways_are_refused_and_nothing_is_served(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(Limits.__init__, "__defaults__", (1.0, 1.0, 5.0))
    study = make()
    study.people.add("ada", "owner")
    made = create_app(study, local=False, train=False)
    with (
        serving(made, http=TimedProtocol, timeout_keep_alive=1) as url,
        ThreadPoolExecutor(len(REQUESTS)) as pool,
    ):
        host, _, port = url.removeprefix("http://").rpartition(":")
        answers = pool.map(lambda request: _answer((host, int(port)), request), REQUESTS.values())
        found = dict(zip(REQUESTS, answers, strict=True))
    for name, answer in found.items():
        lines = answer.lower().split(b"\r\n")
        statuses = [int(line.split(b" ")[1]) for line in lines if line.startswith(b"http/1.1 ")]
        assert len(statuses) <= 1, f"{name}: a second request was read out of the first one"
        assert {*statuses} <= {303, 400, 401, 403, 404, 405, 413, 421, 503}, (name, statuses)
        assert b"root:" not in answer, name
        assert b"set-cookie: a=b" not in lines, name
        assert not any(line.startswith(b"location: //") for line in lines), name


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.", "localhost@evil.example", "localhost:80@evil", "127.0.0.1.nip.io", ""],
)
def test_a_studio_of_this_machine_answers_to_its_own_names_only(make: Make, host: str) -> None:
    with TestClient(create_app(make(), train=False), base_url="http://localhost") as client:
        forwarded = {"Host": host, "X-Forwarded-Host": "localhost", "Forwarded": "host=localhost"}
        assert client.get("/signin", headers=forwarded).status_code == 421


#: Bodies of an answer: what JSON allows and Python reads in its own way.
BODIES = {
    "endless": b'{"row": 1e400, "label": "good"}',
    "no number": b'{"row": NaN, "label": "good"}',
    "half": b'{"row": 0.5, "label": "good"}',
    "yes": b'{"row": true, "label": "good"}',
    "huge": b'{"row": ' + b"9" * 5000 + b', "label": "good"}',
    "past 64 bits": b'{"row": 9223372036854775808, "label": "good"}',
    "negative": b'{"row": -1, "label": "good"}',
    "twice": b'{"row": 0, "row": 99999, "label": "good"}',
    "deep": b'{"row": ' + b"[" * 100_000 + b"]" * 100_000 + b', "label": "good"}',
    "deep objects": b'{"a":' * 50_000,
    "half a character": b'{"row": 0, "label": "good", "note": "\\ud800"}',
    "NUL": b'{"row": 0, "label": "good", "note": "a\\u0000b"}',
    "no UTF-8": b'{"row": 0, "label": "\xff\xfe"}',
    "a list": b"[]",
    "wide": b"[" + b"[]," * 300_000 + b"[]]",
    "another type": b'{"row": 0, "label": {"$ne": ""}}',
    "a member of Python": b'{"row": 0, "label": "good", "__class__": "x"}',
    "long": b'{"row": 0, "label": "' + b"g" * 500_000 + b'"}',
}


def test_bodies_that_are_no_answer_are_refused_in_words(make: Make, target: str) -> None:
    study = make(target)
    token = study.people.add("ada", "owner")
    study.draw(20)
    made = create_app(study, local=False, train=False)
    headers = {"Content-Type": "application/json"}
    with bearer(made, token, raise_server_exceptions=False) as client:
        for name, body in BODIES.items():
            for path in ("/api/answers", "/api/flags", "/api/people"):
                answer = client.post(path, content=body, headers=headers)
                assert answer.status_code in (400, 409, 413, 422), (name, path, answer.text[:200])
                assert 0 < len(answer.json()["detail"]) < 2000, (name, path)
    assert not study.state().answers
    assert [person.name for person in study.people.all()] == ["ada"]


HOSTILE = (
    "{{7*7}}", "${7*7}", "{% raw %}", "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>', "</script>",
    "javascript:alert(1)", "=cmd|' /C calc'!A0", "\u202egnp.exe", "a\x1b[2Jb", "__proto__", "constructor",
    "'; DROP TABLE events; --", "%s%n", "../../etc/passwd", "x" * 5000, "\ufeff", "\u2066a\u2069",
)  # fmt: skip


def test_nothing_of_a_table_runs_in_a_page_a_report_or_a_sheet(make: Make, tmp_path: Path) -> None:
    table: dict[str, list[Any]] = people_table(150)
    table["sex"] = [HOSTILE[i % 2 + 3] for i in range(150)]
    table |= {name[:200]: [f"{name} {i % 5}" for i in range(150)] for name in HOSTILE}
    study = make(table=table, words=None, budget=30, question="{{7*7}} <script>alert(1)</script>?")
    study.draw(12)
    rows = study.lease("ada", 12)
    study.tell(rows, ["good", "bad"] * 6, "ada", notes=[HOSTILE[i % len(HOSTILE)][:200] for i in range(12)])
    study.refit()
    out = study.export(tmp_path / "out")
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        pages = [client.get(f"/{view}").text for view in PAGES]
    texts = pages + [file.read_text("utf-8") for file in out if file.suffix in (".html", ".svg")]
    for text in texts:
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "49 <script" not in text
        assert "\x1b" not in text
    for file in out:
        if file.suffix == ".csv":
            text = file.read_text("utf-8")
            assert not re.search(r'(^|,)"?=', text, re.MULTILINE)


def test_a_skip_and_an_answer_at_once_leave_one_of_them(make: Make) -> None:
    study = make(budget=60)
    study.people.add("ada", "annotator")
    study.draw(40)
    rows = study.lease("ada", 40)

    def answer(row: int, label: str | None) -> bool:
        try:
            if label is None:
                study.skip([row], "ada")
            else:
                study.tell([row], [label], "ada")
        except StudyError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(answer, [row for row in rows for _ in range(2)], [None, "good"] * len(rows)))
    assert all(any(done[i : i + 2]) for i in range(0, len(done), 2))
    state = study.state()
    assert all(len(state.answers.get(row, {})) <= 1 for row in rows)


def test_two_owners_at_once_leave_one_person_one_owner_and_one_audit(make: Make) -> None:
    study = make(budget=60)
    tokens = {name: study.people.add(name, "owner") for name in ("ada", "bob")}

    def each(work: Callable[[str], object]) -> list[bool]:
        def safe(name: str) -> bool:
            try:
                work(name)
            except StudyError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(safe, ["ada", "bob"] * 4))

    assert sum(each(lambda name: study.people.add("eve"))) == 1
    each(lambda name: study.people.remove("bob" if name == "ada" else "ada"))
    assert sum(person.role == "owner" for person in study.people.all()) == 1
    left = next(person.name for person in study.people.all() if person.role == "owner")
    assert study.people.by_token(tokens[left]) is not None


def test_tokens_and_links_of_before_open_nothing(make: Make) -> None:
    study = make()
    old = study.people.add("ada", "owner")
    bob = study.people.add("bob")
    made = create_app(study, local=False, train=False)
    with bearer(made, old) as client:
        assert client.get("/api/me").status_code == 200
        code = study.people.invite("bob", 3600)
        new = study.people.add("ada", "owner", renew=True)
        assert client.get("/api/me").status_code == 401
    with bearer(made, bob) as browser:
        study.people.remove("bob")
        assert browser.get("/api/me").status_code == 401
    with TestClient(made, base_url="http://localhost", follow_redirects=False) as browser:
        assert browser.post("/api/session", json={"code": code}).status_code == 401
        page = browser.get("/label", params={"code": code})
        assert page.status_code in (303, 410)
        assert "set-cookie" not in page.headers
    with bearer(made, new) as client:
        assert client.get("/api/me").status_code == 200


def test_pages_with_data_are_kept_by_no_cache_and_cookies_by_no_script(make: Make) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    study.draw(5)
    made = create_app(study, local=False, https=True, train=False)
    with TestClient(made, base_url="https://localhost") as client:
        begun = client.post("/api/session", json={"token": token})
        flags = begun.headers["set-cookie"].lower()
        assert all(flag in flags for flag in ("httponly", "secure", "samesite=strict", "path=/"))
        assert token not in str(begun.headers) + begun.text
        for path in ("/label", "/rows", "/api/rows", "/api/events", "/api/export/labels.csv", "/api/me"):
            found = client.get(path)
            assert found.status_code == 200
            assert found.headers["cache-control"] == "no-store", path
            assert found.headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in found.headers


def test_the_files_of_a_study_are_its_owners_alone_whatever_the_umask(make: Make, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        study = make()
        study.people.add("ada", "owner")
        study.draw(5)
    finally:
        os.umask(before)
    place = tmp_path / "study"
    for file in (place, *place.iterdir()):
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file.name


def test_a_link_in_the_way_of_an_export_is_replaced_and_not_followed(make: Make, tmp_path: Path) -> None:
    study = make()
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("mine")
    out.mkdir()
    for name in ("labels.csv", "labels.csv.part"):
        (out / name).symlink_to(victim)
    study.export(out)
    assert victim.read_text() == "mine"
    assert not (out / "labels.csv").is_symlink()


def test_passwords_of_a_database_are_in_no_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in (
        "postgresql://ada:hunter2@127.0.0.1:1/loans",
        "postgresql://ada@127.0.0.1:1/loans?password=hunter2",
        "postgresql://ada:hunter2@[bad/loans",
    ):
        with pytest.raises(StudyError) as refused:
            connect_postgres(address)
        assert "hunter2" not in str(refused.value)
    for name in ("PGPASSWORD", "FAIRASK_WEBHOOK_SECRET", "FAIRASK_KEY_PASSPHRASE"):
        monkeypatch.setenv(name, "hunter2")
    for words in (["doctor"], ["doctor", "--json"]):
        assert "hunter2" not in CliRunner().invoke(app, words).output


def test_days_and_numbers_at_the_end_of_all_calendars_are_read(make: Make) -> None:
    table: dict[str, list[Any]] = people_table(60)
    ends = ["9999-12-31", "0001-01-01", "2016-12-31T23:59:60Z", "1e400", "-0", "NaN", "inf"]
    table["day"], table["far"] = [ends[i % 7] for i in range(60)], ["9999-12-31"] * 59 + ["0001-01-01"]
    study = make(table=table)
    study.draw(10)
    study.tell(rows := study.lease("ada", 10), ["good", "bad"] * (len(rows) // 2), "ada")
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        assert client.get("/api/rows").status_code == 200
        for row in rows:
            assert client.get(f"/api/rows/{row}").status_code == 200
