"""Against a real Label Studio: from an empty project to a certificate, and what goes wrong there."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fairask.cli import main
from fairask.errors import UserError
from fairask_studio import Study
from fairask_studio.connect import Connector
from fairask_studio.connect.connector import Link, ToolUnreachable, ensure_link
from fairask_studio.connect.labelstudio import LabelStudioTool, connect_project, open_client, register_webhook
from fairask_studio.integrity import verify
from fairask_studio.pages import create_app
from studio.tests.connect import labelstudio
from studio.tests.connect.killing import label_under_kills
from studio.tests.connect.labelstudio import OWNER, Person, Server, token_of
from studio.tests.connect.twin import same_draws
from studio.tests.pages.serving import serving
from studio.tests.study.conftest import people_table, truth

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    labelstudio.require_label_studio()
    with labelstudio.running(tmp_path_factory.mktemp("ls") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Any]:
    with open_client(server.url, token_of(OWNER)) as opened:
        yield opened


def linked(study: Study, server: Server, client: Any, title: str, **options: bool) -> Connector:
    link = Link("labelstudio", "labelstudio", server.url, None, **options)
    link = replace(link, project=connect_project(client, study, title, link))
    ensure_link(study, link, "owner")
    return Connector(study, LabelStudioTool(study, link, client))


def by_row(person: Person, project: int) -> dict[int, dict[str, Any]]:
    return {task["data"]["fairask_row"]: task for task in person.tasks(project)}


def test_annotations_corrections_skips_and_deletions_come_back_once(
    make: Callable[..., Study], server: Server, client: Any
) -> None:
    study = make(overlap=2)
    study.draw(6)
    work = linked(study, server, client, "walk")
    project = work.tool.link.project
    assert project is not None
    work.step()
    tasks = by_row(server.owner, project)
    rows = [entry.index for entry in study.state().log.entries]
    assert sorted(tasks) == sorted(rows)  # only drawn rows
    assert "sex" not in json.dumps(server.owner.tasks(project))
    assert server.owner.ask("GET", f"/api/projects/{project}")["maximum_annotations"] == 2
    assert work.send() == 0

    ada, bob = labelstudio.people(server, 2)
    first = ada.annotate(tasks[rows[0]]["id"], "good")
    second = bob.annotate(tasks[rows[0]]["id"], "bad")
    ada.annotate(tasks[rows[1]]["id"], None)
    assert work.step().counts() == {"new": 3, "known": 0, "corrected": 0, "withdrawn": 0, "refused": 0}
    given = study.state().answers[rows[0]]
    assert {who: study.config.class_name(a.code) for who, a in given.items()} == {
        ada.email: "good",
        bob.email: "bad",
    }
    assert study.state().answers[rows[1]][ada.email].code == -1
    assert work.step().known == 3

    ada.change(first, "bad")
    bob.delete(second)
    ada.annotate(tasks[rows[0]]["id"], "good")  # the same person says both
    done = work.step()
    assert (done.corrected, done.withdrawn, len(done.refused)) == (1, 1, 1)
    assert "has said 'bad'" in done.refused[0]
    # Webhooks that are told late or again change nothing.
    assert work.step().counts()["known"] == 3

    # A task that somebody deletes is made again while its row is open; labels that were taken stay.
    server.owner.ask("DELETE", f"/api/tasks/{tasks[rows[2]]['id']}/")
    server.owner.ask("DELETE", f"/api/tasks/{tasks[rows[0]]['id']}/")
    work.step()
    assert rows[2] in by_row(server.owner, project)
    assert study.state().answers[rows[0]][ada.email].code == 0
    assert verify(study.target).problems == ()

    # Another connector goes on with the same project, and a second study is not mixed up with it.
    again = linked(study, server, client, "walk")
    assert again.tool.link.project == project
    assert again.step().counts()["new"] == 0
    server.owner.ask("POST", f"/api/projects/{project}/import", json=[
        {"data": {"fields": {}, "fairask_row": rows[3], "fairask_check": "k0"}}, {"data": {"fields": {}}},
    ])  # fmt: skip
    foreign = max(
        task["id"] for task in server.owner.tasks(project) if task["data"].get("fairask_check") == "k0"
    )
    ada.annotate(foreign, "good")
    assert "check code" in again.step().refused[0]

    server.owner.ask("DELETE", f"/api/projects/{project}/")
    with pytest.raises(UserError, match="no such project"):
        again.step()
    assert study.state().answers[rows[0]][ada.email].code == 0


def test_of_many_tasks_only_those_changed_lately_are_read(
    make: Callable[..., Study], server: Server, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairask_studio.connect.labelstudio._FEW", 0)
    study = make()
    study.draw(4)
    work = linked(study, server, client, "many")
    project = work.tool.link.project
    assert project is not None
    work.step()
    tasks = list(by_row(server.owner, project).values())
    (ada,) = labelstudio.people(server, 1)
    first = ada.annotate(tasks[0]["id"], "good")
    assert work.step().counts()["new"] == 1
    ada.change(first, "bad")
    assert work.step().counts()["corrected"] == 1
    ada.annotate(tasks[1]["id"], "good")
    assert work.step().counts()["new"] == 1
    ada.delete(first)
    assert work.step().counts()["withdrawn"] == 1
    assert sum(map(bool, study.state().answers.values())) == 1


def test_projects_are_adopted_or_refused_with_words(
    make: Callable[..., Study], server: Server, client: Any
) -> None:
    study = make()
    empty = server.owner.ask("POST", "/api/projects/", json={"title": "empty"})["id"]
    assert linked(study, server, client, str(empty)).tool.link.project == empty
    assert "good" in server.owner.ask("GET", f"/api/projects/{empty}")["label_config"]
    xml = (
        '<View><Text name="t" value="$t"/><Choices name="c" toName="t"><Choice value="cat"/></Choices></View>'
    )
    used = server.owner.ask("POST", "/api/projects/", json={"title": "used", "label_config": xml})["id"]
    server.owner.ask("POST", f"/api/projects/{used}/import", json=[{"t": "x"}])
    with pytest.raises(UserError, match="no choice 'bad'"):
        linked(study, server, client, "used")
    server.owner.ask("POST", "/api/projects/", json={"title": "empty"})
    with pytest.raises(UserError, match="2 projects are named"):
        linked(study, server, client, "empty")
    with pytest.raises(UserError, match="no such project"):
        linked(study, server, client, "99999")
    stranger = Link("l", "labelstudio", server.url)
    with open_client(server.url, "0" * 40) as other, pytest.raises(UserError, match="token"):
        connect_project(other, study, "x", stranger)
    with open_client("http://127.0.0.1:9", "x") as other, pytest.raises(ToolUnreachable):
        connect_project(other, study, "x", stranger)


def test_webhooks_and_the_routes_of_an_ml_backend(
    make: Callable[..., Study], server: Server, client: Any
) -> None:
    study = make(budget=20)
    study.draw(10)
    work = linked(study, server, client, "hooks", predictions=True)
    tool = work.tool
    assert isinstance(tool, LabelStudioTool)
    project = tool.link.project
    work.step()
    (ada,) = labelstudio.people(server, 1)
    tasks = by_row(server.owner, int(project or 0))
    rows, labels = list(tasks), truth(people_table())
    with serving(create_app(study, train=False)) as studio:
        token = ensure_link(study, tool.link, "owner", renew=True)
        register_webhook(tool.client, tool.link, studio, token)
        first = ada.annotate(tasks[rows[0]]["id"], labels[rows[0]])
        work.collect()  # learns who ada is
        numbers = [first, *(ada.annotate(tasks[row]["id"], labels[row]) for row in rows[1:])]
        assert len(study.state().answers) == 10  # the webhook told it before any poll
        other = "bad" if labels[rows[1]] == "good" else "good"
        ada.change(numbers[1], other)
        assert study.config.class_name(study.state().answers[rows[1]][ada.email].code) == other
        ada.delete(numbers[2])
        assert study.state().answers[rows[2]] == {}
        counts = work.collect().counts()
        assert (counts["new"], counts["corrected"], counts["withdrawn"], counts["refused"]) == (0, 0, 0, 0)

        ada.annotate(tasks[rows[2]]["id"], labels[rows[2]])
        assert study.refit() is not None
        study.draw(5)
        work.send()  # with predictions, since the link was made with them
        predicted = server.owner.ask("GET", "/api/predictions/", params={"project": project})
        assert len(predicted) == 5
        address = f"{studio}/api/connect/labelstudio"
        backend = {
            "url": address, "project": project, "title": "fairask", "auth_method": "BASIC_AUTH",
            "basic_auth_user": "fairask", "basic_auth_pass": token,
        }  # fmt: skip
        made = server.owner.ask("POST", "/api/ml/", json=backend)
        assert made["state"] == "CO"  # connected: /health and /setup were asked
        sent = {"tasks": [{"id": 1, "data": tasks[rows[0]]["data"]}]}
        with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
            place, mine = "/api/connect/labelstudio", ("fairask", token)
            found = client.post(f"{place}/predict", json=sent, auth=mine).json()["results"]
            assert found[0]["result"][0]["value"]["choices"][0] in ("bad", "good")
            assert client.post(f"{place}/predict", json=sent, auth=("fairask", "x")).status_code == 401
            sent["tasks"][0]["data"] = {**tasks[rows[0]]["data"], "fairask_check": "k0"}
            assert client.post(f"{place}/predict", json=sent, auth=mine).status_code == 422
            ensure_link(study, replace(tool.link, predictions=False), "owner")
            assert client.post(f"{place}/predict", json=sent, auth=mine).json() == {"results": []}
            odd = client.post(f"{place}/webhook", json={"action": "ANNOTATION_CREATED"}, auth=mine)
            assert odd.json()["new"] == 0


@pytest.mark.long
def test_an_empty_project_to_a_certificate_in_five_commands(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", token_of(OWNER))
    table = people_table()
    labels = truth(table)
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    Path("people.csv").write_text("\n".join(lines))

    def run(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
        return capsys.readouterr().out

    run("new", "people.csv", "--protected", "sex", "--classes", "bad,good", "--budget", "20", "--batch", "20",
        "--seed", "1", "--to", "loans")  # fmt: skip
    crowd = labelstudio.people(server)

    def label_all(study: Study) -> None:
        """All twenty answer what Label Studio gives them, until it gives nothing."""
        project = study.state().outside.links["labelstudio"].project
        work = itertools.cycle(crowd)
        while (task := (person := next(work)).next(int(project or 0))) is not None:
            person.annotate(task["id"], labels[task["data"]["fairask_row"]])

    # The second command, in the foreground of this test: people label whenever the connector waits.
    real = Connector.try_step

    def step_and_label(self: Connector) -> float:
        real(self)
        label_all(self.study)
        real(self)
        return 0.05

    monkeypatch.setattr(Connector, "try_step", step_and_label)
    said = run("connect", "labelstudio", server.url, "--project", "Loans", "loans", "--audit", "20")
    assert "certificate: " in said
    status = run("status", "loans")
    assert "Model of round" in status
    run("export", "loans", "-o", "out")
    assert json.loads(Path("out/certificate.json").read_text())["verdict"] in (
        "certified", "undecided", "refuted",
    )  # fmt: skip
    run("verify", "loans")
    listed = run("connect", "list", "loans")
    assert "0 refused" in listed
    with Study.open("loans") as study:
        said_by = {who for given in study.state().answers.values() for who in given}
        assert len(said_by) == 20
        assert all(
            study.config.class_name(a.code) == labels[row]
            for row, given in study.state().answers.items()
            for a in given.values()
        )
        assert same_draws(study, table, tmp_path / "twin") >= 40


@pytest.mark.long
def test_nothing_is_lost_or_doubled_when_all_three_are_killed(
    make: Callable[..., Study], server: Server, tmp_path: Path
) -> None:
    table = people_table()
    study = make(budget=20, batch_size=10)
    found = label_under_kills(server, study, table, 10, tmp_path / "twin", crowd_size=5)
    assert found.kills == {"studio": 10, "connector": 10, "labelstudio": 10}
    assert (found.lost, found.doubled, found.wrong) == (0, 0, 0)
    assert found.labels >= 20
    assert found.drawn >= 20
