"""Practice and gold rows by the API: gold rows look like others; labels, draws and models stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.events import Document
from fairask_studio.gold import GOLD, PRACTICE, KnownRow
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import bearer
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
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
