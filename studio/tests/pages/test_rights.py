"""Every route and every page, with every role: the table of rights is what holds."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.pages.access import ANYBODY, PAGES, RIGHTS, TOOL, may
from fairask_studio.store.people import ROLES
from studio.tests.pages.conftest import bearer

#: What stands for the parts of a path.
_PARTS = {"row": "0", "event": "1", "flag": "1", "name": "nobody", "column": "income"}


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


def test_every_route_refuses_the_roles_that_the_table_does_not_name(asked: dict[str, TestClient]) -> None:
    for route, least in RIGHTS.items():
        method, path = route.split(" ")
        path = "/api" + re.sub(r"\{(\w+)\}", lambda part: _PARTS[part[1]], path)
        got = {who: client.request(method, path).status_code for who, client in asked.items()}
        if least == ANYBODY:
            assert not {401, 403} & set(got.values()), f"{route}: {got}"
        elif least == TOOL:  # a person's token is no tool's
            assert set(got.values()) <= {401, 429}, f"{route}: {got}"
        else:
            assert got.pop(ANYBODY) == 401, route
            for role, status in got.items():
                refused = status in (401, 403)
                # A cell is refused, too, if its row was not given to this person.
                own = route == "GET /cells/{row}/{column}" and role == "annotator"
                assert refused is (not may(role, least) or own), f"{route} as {role}: {status}"


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
