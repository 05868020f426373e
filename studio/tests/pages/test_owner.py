"""The owner's API: numbers, rows, model, words, people, files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import signed
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")


LABELS = truth(people_table())


@pytest.fixture
def labelled(study: Study) -> Study:
    study.draw(40)
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada", notes=["=1+1"] * 60)
    study.refit()
    return study


def test_the_status_says_when_nothing_has_changed(client: TestClient, labelled: Study) -> None:
    first = client.get("/api/status")
    assert first.json()["labels"] == 60
    assert client.get("/api/status", headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    labelled.correct(labelled.state().log.entries[0].index, "bad")
    assert client.get("/api/status", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_events_come_newest_first(client: TestClient, labelled: Study) -> None:
    found = client.get("/api/events?limit=5").json()
    assert found[0]["kind"] == "fitted"
    assert [event["id"] for event in found] == sorted((event["id"] for event in found), reverse=True)


def test_rows_are_filtered_and_decided(client: TestClient, labelled: Study) -> None:
    found = client.get("/api/rows?group=f&limit=200").json()
    assert 0 < found["total"] < 60
    assert {row["group"] for row in found["rows"]} == {"f"}
    assert client.get("/api/rows?who=bob").json()["total"] == 0
    row = found["rows"][0]
    other = "bad" if row["label"] == "good" else "good"
    assert client.put(f"/api/rows/{row['row']}", json={"label": other}).status_code == 200
    again = client.get("/api/rows?group=f&limit=200").json()["rows"][0]
    assert again["label"] == other
    assert "(decided)" in again["by"]
    assert client.get("/api/rows/100000").status_code == 404


def test_disagreements_are_found(make: Callable[..., Study]) -> None:
    study = make(overlap=2)
    study.draw(2)
    for who, answers in {"ada": ["good", "good"], "bob": ["good", "bad"]}.items():
        study.tell(study.lease(who, 2), answers, who)
    split = study.state().log.entries[1].index
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        found = signed(client).get("/api/rows?disagree=true").json()
        assert [row["row"] for row in found["rows"]] == [split]
        assert found["rows"][0]["answers"] == {"ada": "good", "bob": "bad"}


def test_the_model_is_described_in_the_studys_words(
    client: TestClient, study: Study, labelled: Study
) -> None:
    labelled.change(columns={"income": {"title": "Income"}, "job": {"values": {"smith": "a smith"}}})
    model = client.get("/api/model").json()
    assert set(model["features"]) == {"Income", "debt", "job: none", "job: a smith"}
    assert sum(member["probability"] for member in model["members"]) == pytest.approx(1)
    assert len(model["history"]) == 1


def test_before_the_first_label_there_is_no_model(client: TestClient) -> None:
    assert client.get("/api/model").json()["history"] == []
    assert client.get("/api/export/model.skops").status_code == 422


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet", "labels-label-studio.json", "events.jsonl",
                                  "study.json", "model.skops"])  # fmt: skip
def test_every_file_can_be_fetched(client: TestClient, labelled: Study, name: str) -> None:
    answer = client.get(f"/api/export/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert len(answer.content) > 100
    if name == "labels.csv":
        assert "'=1+1" in answer.text
        head = answer.text.splitlines()[0]
        assert head.lstrip("\ufeff").split(",")[-4:] == ["income", "debt", "job", "sex"]  # the data, too
    assert client.get("/api/export/..%2Fstudy.db").status_code == 404


def test_words_change(client: TestClient, study: Study) -> None:
    changed = client.put("/api/settings", json={"question": "Ça va?", "columns": {"job": {"title": "Work"}}})
    assert changed.json()["question"] == "Ça va?"
    assert study.config.question == "Ça va?"
    refused = client.put("/api/settings", json={"columns": {"jobb": {}}})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "no column 'jobb'. Did you mean 'job'?"


def test_a_certificate_is_refused_while_there_is_nothing_to_rest_it_on(client: TestClient) -> None:
    state = client.get("/api/certificates").json()
    assert (state["certificates"], state["audit"]) == ([], None)
    assert client.post("/api/certificate").status_code == 409
    assert client.post("/api/audit", json={"labels": 5}).status_code == 422
    assert client.delete("/api/audit").status_code == 422


def test_an_audit_earns_a_certificate(client: TestClient, labelled: Study) -> None:
    assert client.post("/api/audit", json={"labels": 20}).status_code == 201
    rows = labelled.ask(20, "ada")
    labelled.tell(rows[1:], [LABELS[row] for row in rows[1:]], "ada")
    assert "19 of its 20 labels" in client.post("/api/certificate").json()["detail"]  # no peeking
    labelled.tell(rows[:1], [LABELS[rows[0]]], "ada")
    assert client.get("/api/certificates").json()["audit"]["labels"] == 20
    audit = labelled.state().audit
    assert audit is not None
    assert audit.audit is not None
    assert sorted(audit.audit.answered) == sorted(rows)
    found = client.post("/api/certificate").json()
    assert (found["verdict"], found["tolerance"]) == ("undecided", labelled.config.learner.tolerance)
    assert client.get("/api/certificates").json()["certificates"][0]["n_labels"] == 20
    assert client.get("/api/status").json()["certificate"]["verdict"] == "undecided"
    assert client.delete("/api/audit").status_code == 422  # over
    assert client.post("/api/audit", json={"labels": 5}).status_code == 201
    assert client.delete("/api/audit").status_code == 200


def test_the_report_is_one_click_away(client: TestClient, labelled: Study) -> None:
    assert 'href="/api/export/report.html"' in client.get("/overview").text
    answer = client.get("/api/export/report.html")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "<svg" in answer.text


def test_people_are_let_in_and_out(client: TestClient, study: Study) -> None:
    assert client.post("/api/people", json={"name": "bob"}).status_code == 409  # an owner first
    made = client.post("/api/people", json={"name": "ada", "role": "owner"}).json()
    assert study.people.by_token(made["token"]) is not None
    assert client.get("/api/people").status_code == 200  # who invites others is not locked out
    assert json.dumps(made["token"]) not in str(study.store.events())


def test_parallel_requests_make_one_audit_and_one_certificate(client: TestClient, labelled: Study) -> None:
    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(lambda _: client.post("/api/audit", json={"labels": 40}), range(8)))
    assert Counter(answer.status_code for answer in begun) == {201: 1, 422: 7}
    while not labelled.state().audit.done:  # type: ignore[union-attr]
        labelled.draw()
        rows = labelled.ask(40, "ada")
        labelled.tell(rows, [LABELS[row] for row in rows], "ada")
    with ThreadPoolExecutor(6) as pool:
        issued = list(pool.map(lambda _: client.post("/api/certificate"), range(6)))
    assert [answer.status_code for answer in issued].count(201) == 1
    assert all(answer.status_code in (201, 409, 422) for answer in issued)
    assert [event.kind for event in labelled.store.events()].count("certified") == 1


def test_pages_and_files_name_the_model_they_show(client: TestClient, labelled: Study) -> None:
    before = client.get("/api/export/certificate.json")
    assert before.status_code == 422
    model = client.get("/api/model").json()["model"]
    assert client.get("/api/status").json()["model"]["digest"] == model["digest"]
    assert not model["certified"]
    assert model["digest"] in client.get("/api/export/report.html").text
    assert client.post("/api/model").status_code == 201


def test_the_model_can_be_looked_into(client: TestClient, study: Study) -> None:
    assert client.get("/api/model/details").json() == {"found": None}
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    found = client.get("/api/model/details").json()["found"]
    assert sum(member["probability"] for member in found["members"]) == pytest.approx(1.0)
    changes = {entry["column"]: entry["changes"] for entry in found["importance"]}
    assert set(changes) == {"income", "debt", "job"}
    assert all(0 <= change <= 1 for change in changes.values())
    assert [group["group"] for group in found["near"]] in ([], ["f", "m"])
    errors = {(entry["group"], entry["truth"]): entry for entry in found["errors"]}
    assert set(errors) == {("f", 1), ("f", 0), ("m", 1), ("m", 0)}
    assert sum(entry["labels"] for entry in errors.values()) == 60


def test_certificates_are_kept_and_an_audits_size_is_proposed(client: TestClient, study: Study) -> None:
    assert client.get("/api/audit").json()["suggested"] is None
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    proposed = client.get("/api/audit").json()
    assert 1 <= proposed["suggested"] <= 140
    for number in (1, 2):
        client.post("/api/audit", json={"labels": 40})
        rows = study.ask(40, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        assert client.post("/api/certificate").status_code == 201
        found = client.get("/api/certificates").json()
        assert len(found["certificates"]) == number
        assert found["certificates"][0]["model"]["digest"] == found["model"]["digest"]
