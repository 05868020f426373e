"""Flags by the API: who may ask, who sees what, and what the overview and the grid say."""

from __future__ import annotations

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import bearer


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
