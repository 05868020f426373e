"""A PostgreSQL server that restarts costs nobody an answer, and no process a restart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import create_app, guard
from studio.tests.study.conftest import new_database
from studio.tests.study.postgres import Server, started

Make = Callable[..., Study]


@pytest.fixture
def server() -> Iterator[Server]:
    with started() as found:
        yield found


@pytest.mark.slow
def test_the_next_request_after_a_restart_works(make: Make, server: Server) -> None:
    study = make(new_database(server.url))
    token = study.people.add("ada", "owner")
    rows = study.ask(5, "ada")
    study.tell(rows[:2], ["good", "bad"], "ada")
    app = create_app(study, local=False, train=False)
    client = TestClient(app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False)
    assert client.post("/api/next", json={}).status_code == 200
    server.restart()
    answer = client.post("/api/answers", json={"row": rows[2], "label": "good"})
    assert answer.status_code == 201
    server.restart()
    assert client.get("/api/status").json()["labels"] == 3
    server.restart()
    assert study.draw(5) is not None
    study.close()


def test_a_server_that_is_away_is_said_and_nothing_is_acknowledged(
    make: Make, server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "AGAIN_SECONDS", math.inf)
    study = make(new_database(server.url))
    (row,) = study.ask(1, "ada")
    token = study.people.add("ada", "owner")  # a durable write: what was leased before it is kept as well
    app = create_app(study, local=False, train=False)
    client = TestClient(app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False)
    assert client.get("/api/me").status_code == 200
    server.stop()
    refused = client.post("/api/answers", json={"row": row, "label": "good"})
    assert refused.status_code == 503
    assert "cannot be reached" in refused.json()["detail"]
    assert "cannot be reached" in client.get("/overview").text
    for _ in range(3):  # pages that are open go on asking, and the log does not fill
        assert client.post("/api/next", json={}).status_code == 503
    said = [line for line in caplog.messages if "the database cannot be reached" in line]
    assert 0 < len(said) == len(set(said))
    server.start()
    assert client.post("/api/answers", json={"row": row, "label": "good"}).status_code == 201
    study.close()
