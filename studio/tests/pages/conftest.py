"""Studios to test with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.study.conftest import make, new_database, people_table, postgres_url

__all__ = ["make", "new_database", "people_table", "postgres_url"]


@pytest.fixture(autouse=True)
def no_answer_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a slow answer leaves out has tests of its own; on a busy machine every answer may be slow."""
    monkeypatch.setattr("fairask_studio.pages.desk._SLOW", 600.0)


@pytest.fixture
def study(make: Callable[..., Study]) -> Study:
    """A study with two batches drawn, nobody signed up."""
    made = make(budget=60)
    made.draw(10)
    made.draw(10)
    return made


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    """A browser of the local owner: cookie and CSRF token."""
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        yield signed(client)


def signed(client: TestClient) -> TestClient:
    """Take the token that a page hands out."""
    access = client.app.state.access  # type: ignore[attr-defined]
    found = client.get("/label", params={"code": access.invite() or ""})
    while found.status_code == 503:  # a busy machine: the first request builds all routes
        found = client.get("/label", params={"code": access.invite() or ""})
    page = found.text
    client.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
    return client


def bearer(app: FastAPI, token: str, **options: Any) -> TestClient:
    """A program with a token."""
    return TestClient(
        app, base_url="http://localhost", headers={"Authorization": f"Bearer {token}"}, **options
    )
