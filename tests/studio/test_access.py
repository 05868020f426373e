"""Who gets in, what they may do, and what every answer carries."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from fairask.studio import create_app
from fairask.studio._security import LARGEST_BODY
from fairask.studio.server import check_host
from fairask.study import Study, StudyError
from fairask.study.store import Attempts
from tests.studio.conftest import bearer, signed

OWNERS_ONLY = ["/api/status", "/api/events", "/api/rows", "/api/rows/0", "/api/model", "/api/settings",
               "/api/people", "/api/certificate", "/api/export/labels.csv"]  # fmt: skip


@pytest.fixture
def visitor(study: Study) -> TestClient:
    """Somebody at a studio with people, not signed in."""
    return TestClient(create_app(study, local=False, train=False), base_url="https://studio.example")


def test_without_people_the_local_machine_is_the_owner(client: TestClient) -> None:
    assert client.get("/api/me").json()["role"] == "owner"
    assert client.get("/").status_code == 200


def test_what_a_proxy_hands_on_is_not_the_local_owner(study: Study) -> None:
    client = TestClient(create_app(study, train=False), base_url="http://localhost")
    assert client.get("/overview", headers={"X-Forwarded-For": "10.0.0.1"}).url.path == "/signin"
    assert client.get("/api/me").status_code == 401


@pytest.mark.parametrize("path", [*OWNERS_ONLY, "/api/me", "/api/progress", "/api/answers"])
def test_nobody_is_let_in_without_signing_in(visitor: TestClient, path: str) -> None:
    assert visitor.get(path).status_code == 401
    assert visitor.get("/overview").url.path == "/signin"


def test_a_token_signs_in_and_out(visitor: TestClient, study: Study) -> None:
    token = study.people.add("ada", "owner")
    assert visitor.post("/api/session", json={"token": token + "x"}).status_code == 401
    answer = visitor.post("/api/session", json={"token": token})
    assert answer.status_code == 201
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "secure"))
    signed(visitor)
    assert visitor.get("/api/me").json()["name"] == "ada"
    assert visitor.delete("/api/session").status_code == 200
    assert visitor.get("/api/me").status_code == 401


@pytest.mark.parametrize("path", OWNERS_ONLY)
def test_annotators_do_not_see_the_owners_side(study: Study, path: str) -> None:
    study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    bob = bearer(app, study.people.add("bob"))
    assert bob.get(path).status_code == 403
    assert bob.get("/api/progress").status_code == 200
    assert bob.put("/api/rows/0", json={"label": "good"}).status_code == 403
    assert bob.post("/api/people", json={"name": "eve", "role": "owner"}).status_code == 403


def test_an_annotators_browser_sees_only_its_own_page(visitor: TestClient, study: Study) -> None:
    study.people.add("ada", "owner")
    visitor.post("/api/session", json={"token": study.people.add("bob")})
    assert visitor.get("/").url.path == "/label"
    refused = visitor.get("/overview")
    assert refused.status_code == 403
    assert "owners" in refused.text


def test_a_change_needs_the_pages_own_token(client: TestClient) -> None:
    del client.headers["X-CSRF-Token"]
    assert client.post("/api/next", json={}).status_code == 403
    assert client.post("/api/next", json={}, headers={"X-CSRF-Token": "guess"}).status_code == 403
    assert client.get("/api/progress").status_code == 200


def test_signing_in_too_often_must_wait(visitor: TestClient, study: Study) -> None:
    token = study.people.add("ada", "owner")
    answers = [visitor.post("/api/session", json={"token": "guess"}) for _ in range(9)]
    assert [a.status_code for a in answers] == [401] * 8 + [429]
    assert int(answers[-1].headers["retry-after"]) > 0
    assert visitor.post("/api/session", json={"token": token}).status_code == 429


def test_attempts_are_forgotten_in_time_and_counted_by_place(study: Study) -> None:
    attempts = Attempts(study.store.database, most=1, seconds=0.0)
    assert [attempts.begin("a")[1] for _ in range(3)] == [0.0] * 3
    patient = Attempts(study.store.database, most=1, seconds=60.0)
    first, wait = patient.begin("2001:db8::1")
    assert wait == 0.0
    assert 0 < patient.begin("2001:db8::2")[1] <= 60.0  # the same network
    assert patient.begin("2001:db8:1::1")[1] == 0.0
    patient.forgive(first)
    assert patient.begin("2001:db8::2")[1] == 0.0


def test_right_tokens_are_no_attempts(visitor: TestClient, study: Study) -> None:
    token = study.people.add("ada", "owner")
    assert {visitor.post("/api/session", json={"token": token}).status_code for _ in range(12)} == {201}


@pytest.mark.parametrize(
    "path", ["/label", "/overview", "/signin", "/api/me", "/static/studio.css", "/nowhere"]
)
def test_every_answer_carries_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_a_foreign_name_for_this_machine_is_refused(client: TestClient) -> None:
    assert client.get("/label", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/label", headers={"Host": "127.0.0.1:8080"}).status_code == 200


def test_large_bodies_are_refused_declared_or_not(client: TestClient) -> None:
    large = b"x" * (LARGEST_BODY + 1)
    assert client.post("/api/answers", content=large).status_code == 413
    assert client.post("/api/answers", content=iter([large])).status_code == 413
    assert client.post("/api/answers", content=b"{}", headers={"Content-Length": "-5"}).status_code == 413


def test_others_are_let_in_only_with_an_owner(study: Study) -> None:
    check_host(study, "127.0.0.1")
    with pytest.raises(StudyError, match="no owner with a token"):
        check_host(study, "0.0.0.0")
    study.people.add("ada", "owner")
    check_host(study, "0.0.0.0")


def test_hostile_words_are_escaped_in_the_page(client: TestClient, study: Study) -> None:
    study.change(question="<script>alert(1)</script>")
    for view in ("label", "overview", "settings"):
        page = client.get(f"/{view}").text
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page
