"""Labelling: rows, answers, corrections, flags, known rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.events import Document
from fairask_studio.files import write_rows
from fairask_studio.gold import GOLD, PRACTICE, KnownRow
from fairask_studio.pages import create_app
from fairask_studio.pages.worker import Trainer
from studio.tests.pages.conftest import bearer, signed
from studio.tests.pages.serving import serving
from studio.tests.study.conftest import people_table, truth

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


def test_an_annotator_asks_a_reviewer_answers_and_others_see_nothing(study: Study) -> None:
    owner = study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    bob, cyn = bearer(app, study.people.add("bob")), bearer(app, study.people.add("cyn"))
    rev, ada = bearer(app, study.people.add("rev", "reviewer")), bearer(app, owner)
    row = bob.post("/api/next", json={"count": 1}).json()["cards"][0]["row"]
    assert cyn.post("/api/flags", json={"row": row, "text": "Mine?"}).status_code == 409
    assert bob.post("/api/flags", json={"row": row, "text": " "}).status_code == 422
    made = bob.post("/api/flags", json={"row": row, "text": "Is this a <b>job</b>?"})
    assert made.status_code == 201
    number = made.json()["id"]
    assert cyn.get("/api/flags/mine").json() == []
    assert cyn.post(f"/api/flags/{number}", json={"text": "Me too"}).status_code == 404
    (open_flag,) = ada.get("/api/story").json()["flags"]
    assert (open_flag["row"], open_flag["waits"]) == (row, True)
    assert [one["row"] for one in rev.get("/api/rows?flag=open").json()["rows"]] == [row]
    assert rev.get("/api/rows?flag=open").json()["rows"][0]["flags"] == 1
    assert rev.get("/api/rows?flag=resolved").json()["rows"] == []
    assert rev.get("/api/rows?flag=any").status_code == 422
    before = bob.post("/api/next", json={"count": 1}).json()["news"]
    assert rev.post(f"/api/flags/{number}", json={"text": "It is."}).status_code == 201
    assert bob.post("/api/next", json={"count": 1}).json()["news"] > before
    (mine,) = bob.get("/api/flags/mine").json()
    assert [said["text"] for said in mine["comments"]] == ["Is this a <b>job</b>?", "It is."]
    assert ada.post(f"/api/flags/{number}", json={"resolve": True}).json()["resolved_by"] == "ada"
    assert ada.post(f"/api/flags/{number}", json={"resolve": True}).status_code == 422
    assert ada.post(f"/api/flags/{number}", json={}).status_code == 422
    assert ada.get("/api/story").json()["flags"] == []
    assert [one["row"] for one in ada.get("/api/rows?flag=resolved").json()["rows"]] == [row]
    kinds = [event["kind"] for event in rev.get(f"/api/rows/{row}/history").json()["history"]]
    assert kinds == ["drawn", "flagged", "flag answered", "flag resolved"]
    assert rev.get("/api/flags", params={"row": row}).json()[0]["id"] == number
    assert rev.get("/api/flags", params={"row": row + 1}).json() == []


Make = Callable[..., Study]


LABELS = truth(people_table())


def _label(study: Study, rows: int) -> list[int]:
    """Let an annotator label by the API until the study has so many labels; return what was asked."""
    study.people.add("ada", "owner")
    bob = bearer(create_app(study, local=False, train=False), study.people.add("bob"))
    asked: list[int] = []
    while study.state().answered < rows:
        cards = bob.post("/api/next", json={"count": 2}).json()["cards"]
        if not cards:
            study.draw(10)
            continue
        for card in cards:
            done = bob.post("/api/answers", json={"row": card["row"], "label": LABELS[card["row"]]})
            assert done.status_code == 201
            asked.append(card["row"])
        if study.state().fit_is_due():
            study.refit()
    return asked


def _made(study: Study) -> list[Document]:
    """What was drawn and fitted, without the numbers of events."""
    events: list[Any] = [e for e in study.store.events() if e.kind in ("proposed", "fitted")]
    return [{name: value for name, value in e.data.items() if name != "seen"} for e in events]


@pytest.mark.slow
def test_the_same_draws_and_models_with_and_without_known_rows(make: Make) -> None:
    plain = make()
    checked = make(target=f"{plain.target}-gold", gold_every=4)
    known = [KnownRow(row, int(LABELS[row] == "good"), PRACTICE if row < 3 else GOLD) for row in range(40)]
    checked.mark_known(known, "ada")
    first, second = _label(plain, 40), _label(checked, 40)
    assert [row for row in second if row < 3][:3] == [0, 1, 2]  # practice comes first
    assert len(second) >= len(first) + 3 + 40 // 4
    assert _made(checked) == _made(plain)
    for name in ("labels", "budget", "skipped", "open", "groups", "positives", "history"):
        ours, theirs = checked.status()[name], plain.status()[name]
        if name == "history":
            ours, theirs = ([entry["digest"] for entry in found] for found in (ours, theirs))
        assert ours == theirs, name
    assert checked.learner().labelled_indices_.tolist() == plain.learner().labelled_indices_.tolist()


def test_a_gold_row_cannot_be_told_from_another(make: Make) -> None:
    study = make(gold_every=2, budget=60)
    study.draw(20)
    spare = [row for row in range(200) if row not in study.state().log.position]
    study.mark_known([KnownRow(row, 1, GOLD, "secret") for row in spare[1:]], "ada")
    owner = study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    bob = bearer(app, study.people.add("bob"))
    drawn = set(study.state().log.position)
    gold = []
    for number in range(1, 21):
        (card,) = bob.post("/api/next", json={"count": 1}).json()["cards"]
        assert bob.post("/api/next", json={"count": 1}).json()["cards"] == [card]
        assert set(card) == {"row", "fields", "practice"}
        assert card["practice"] == 0
        if card["row"] not in drawn:
            gold.append(card["row"])
        assert bob.get(f"/api/cells/{card['row']}/income").status_code == 200
        saved = bob.post("/api/answers", json={"row": card["row"], "label": "bad"}).json()
        assert (saved["mine"], saved["labels"], saved["practice"]) == (number, number, None)
        mine = bob.get("/api/answers").json()
        assert (mine[0]["row"], mine[0]["label"], len(mine)) == (card["row"], "bad", min(number, 5))
    assert len(gold) == 10
    last = gold[-1]
    assert bob.get(f"/api/answers/{last}").json()["row"] == last
    assert bob.put(f"/api/answers/{last}", json={"label": "good"}).json()["label"] == "good"
    assert bob.delete(f"/api/answers/{last}").json()["row"] == last
    assert last not in [given["row"] for given in bob.get("/api/answers").json()]
    (card,) = bob.post("/api/next", json={"count": 1}).json()["cards"]
    assert card["row"] == last
    assert bob.post("/api/answers", json={"row": last, "label": "bad"}).status_code == 201
    # All ten are wrong: the owners are warned, by an event and on their pages.
    ada = bearer(app, owner)
    (warning,) = ada.get("/api/status").json()["warnings"]
    assert (warning["what"], warning["name"], warning["count"]) == ("gold", "bob", 10)
    (wrong,) = ada.get("/api/story").json()["wrong"]
    assert (wrong["name"], wrong["right"], wrong["asked"]) == ("bob", 0, 10)
    figures = {person["name"]: person for person in ada.get("/api/people/figures").json()}
    assert figures["bob"]["gold"]["below"] is True
    assert figures["bob"]["gold"]["high"] < 0.4
    assert figures["ada"]["gold"] is None
    assert figures["bob"]["labels"] == 10  # of drawn rows
    # Owners are not asked, and a row that is not due is refused.
    assert all(card["row"] in drawn for card in ada.post("/api/next", json={"count": 5}).json()["cards"])
    assert bob.post("/api/answers", json={"row": spare[0], "label": "bad"}).status_code == 409
    assert bob.get("/api/known").status_code == 403


def test_practice_comes_first_with_the_explanation_after_the_answer(make: Make) -> None:
    study = make()
    study.draw(10)
    study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    study.mark_known([KnownRow(150, 1, PRACTICE, "Income."), KnownRow(151, 0, PRACTICE, "Debt.")], "ada")
    bob = bearer(app, study.people.add("bob"))
    for row, left, right, why in ((150, 2, True, "Income."), (151, 1, False, "Debt.")):
        (card,) = bob.post("/api/next", json={}).json()["cards"]
        assert (card["row"], card["practice"]) == (row, left)
        saved = bob.post("/api/answers", json={"row": row, "label": "good"}).json()
        label = "good" if right else "bad"
        assert saved["practice"] == {"right": right, "label": label, "why": why}
        assert (saved["mine"], saved["labels"]) == (0, 0)
    assert bob.get("/api/answers").json() == []  # practice is not among the last answers
    row = bob.post("/api/next", json={}).json()["cards"][0]["row"]
    assert row in study.state().log.position
    bob.post("/api/answers", json={"row": row, "label": "good"})
    study.mark_known([KnownRow(152, 1, PRACTICE)], "ada")  # bob is no longer new
    assert bob.post("/api/next", json={}).json()["cards"][0]["practice"] == 0


def test_owners_mark_rows_by_hand_and_by_file_and_all_see_the_examples(
    client: TestClient, study: Study
) -> None:
    mark = {"label": "good", "use": "example", "why": "A **clear** case."}
    assert client.put("/api/known/7", json=mark).json() == {"row": 7, **mark}
    (example,) = client.get("/api/examples").json()
    assert (example["card"]["row"], example["label"], example["why"]) == (7, "good", mark["why"])
    assert "sex" not in {field["name"] for field in example["card"]["fields"]}
    assert 'id="examples"' in client.get("/label").text
    for row, body in ((7, {"label": "odd"}), (200, mark), (7, {**mark, "use": "silver"})):
        assert client.put(f"/api/known/{row}", json=body).status_code == 422
    sent = client.post(
        "/api/known?name=gold.csv&unchecked=true", content=b"row,gold,use\n8,bad,\n9,good,practice\n"
    )
    assert (sent.status_code, sent.json()) == (201, {"marked": 2, "known": 3})
    last = study.state().last
    bad = client.post("/api/known?name=gold.csv&unchecked=true", content=b"row,gold\n10,bad\n11,odd\n")
    assert bad.status_code == 422
    assert study.state().last == last  # all or none
    assert [one["use"] for one in client.get("/api/known").json()] == ["example", "gold", "practice"]
    assert client.get("/api/rows/7/history").json()["known"]["label"] == "good"
    assert client.delete("/api/known/7").status_code == 200
    assert client.delete("/api/known/7").status_code == 422
    assert client.get("/api/examples").json() == []
    assert client.put("/api/settings", json={"gold_every": 10, "gold_least": 70}).status_code == 200
    assert (study.config.gold_every, study.config.gold_least) == (10, 70)
    assert client.get("/api/status").json()["known"] == {"example": 0, "practice": 1, "gold": 1}
