"""Invitations sign in once and for a while; failures are counted by account too."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from typer.testing import CliRunner

from fairask.cli._app import app as commands
from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.store.schema import people
from studio.tests.pages.conftest import bearer

Make = Callable[..., Study]


@pytest.fixture
def team(make: Make) -> tuple[Study, str]:
    study = make()
    owner = study.people.add("ada", "owner")
    study.people.add("bob")
    return study, owner


def browser(study: Study) -> TestClient:
    return TestClient(create_app(study, local=False, train=False), base_url="http://localhost")


def test_an_invitation_signs_in_one_browser_once(team: tuple[Study, str]) -> None:
    study, owner = team
    ada = bearer(create_app(study, local=False, train=False), owner)
    assert ada.post("/api/people/zoe/invitation", json={}).status_code == 404
    earlier = ada.post("/api/people/bob/invitation", json={}).json()["path"]
    made = ada.post("/api/people/bob/invitation", json={"hours": 1}).json()
    assert made["until"] > study.store.events()[-1].at
    bob = browser(study)
    assert bob.get(earlier).url.path == "/signin"  # a later invitation ends it
    page = bob.get(made["path"])
    assert (page.status_code, page.url.path) == (200, "/label")  # signed in, on the page of annotators
    assert bob.get("/overview").status_code == 403
    assert bob.get("/api/me").json() == {"name": "bob", "role": "annotator"}
    assert browser(study).get(made["path"]).url.path == "/signin"
    assert bob.post("/api/people/bob/invitation", json={}).status_code == 403


def test_a_code_is_redeemed_by_the_api_and_ends_in_time(team: tuple[Study, str]) -> None:
    study, _ = team
    code = study.people.invite("bob", 3600)
    bob = browser(study)
    assert bob.post("/api/session", json={"code": code}).json() == {"name": "bob", "role": "annotator"}
    assert bob.get("/api/me").json()["name"] == "bob"
    assert bob.post("/api/session", json={"code": code}).status_code == 401
    assert bob.post("/api/session", json={"code": study.people.invite("bob", -1)}).status_code == 401
    assert bob.post("/api/session", json={}).status_code == 401


def test_the_command_prints_a_link_and_adds_the_person(team: tuple[Study, str]) -> None:
    study, _ = team
    words = ["study", "people", study.target, "--invite", "cyn", "--address", "https://studio.example.org/"]
    said = CliRunner().invoke(commands, words).output
    found = re.search(r"^https://studio.example.org(/\?code=\S+)$", said, re.MULTILINE)
    assert found, said
    cyn = browser(study)
    cyn.get(found[1])
    assert cyn.get("/api/me").json() == {"name": "cyn", "role": "annotator"}


def test_an_expired_token_is_counted_by_its_account_from_any_address(team: tuple[Study, str]) -> None:
    study, _ = team
    token = study.people.add("dan")
    with study.store.database.write() as connection:
        connection.execute(
            update(people).where(people.c.name == "dan").values(since="2020-01-01T00:00:00.000Z")
        )
    fail = study.store.attempts.fail
    app = create_app(study, local=False, train=False)
    tries = [
        TestClient(app, base_url="http://localhost", client=(f"192.0.2.{i}", 1)).post(
            "/api/session", json={"token": token}
        )
        for i in range(9)
    ]
    assert [answer.status_code for answer in tries] == [401] * 8 + [429]
    assert "expired" in tries[0].json()["detail"]
    assert fail("192.0.2.1") == 0.0  # the addresses themselves are not blocked
