"""Owners reopen rows by the API, and limits on each person hold there."""

from __future__ import annotations

from collections.abc import Callable

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import bearer


def test_skips_end_at_the_limit_and_the_owner_reopens_them(make: Callable[..., Study]) -> None:
    study = make(most_skips=2, most_per_minute=4)
    owner, token = study.people.add("ada", "owner"), study.people.add("bob")
    study.draw(10)
    app = create_app(study, local=False, train=False)
    bob, ada = bearer(app, token), bearer(app, owner)

    def answer(label: str | None) -> int:
        row = bob.post("/api/next", json={"count": 1}).json()["cards"][0]["row"]
        return bob.post("/api/answers", json={"row": row, "label": label}).status_code

    assert [answer(None) for _ in range(3)] == [201, 201, 422]
    assert study.status()["skipped"] == 2
    assert "bob" in str(ada.get("/api/status").json()["warnings"])
    assert bob.post("/api/reopened", json={"skips": True}).status_code == 403
    assert bob.get("/api/reopened").status_code == 403
    look = ada.post("/api/reopened", json={"name": "bob", "look": True}).json()
    assert look == {"event": None, "answers": 2, "labels": 0}
    event = ada.post("/api/reopened", json={"name": "bob", "skips": True}).json()["event"]
    (listed,) = ada.get("/api/reopened").json()
    assert (listed["event"], listed["name"], listed["answers"], listed["who"]) == (event, "bob", 2, "ada")
    assert study.status()["skipped"] == 0
    assert ada.delete(f"/api/reopened/{event}").json() == {"answers": 2, "taken": 0}
    assert ada.delete(f"/api/reopened/{event}").status_code == 422
    assert ada.get("/api/reopened").json() == []
    assert ada.post("/api/reopened", json={}).status_code == 422
    # At four answers in a minute no row is handed out until the pace is lower.
    assert [answer("good"), answer("bad")] == [201, 201]
    told = bob.post("/api/next", json={}).json()
    assert told["cards"] == []
    assert "more rows in a minute" in told["notice"]
    assert ada.put("/api/settings", json={"most_per_minute": 0}).status_code == 200
    assert bob.post("/api/next", json={}).json()["cards"]
