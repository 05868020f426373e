"""The home page for others: people with tokens own all studies; a proxy; studies of a database server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from fairask.cli._app import app as command
from fairask.report.words import forecast_sentence
from fairask_studio import Study, StudyError
from fairask_studio.pages.home import create_home
from fairask_studio.pages.new import KnownLabels
from fairask_studio.pages.server import Proxy, serve_home
from studio.tests.pages.test_home import CSV, new_study


def _token(place: str, *words: str) -> str:
    return CliRunner().invoke(command, ["study", "people", place, *words]).output.split()[-1]


def _signed(client: TestClient, token: str) -> TestClient:
    assert client.post("/api/session", json={"token": token}).status_code == 201
    client.headers["X-CSRF-Token"] = client.get("/").text.split('name="csrf" content="')[1].split('"')[0]
    return client


def test_a_home_page_for_others_needs_an_owner_with_a_token(tmp_path: Path) -> None:
    for proxy, host in ((Proxy(), "0.0.0.0"), (Proxy(https=True), "127.0.0.1")):
        with pytest.raises(StudyError, match=r"no owner with a token.*people FOLDER"):
            serve_home(str(tmp_path), host=host, port=0, proxy=proxy)
    refused = CliRunner().invoke(
        command, ["study", "people", str(tmp_path), "--add", "eve", "--role", "annotator"]
    )
    assert (refused.exit_code, "own them all" in refused.output) == (2, True)
    assert not (tmp_path / ".home").exists()  # nothing was made


def test_people_of_the_home_page_own_its_studies_behind_a_proxy(tmp_path: Path) -> None:
    token = _token(str(tmp_path), "--add", "ada")
    app = create_home(tmp_path, local=False, https=True, train=False)
    with TestClient(app, base_url="https://studio.example.org", root_path="/teams") as client:
        assert client.get("/teams/").url.path == "/teams/signin"
        assert client.get("/teams/api/studies").status_code == 401
        assert client.get("/teams/healthz").json() == {"status": "ok"}
        assert client.post("/teams/api/session", json={"token": "wrong"}).status_code == 401
        signed = client.post("/teams/api/session", json={"token": token})
        assert "Secure" in signed.headers["set-cookie"]
        assert "Path=/teams;" in signed.headers["set-cookie"]
        page = client.get("/teams/").text
        assert 'href="/teams/new"' in page
        client.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
        assert new_study(client, root="/teams")["status"] == 201
        address = client.post("/teams/api/studies/comments/open").json()["address"]
        assert address.startswith("/teams/s/comments/?code=")
        inside = client.get(address, headers={"sec-fetch-mode": "navigate"})
        assert inside.url.path == "/teams/s/comments/overview"
        assert client.get("/teams/s/comments/api/me").json() == {"name": "ada", "role": "owner"}
    noted = [(e.who, e.data["what"]) for e in _home_events(tmp_path)]
    assert ("ada", "signed in") in noted
    CliRunner().invoke(command, ["study", "people", str(tmp_path), "--add", "bob"])
    CliRunner().invoke(command, ["study", "people", str(tmp_path), "--remove", "ada"])
    with TestClient(
        create_home(tmp_path, local=False, train=False), base_url="https://x", cookies=client.cookies
    ) as again:
        assert again.get("/s/comments/api/me").status_code == 401  # out of the studies, too


def _home_events(folder: Path) -> list[object]:
    from fairask_studio.store.store import Store

    store = Store(str(folder / ".home"))
    events = store.events()
    store.close()
    return events  # type: ignore[return-value]


def test_a_server_has_one_database_for_each_study(postgres_url: str) -> None:
    token = _token(postgres_url, "--add", "ada")
    with TestClient(
        create_home(postgres_url, local=False, train=False), base_url="https://localhost"
    ) as client:
        home = _signed(client, token)
        assert "comments" not in [s["name"] for s in home.get("/api/studies").json()]
        assert new_study(home)["status"] == 201
        assert "already" in str(new_study(home)["detail"])
        assert "no column" in str(new_study(home, "other", protected=["gender"])["detail"])
        with Study.open(f"{postgres_url}/comments") as study:
            rows = study.ask(10)
            study.tell(rows, ["yes"] * 10)
        listed = {s["name"]: s for s in home.get("/api/studies").json()}
        assert "other" not in listed  # what cannot be made leaves nothing
        assert listed["comments"]["labels"] == 10
        address = home.post("/api/studies/comments/open").json()["address"]
        opened = home.get(address, headers={"sec-fetch-mode": "navigate"})
        assert opened.url.path == "/s/comments/overview"
        assert home.put("/api/studies/comments", json={"archived": True}).status_code == 200
        assert {s["name"]: s["archived"] for s in home.get("/api/studies").json()}["comments"]
        assert home.post("/api/studies/comments/copy", json={"name": "again"}).status_code == 201
        for name in ("again", "comments"):
            assert home.request("DELETE", f"/api/studies/{name}", json={"name": name}).status_code == 200
        assert not {"again", "comments"} & {s["name"] for s in home.get("/api/studies").json()}


def test_a_forecast_says_what_simulate_would_and_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = KnownLabels.command
    curve = {"labels": [20, 40], "accuracy_by_round": [0.7, 0.8], "gap_by_round": [0.2, 0.04]}
    commands: list[list[str]] = []

    def simulated(self: KnownLabels, file: Path, rows: int) -> list[str]:
        commands.append(real(self, file, rows))
        method = {"accuracy": 0.8, "gap": 0.04, **curve}
        found = {"budget": 40, "tolerance": 0.1, "methods": [method]}
        return [sys.executable, "-c", f"print({json.dumps(json.dumps(found))})"]

    monkeypatch.setattr(KnownLabels, "command", simulated)
    with TestClient(create_home(tmp_path, train=False), base_url="http://localhost") as home:
        code = home.app.state.access.invite()  # type: ignore[attr-defined]
        page = home.get("/", params={"code": code}).text
        home.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
        table = home.post("/api/tables", params={"name": "c.csv"}, content=CSV.encode()).json()["id"]
        asked = {"label": "complaint", "positive": "yes", "protected": ["sex"], "budget": 40}
        few = home.post(f"/api/tables/{table}/forecast", json={**asked, "label": "rated"})
        assert "say too little" in few.json()["detail"]
        assert home.post(f"/api/tables/{table}/forecast", json={**asked, "label": "no"}).status_code == 422
        assert home.post(f"/api/tables/{table}/forecast", json=asked).json()["state"] == "running"
        assert new_study(home)["status"] == 201  # while it runs
        forecasts = home.app.state.forecasts  # type: ignore[attr-defined]
        forecasts.wait()
        said = home.get(f"/api/tables/{table}/forecast").json()
        assert (said["state"], said["rows"]) == ("done", 150)
        assert said["words"] == forecast_sentence(40, 0.8, 0.04, 0.1)
        assert said["curve"] == curve
    simulate = typer.main.get_command(command).commands["simulate"]  # type: ignore[attr-defined]
    given = simulate.make_context("simulate", commands[0][4:]).params  # the command line knows all options
    assert (given["label"], given["protected"], given["budget"]) == ("complaint", ["sex"], 40)
