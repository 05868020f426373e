"""Who may do what: sign-in, sessions, tokens, the table of rights."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from fairask_studio import Study, StudyError
from fairask_studio.pages import create_app
from fairask_studio.pages.access import ANYBODY, PAGES, RIGHTS, may
from fairask_studio.pages.frame import static_digest
from fairask_studio.pages.guard import LARGEST_BODY
from fairask_studio.pages.server import check_host
from fairask_studio.store.people import ROLES, Attempts
from studio.tests.pages.conftest import bearer, signed


@pytest.fixture
def visitor(study: Study) -> TestClient:
    """Somebody at a studio with people, not signed in."""
    return TestClient(create_app(study, local=False, train=False), base_url="https://studio.example")


def test_without_people_the_local_machine_is_the_owner(client: TestClient) -> None:
    assert client.get("/api/me").json()["role"] == "owner"
    assert client.get("/").status_code == 200


def test_nobody_is_the_owner_without_the_code_of_the_printed_address(study: Study) -> None:
    app = create_app(study, train=False)
    code = app.state.access.invite()
    visitor = TestClient(app, base_url="http://localhost")
    for path in ("/", "/overview", "/overview?code=guess"):
        assert visitor.get(path).url.path == "/signin"
    assert "printed" in visitor.get("/signin").text
    assert visitor.get("/api/me").status_code == 401
    visitor.cookies.set(app.state.access.cookie, code)  # a code is no session
    assert visitor.get("/api/me").status_code == 401
    owner = TestClient(app, base_url="http://localhost")
    assert owner.get(f"/?code={code}").url.path == "/overview"
    assert owner.get("/api/me").json()["role"] == "owner"
    used = visitor.get(f"/?code={code}")
    assert used.status_code == 410
    assert "This link was used already" in used.text


def test_the_owner_who_adds_people_in_the_browser_stays_in(client: TestClient) -> None:
    first = client.post("/api/people", json={"name": "ada"})
    assert first.status_code == 409  # nobody is an owner unless it is said
    assert client.post("/api/people", json={"name": "ada", "role": "owner"}).status_code == 201
    assert client.post("/api/people", json={"name": "bob"}).json()["role"] == "annotator"
    assert client.get("/api/me").json()["role"] == "owner"


def test_a_token_is_replaced_only_when_that_is_asked_for(client: TestClient, study: Study) -> None:
    old = client.post("/api/people", json={"name": "ada", "role": "owner"}).json()["token"]
    refused = client.post("/api/people", json={"name": "ada", "role": "owner"})
    assert refused.status_code == 422
    assert "has a token already" in refused.json()["detail"]
    assert study.people.by_token(old) is not None
    new = study.people.add("ada", "owner", renew=True)
    assert study.people.by_token(old) is None
    assert study.people.by_token(new) is not None


def test_the_first_choice_of_a_role_is_annotator(client: TestClient) -> None:
    page = client.get("/people").text
    assert page.index('<option value="annotator">') < page.index('<option value="owner">')


def test_each_study_has_a_cookie_of_its_own(study: Study, make: Callable[..., Study], tmp_path: Path) -> None:
    other = make(str(tmp_path / "other"))
    names = {create_app(s, train=False).state.access.cookie for s in (study, other)}
    assert len(names) == 2


def test_behind_https_cookies_are_secure_without_any_header(study: Study) -> None:
    token = study.people.add("ada", "owner")
    app = create_app(study, local=False, https=True, train=False)
    answer = TestClient(app, base_url="http://studio.example").post("/api/session", json={"token": token})
    assert "secure" in answer.headers["set-cookie"].lower()


def test_pages_work_below_the_path_of_a_proxy(study: Study) -> None:
    app = create_app(study, train=False)
    client = TestClient(app, base_url="http://localhost", root_path="/loans")
    page = client.get(f"/loans/label?code={app.state.access.invite()}")
    assert page.url.path == "/loans/label"
    assert f'href="/loans/static/{static_digest()}/studio.css"' in page.text
    assert client.get(f"/loans/static/{static_digest()}/studio.css").status_code == 200
    assert client.get("/loans/api/me").json()["role"] == "owner"
    assert client.get("/loans/api/nowhere").json() == {"detail": "Not Found"}


def test_a_used_session_does_not_end_and_an_unused_one_does(study: Study, visitor: TestClient) -> None:
    visitor.post("/api/session", json={"token": study.people.add("ada", "owner")})

    def shift(hours: float) -> int:
        with study.store.database.write() as connection:
            connection.execute(text(f"UPDATE sessions SET until = until - {3600 * hours}"))
        study.people._known.clear()
        return visitor.get("/api/me").status_code

    assert [shift(11), shift(11), shift(11)] == [200] * 3
    assert shift(13) == 401


def test_a_token_expires_and_says_so(study: Study, visitor: TestClient) -> None:
    token = study.people.add("ada", "owner")
    visitor.post("/api/session", json={"token": token})
    with study.store.database.write() as connection:
        connection.execute(text("UPDATE people SET since = '2001-01-01T00:00:00.000Z'"))
    study.people._known.clear()
    assert visitor.get("/api/me").status_code == 401  # the session ends with it
    refused = visitor.post("/api/session", json={"token": token})
    assert refused.status_code == 401
    assert "expired" in refused.json()["detail"]


def test_sign_ins_refusals_people_and_files_are_logged(
    study: Study, visitor: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "fairask.security")
    token = study.people.add("ada", "owner")
    visitor.post("/api/session", json={"token": "guess"})
    visitor.post("/api/session", json={"token": token})
    signed(visitor)
    bob = visitor.post("/api/people", json={"name": "bob"}).json()["token"]
    visitor.get("/api/export/study.json")
    visitor.delete("/api/people/bob")
    noted = [(e.who, e.data["what"], e.data["name"]) for e in study.store.events() if e.kind == "access"]
    assert noted == [
        ("unknown", "was refused", "wrong token"),
        ("ada", "signed in", "ada"),
        ("ada", "added", "bob"),
        ("ada", "took the file", "study.json"),
        ("ada", "removed", "bob"),
    ]
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert [(line["who"], line["what"], line["name"]) for line in lines] == noted
    assert not any(secret in caplog.text for secret in (token, bob))


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


def test_an_annotators_browser_sees_only_its_own_page(visitor: TestClient, study: Study) -> None:
    study.people.add("ada", "owner")
    visitor.post("/api/session", json={"token": study.people.add("bob")})
    assert visitor.get("/").url.path == "/label"
    refused = visitor.get("/overview")
    assert refused.status_code == 403
    assert "for the reviewers" in refused.text


def test_a_change_needs_the_pages_own_token(client: TestClient) -> None:
    del client.headers["X-CSRF-Token"]
    assert client.post("/api/next", json={}).status_code == 403
    assert client.post("/api/next", json={}, headers={"X-CSRF-Token": "guess"}).status_code == 403
    assert client.get("/api/me").status_code == 200


def test_signing_in_too_often_must_wait(visitor: TestClient, study: Study) -> None:
    token = study.people.add("ada", "owner")
    answers = [visitor.post("/api/session", json={"token": "guess"}) for _ in range(9)]
    assert [a.status_code for a in answers] == [401] * 8 + [429]
    assert int(answers[-1].headers["retry-after"]) > 0
    # Only failures count: a right token is let in, whatever others guess from the same address.
    assert visitor.post("/api/session", json={"token": token}).status_code == 201


def test_attempts_are_forgotten_in_time_and_counted_by_place(study: Study) -> None:
    attempts = Attempts(study.store.database, most=1, seconds=0.0)
    assert [attempts.fail("a") for _ in range(3)] == [0.0] * 3
    patient = Attempts(study.store.database, most=1, seconds=60.0)
    assert patient.fail("2001:db8::1") == 0.0
    assert 0 < patient.fail("2001:db8::2") <= 60.0  # the same network
    assert patient.fail("2001:db8:1::1") == 0.0


def test_fifty_right_tokens_from_one_office_are_let_in_at_once(visitor: TestClient, study: Study) -> None:
    tokens = [study.people.add(f"p{i}", "owner") for i in range(50)]
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda t: visitor.post("/api/session", json={"token": t}), tokens))
    assert Counter(a.status_code for a in answers) == {201: 50}


def test_a_wrong_bearer_token_is_counted_too(study: Study) -> None:
    study.people.add("ada", "owner")
    guesser = bearer(create_app(study, local=False, train=False), "guess")
    assert [guesser.get("/api/me").status_code for _ in range(9)] == [401] * 8 + [429]


ICON, SHEET = (f"/static/{static_digest()}/{name}" for name in ("icon.svg", "studio.css"))


@pytest.mark.parametrize("path", ["/label", "/overview", "/signin", "/api/me", ICON, "/nowhere"])
def test_every_document_carries_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_scripts_and_style_sheets_carry_those_that_are_about_them(client: TestClient) -> None:
    headers = client.get(SHEET).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "content-security-policy" not in headers  # it binds documents


def test_a_foreign_name_for_this_machine_is_refused(client: TestClient) -> None:
    assert client.get("/label", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/label", headers={"Host": "127.0.0.1:8080"}).status_code == 200


def test_large_bodies_are_refused_declared_or_not(client: TestClient) -> None:
    large = b"x" * (LARGEST_BODY + 1)
    assert client.post("/api/answers", content=large).status_code == 413
    assert client.post("/api/answers", content=iter([large])).status_code == 413
    assert client.post("/api/answers", content=b"{}", headers={"Content-Length": "-5"}).status_code == 413


def test_others_are_let_in_only_with_an_owner(study: Study) -> None:
    check_host(study.people, "127.0.0.1")
    with pytest.raises(StudyError, match="no owner with a token"):
        check_host(study.people, "0.0.0.0")
    study.people.add("ada", "owner")
    check_host(study.people, "0.0.0.0")


def test_hostile_words_are_escaped_in_the_page(client: TestClient, study: Study) -> None:
    study.change(question="<script>alert(1)</script>")
    for view in ("label", "overview", "settings"):
        page = client.get(f"/{view}").text
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_a_code_leads_to_the_page_that_was_asked_for(study: Study) -> None:
    study.people.add("ada", "owner")
    study.people.add("bob")
    for name, page, there in (
        ("ada", "label", "label"),
        ("ada", "", "overview"),
        ("bob", "", "label"),
        ("bob", "rows", "label"),
    ):
        with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
            found = client.get(f"/{page}", params={"code": study.people.invite(name)})
            assert found.url.path == f"/{there}"


def _routes(app: object) -> set[str]:
    paths = app.openapi()["paths"]  # type: ignore[attr-defined]
    return {
        f"{method.upper()} {path.removeprefix('/api')}" for path, found in paths.items() for method in found
    }


@pytest.fixture
def asked(study: Study) -> dict[str, TestClient]:
    """A program of each role, and one of nobody."""
    app = create_app(study, local=False, train=False)
    tokens = {role: study.people.add(f"an {role}", role) for role in reversed(ROLES)}
    return {
        **{role: bearer(app, token) for role, token in tokens.items()},
        ANYBODY: TestClient(app, base_url="http://localhost"),
    }


def test_the_table_of_rights_names_every_route_and_no_other(study: Study) -> None:
    assert _routes(create_app(study, train=False)) == set(RIGHTS)


def test_pages_are_shown_and_offered_by_role(study: Study) -> None:
    app = create_app(study, local=False, train=False)
    for role in reversed(ROLES):
        browser = TestClient(app, base_url="https://localhost")
        browser.post("/api/session", json={"token": study.people.add(role, role)})
        for page, (_, least) in PAGES.items():
            found = browser.get(f"/{page}")
            assert found.status_code == (200 if may(role, least) else 403), f"{page} as {role}"
        front = browser.get("/")
        assert front.url.path == ("/label" if role == "annotator" else "/overview")
        for page, (title, least) in PAGES.items():
            assert (f'href="/{page}"' in front.text) is (may(role, least) and role != "annotator"), title


def test_a_reviewer_settles_a_disagreement_and_changes_nothing_else(
    study: Study, asked: dict[str, TestClient]
) -> None:
    (row,) = study.lease("bob", 1)
    study.tell([row], ["good"], "bob")
    reviewer = asked["reviewer"]
    assert reviewer.put(f"/api/rows/{row}", json={"label": "bad"}).status_code == 200
    assert study.state().decided_by[row] == "an reviewer"
    for path, body in (
        ("settings", {"question": "?"}),
        ("audit", {"labels": 5}),
        ("people", {"name": "eve"}),
    ):
        before = study.state().last
        method = "PUT" if path == "settings" else "POST"
        refused = reviewer.request(method, f"/api/{path}", json=body)
        assert (refused.status_code, refused.json()["detail"]) == (
            403,
            "only an owner of the study may do this",
        )
        assert study.store.events(before) == []
