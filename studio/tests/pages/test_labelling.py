"""The annotator's API: rows come, answers stay, and nothing tells what a model thinks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.files import write_rows
from fairask_studio.pages import Trainer, create_app
from studio.tests.pages.conftest import bearer, signed
from studio.tests.pages.serving import serving

pytestmark = pytest.mark.usefixtures("few_trees")


def cards(client: TestClient, count: int = 2) -> list[dict[str, object]]:
    answer = client.post("/api/next", json={"count": count})
    assert answer.status_code == 200
    found: list[dict[str, object]] = answer.json()["cards"]
    return found


def test_the_same_rows_come_back_until_they_are_answered(client: TestClient) -> None:
    first, second = cards(client)
    assert [card["row"] for card in cards(client)] == [first["row"], second["row"]]
    client.post("/api/answers", json={"row": first["row"], "label": "good"})
    assert cards(client)[0]["row"] == second["row"]


def test_a_card_shows_the_fields_and_hides_the_protected_attribute(client: TestClient, study: Study) -> None:
    columns = {"income": {"title": "Income", "unit": "k"}, "job": {"values": {"none": "no job"}}}
    study.change(question="Paid?", columns=columns)
    (card,) = cards(client, 1)
    fields = {field["name"]: field for field in card["fields"]}
    assert set(fields) == {"income", "debt", "job"}
    assert (fields["income"]["title"], fields["income"]["unit"]) == ("Income", "k")
    assert "propensity" not in json.dumps(card)
    assert fields["job"]["value"] in ("no job", "clerk", "smith")


def test_the_protected_attribute_is_shown_where_the_study_says_so(
    make: Callable[..., Study], tmp_path: Path
) -> None:
    study = make(show_protected=True)
    study.draw(3)
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        (card,) = cards(signed(client), 1)
    assert {field["name"] for field in card["fields"]} == {"income", "debt", "job", "sex"}
    write_rows(tmp_path / "batch.csv", [(card["row"], study.row(card["row"]))], study.config)
    assert (tmp_path / "batch.csv").read_text().splitlines()[0] == "row,label,note,income,debt,job,sex,check"
    assert study.encoder.columns == ["income", "debt", "job"]


def test_an_answer_is_recorded_with_its_note_corrected_and_taken_back(
    client: TestClient, study: Study
) -> None:
    row = cards(client, 1)[0]["row"]
    said = client.post("/api/answers", json={"row": row, "label": "good", "note": "sure"})
    assert said.status_code == 201
    assert said.json()["mine"] == 1
    assert client.get("/api/answers").json()[0]["note"] == "sure"
    assert client.put(f"/api/answers/{row}", json={"label": "bad"}).json()["label"] == "bad"
    assert study.learner().labels_.tolist() == ["bad"]
    assert client.delete(f"/api/answers/{row}").json()["row"] == row
    assert study.status()["labels"] == 0
    assert cards(client, 1)[0]["row"] == row


def test_a_skip_is_an_answer_too(client: TestClient, study: Study) -> None:
    row = cards(client, 1)[0]["row"]
    client.post("/api/answers", json={"row": row, "label": None})
    assert study.status()["skipped"] == 1
    client.delete(f"/api/answers/{row}")
    assert study.status()["skipped"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/answers", {"row": 0, "label": "ugly"}, 422),
        ("POST", "/api/answers", {"row": 10**6, "label": "good"}, 422),
        ("POST", "/api/answers", {"row": -1, "label": "good"}, 422),
        ("POST", "/api/answers", {"row": 0, "label": "good", "note": "x" * 2001}, 422),
        ("POST", "/api/next", {"count": 100}, 422),
        ("PUT", "/api/answers/0", {"label": "good"}, 404),
        ("DELETE", "/api/answers/0", None, 404),
        ("GET", "/api/nothing", None, 404),
    ],
)
def test_wrong_requests_are_refused_in_words(
    client: TestClient, method: str, path: str, body: object, status: int
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == status
    assert isinstance(answer.json()["detail"], str)


def test_a_row_of_somebody_else_is_refused(study: Study) -> None:
    tokens = [study.people.add("ada", "owner"), study.people.add("bob")]
    app = create_app(study, train=False)
    ada, bob = (bearer(app, token) for token in tokens)
    row = cards(ada, 1)[0]["row"]
    assert row not in [card["row"] for card in cards(bob, 2)]
    refused = bob.post("/api/answers", json={"row": row, "label": "good"})
    assert refused.status_code == 409
    assert "somebody else" in refused.json()["detail"]


def test_a_cell_of_a_megabyte_is_cut_and_says_so(client: TestClient, study: Study) -> None:
    from fairask_studio.pages.label import card

    study.row = lambda index: {"income": 1.0, "debt": None, "job": "x" * 10**6, "sex": "f"}  # type: ignore[method-assign]
    fields = {field.name: field for field in card(study, 0).fields}
    assert (len(fields["job"].value), fields["job"].length) == (2000, 10**6)
    assert (fields["income"].value, fields["debt"].value) == ("1", "")


def test_the_trainer_keeps_the_queue_filled_and_the_model_fresh(study: Study) -> None:
    trainer = Trainer(study)
    while rows := study.lease("ada", 5):
        study.tell(rows, ["good" if row % 2 else "bad" for row in rows], "ada")
        while trainer.step():
            pass
    status = study.status()
    assert status["labels"] == 60
    assert status["complete"]
    assert [entry["labels"] for entry in status["history"]] == sorted(
        {e["labels"] for e in status["history"]}
    )
    assert status["history"][-1]["labels"] == 60


def test_a_trainer_that_fails_says_so_and_goes_on(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(study, pause=0.01)
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        if steps == 1:
            raise RuntimeError("no memory")
        return False

    said: list[str | None] = []

    def ended() -> bool:
        said.append(trainer.error)
        return steps == 2

    monkeypatch.setattr(trainer, "step", step)
    monkeypatch.setattr(trainer._stop, "wait", lambda seconds: False)
    trainer.run(ended)
    assert said == [None, "RuntimeError: no memory", None]


def test_an_answer_to_a_row_that_was_not_handed_out_is_refused(client: TestClient, study: Study) -> None:
    free = study.state().log.entries[5].index  # drawn, and nobody holds it
    refused = client.post("/api/answers", json={"row": free, "label": "good"})
    assert refused.status_code == 409
    assert "not given to you" in refused.json()["detail"]
    assert study.status()["labels"] == 0
    mine = cards(client, 1)[0]["row"]
    assert client.post("/api/answers", json={"row": mine, "label": "good"}).status_code == 201
    assert client.post("/api/answers", json={"row": mine, "label": "good"}).status_code == 201  # said again


def test_the_client_of_the_documentation_works(
    make: Callable[..., Study], pytestconfig: pytest.Config
) -> None:
    study = make(classes=("no", "yes"))
    study.draw(5)
    token = study.people.add("ada", "owner")
    page = (pytestconfig.rootpath / "docs" / "studio.md").read_text("utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    with serving(create_app(study, train=False)) as url:
        exec(code.replace("http://localhost:8080", url).replace('token="..."', f"token={token!r}"), {})
    assert study.status()["labels"] == 1


def test_a_skip_has_a_reason_that_owners_count_and_filter_by(client: TestClient, study: Study) -> None:
    asked = {"skip_reasons": ["torn page", "wrong language"]}
    assert client.put("/api/settings", json=asked).status_code == 200
    assert 'data-reason="torn page"' in client.get("/label").text
    row, other = (card["row"] for card in client.post("/api/next", json={"count": 2}).json()["cards"])
    both = client.post("/api/answers", json={"row": row, "label": "good", "reason": "torn page"})
    assert (both.status_code, study.state().answered) == (422, 0)
    skip = {"row": row, "label": None, "reason": "torn page", "note": "left half"}
    assert client.post("/api/answers", json=skip).status_code == 201
    assert client.post("/api/answers", json={"row": other, "label": None}).status_code == 201
    assert client.get("/api/status").json()["skip_reasons"] == [
        {"reason": "torn page", "skips": 1},
        {"reason": "", "skips": 1},
    ]
    (person,) = client.get("/api/people/figures").json()
    assert person["reasons"][0] == {"reason": "torn page", "skips": 1}
    for wanted, rows in (("torn page", [row]), ("", [other]), ("none of these", [])):
        found = client.get("/api/rows", params={"reason": wanted}).json()["rows"]
        assert [one["row"] for one in found] == rows
    (past,) = [e for e in client.get(f"/api/rows/{row}/history").json()["history"] if e["kind"] == "skipped"]
    assert (past["reason"], past["note"]) == ("torn page", "left half")
