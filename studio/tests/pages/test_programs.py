"""Programs have tokens of their own: given, listed and revoked by owners, by the API and by the command."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi.testclient import TestClient
from typer.testing import CliRunner

from fairask.cli._app import app as command
from fairask_studio import Study
from studio.tests.pages.conftest import bearer
from studio.tests.pages.serving import serving


def test_an_owner_gives_a_program_a_token_and_revokes_it(client: TestClient, study: Study) -> None:
    made = client.post("/api/programs", json={"name": "robot", "role": "annotator", "until": "2999-12-31"})
    assert made.status_code == 201
    token = made.json()["token"]
    assert [(p["name"], p["until"][:10], p["ended"]) for p in client.get("/api/programs").json()] == [
        ("robot", "2999-12-31", False)
    ]
    program = bearer(client.app, token)  # type: ignore[arg-type]
    row = program.post("/api/next", json={"count": 1}).json()["cards"][0]["row"]
    assert program.post("/api/answers", json={"row": row, "label": "good"}).status_code == 201
    assert list(study.state().answers[row]) == ["robot"]
    assert program.get("/api/status").status_code == 403  # it is an annotator
    assert program.post("/api/session", json={"token": token}).status_code == 403  # a session is a person's
    assert client.get("/api/me").status_code == 200  # no person was added: the printed address still works

    past = client.post("/api/programs", json={"name": "old", "until": "2001-01-01"})
    assert (past.status_code, "past" in past.json()["detail"]) == (422, True)
    assert client.delete("/api/programs/nobody").status_code == 404
    assert client.delete("/api/programs/robot").status_code == 200
    assert program.get("/api/me").status_code == 401
    noted = [(e.data["what"], e.data["name"]) for e in study.store.events() if e.kind == "access"]
    assert ("gave a token to the program", "robot") in noted
    assert ("revoked the token of", "robot") in noted
    assert token not in str(study.store.events())


def test_the_command_gives_lists_and_revokes(study: Study) -> None:
    run = CliRunner()

    def people(*words: str) -> str:
        return run.invoke(command, ["study", "people", study.target, *words]).output

    study.people.add("ada", "owner")
    given = people("--program", "nightly", "--until", "2999-12-31")
    assert "until 2999-12-31" in given
    assert study.people.by_token(given.split()[-1]) is not None
    assert "nightly\tprogram, annotator\tuntil 2999-12-31" in people()
    people("--remove", "nightly")
    assert "nightly" not in people()
    noted = [(e.data["what"], e.data["name"]) for e in study.store.events() if e.kind == "access"]
    assert noted == [("gave a token to the program", "nightly"), ("removed", "nightly")]


def test_the_client_of_the_docs_labels_a_row(client: TestClient, study: Study) -> None:
    page = Path(__file__).parents[3] / "docs" / "studio.md"
    source = next(c for c in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if "def call(" in c)
    token = study.people.add_program("client", "annotator", "2999-12-31T23:59:59.999Z")
    with serving(client.app) as url:  # type: ignore[arg-type]
        source = source.replace("http://localhost:8080", url).replace('token="..."', f"token={token!r}")
        exec(source.replace('"yes"', '"good"'), {})
    given = [(name, answer.code) for said in study.state().answers.values() for name, answer in said.items()]
    assert given == [("client", 1)]
