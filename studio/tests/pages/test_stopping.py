"""The studio ends when it is told to, whatever visitors do; and it warns of an old SQLite."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
import psutil
import pytest

from fairask.errors import FairaskWarning
from fairask_studio import Study
from fairask_studio.pages.server import warn_of_sqlite
from studio.tests.forked import forked, serve_study
from studio.tests.pages.test_operations import free_port, until_reached


@pytest.mark.long
@pytest.mark.slow
def test_the_studio_ends_although_visitors_hold_half_requests(make: Callable[..., Study]) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    port = free_port()
    head = f"POST /api/next HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Length: 9\r\n\r\n{"
    with forked(serve_study, study.target, port, 1, 1) as server:
        until_reached(port, server.is_running)
        visitors = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for visitor, said in zip(visitors, ("", "GET / HT", head), strict=True):
            visitor.sendall(said.encode())
        asked = {"Authorization": f"Bearer {token}"}
        assert (
            httpx.get(f"http://127.0.0.1:{port}/api/certificate", headers=asked, timeout=120).status_code
            == 200
        )
        others = server.children(recursive=True)
        assert {"fairask-trainer", "fairask-desk"} <= {other.name() for other in others}
        server.terminate()
        server.wait(120)  # raises if it does not end
    assert psutil.wait_procs(others, timeout=120)[1] == []
    for visitor in visitors:
        visitor.close()
    assert study.state().batches == 1  # it has served: the first batch was drawn


def test_an_sqlite_with_a_known_fault_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.46.1")
    with pytest.warns(FairaskWarning, match=r"SQLite 3\.46\.1 .* PostgreSQL"):
        warn_of_sqlite(str(tmp_path))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.51.3")
    warn_of_sqlite(str(tmp_path))  # warnings are errors in the tests
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.46.1")
    warn_of_sqlite("postgresql://host/loans")
