"""The recipes for Argilla and Prodigy in docs/connect.md: short, and they work on top of the webhook.

Both tools are stood in for by what the recipes use of them: Argilla needs Elasticsearch, Prodigy a licence.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.connect import Connector, WebhookTool
from fairask_studio.connect.connector import Link, ensure_link, outgoing_rows
from fairask_studio.connect.webhook import sign
from fairask_studio.pages import create_app
from studio.tests.connect.conftest import SECRET
from studio.tests.pages.serving import serving

PAGE = Path(__file__).parents[3] / "docs" / "connect.md"


def recipe(title: str) -> str:
    """The program under a heading of the page, which has fewer than 30 lines."""
    found = re.search(rf"### {title}\n.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    assert len([line for line in found.group(1).splitlines() if line.strip()]) < 30
    return found.group(1)


@pytest.fixture
def study(make: Callable[..., Study]) -> Study:
    made = make()
    made.draw(4)
    return made


@pytest.fixture
def studio(study: Study, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A studio that takes answers, and what the recipes read from the environment."""
    token = ensure_link(study, Link("webhook", "webhook", "http://tool"), "owner")
    with serving(create_app(study, train=False)) as address:
        for name, value in {
            "ARGILLA_API_URL": "http://argilla", "ARGILLA_API_KEY": "key", "FAIRASK_STUDIO": address,
            "FAIRASK_TOKEN": token, "FAIRASK_WEBHOOK_SECRET": SECRET,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield address


def run(code: str, name: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(sys.modules, name, module)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(code, name, "exec"), space)
    return space


def answered(study: Study) -> dict[str, int]:
    return {who: len(list(rows)) for who, rows in study.state().recent.items()}


def test_argilla(study: Study, studio: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records: dict[str, dict[str, Any]] = {}
    server, listeners = FastAPI(), []
    log = SimpleNamespace(log=lambda given: records.update({record["id"]: record for record in given}))
    argilla = ModuleType("argilla")
    argilla.Argilla = lambda **_: SimpleNamespace(  # type: ignore[attr-defined]
        datasets=lambda name: SimpleNamespace(records=log)
    )
    argilla.get_webhook_server = lambda: server  # type: ignore[attr-defined]
    argilla.webhook_listener = lambda **_: listeners.append  # type: ignore[attr-defined]
    run(recipe("Argilla"), "argilla", argilla, monkeypatch)

    tool = WebhookTool(study, Link("webhook", "webhook", "http://tool"), SECRET)
    drawn = [entry.index for entry in study.state().log.entries]
    message, body = tool.message(outgoing_rows(study, drawn, protected=False))
    with TestClient(server) as bridge:
        assert bridge.post("/rows", content=body, headers=sign(SECRET, message, body)).status_code == 200
    assert len(records) == 4
    for number, (name, label) in enumerate(zip(records, ["good", "bad", "good", None], strict=True)):
        said = {
            "id": f"r{number}", "record": {"external_id": name}, "user": {"username": "ada"},
            "status": "submitted" if label else "discarded", "values": {"label": {"value": label}},
            "updated_at": "2026-01-01T00:00:00.500000",
        }  # fmt: skip
        for _ in range(2):
            asyncio.run(listeners[0](SimpleNamespace(type="response.created", data=said)))
    assert answered(study) == {"ada": 4}
    assert study.state().skipped == 1
    asyncio.run(listeners[0](SimpleNamespace(type="response.deleted", data=said)))
    assert answered(study) == {"ada": 3}


def test_prodigy(study: Study, studio: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prodigy = ModuleType("prodigy")
    prodigy.recipe = lambda *_, **__: lambda function: function  # type: ignore[attr-defined]
    space = run(recipe("Prodigy").replace("8091", "0"), "prodigy", prodigy, monkeypatch)
    servers: list[Any] = []

    class Remembered(space["HTTPServer"]):  # type: ignore[misc,name-defined]
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            servers.append(self)

    space["HTTPServer"] = Remembered
    made = space["label"]("loans")
    try:
        link = Link("webhook", "webhook", f"http://127.0.0.1:{servers[0].server_address[1]}")
        assert Connector(study, WebhookTool(study, link, SECRET)).send() == 4
        tasks = [next(made["stream"]) for _ in range(4)]
        done = [
            {**task, "_input_hash": i, "_session_id": "ada", "accept": ["good"] if i else []}
            for i, task in enumerate(tasks)
        ]
        made["update"](done)
        assert answered(study) == {"ada": 4}
        assert study.state().skipped == 1
    finally:
        servers[0].shutdown()
        servers[0].server_close()
