"""The grid of rows: search, filters, order and pages on the server; a row's history; labels from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.files import write_rows
from fairask_studio.pages import create_app
from fairask_studio.pages.overview import story
from studio.tests.pages.conftest import signed

pytestmark = pytest.mark.usefixtures("few_trees")

VIEWS = ["inbox", "answered", "skipped", "drawn"]
COLOURS = ["Red", "green", "blue"]


@pytest.fixture
def grid(make: Callable[..., Study]) -> Study:
    table = {
        "age": [20 + (7 * i) % 50 for i in range(60)],
        "colour": [COLOURS[i % 3] for i in range(60)],
        "sex": ["f", "m"] * 30,
    }
    study = make(table=table, budget=40, batch_size=40, overlap=3)
    rows = study.ask(40, "ada")
    study.tell(rows[:30], ["good"] * 30, "ada", notes=["torn page"] + [""] * 29)
    study.skip(rows[30:32], "ada")
    study.ask(40, "bob")
    study.tell(rows[:4], ["bad"] * 4, "bob")
    return study


@pytest.fixture
def owner(grid: Study) -> TestClient:
    return signed(TestClient(create_app(grid, train=False), base_url="http://localhost"))


def test_rows_are_searched_filtered_and_sorted(owner: TestClient, grid: Study) -> None:
    def found(**query: object) -> list[dict[str, object]]:
        page = owner.get("/api/rows", params={"limit": 200, **query}).json()  # type: ignore[dict-item]
        assert page["total"] == len(page["rows"])
        return page["rows"]  # type: ignore[no-any-return]

    assert len(found()) == 40
    reds = found(search="RED", columns="colour")
    assert {row["cells"]["colour"] for row in reds} == {"Red"}  # type: ignore[index]
    assert len(reds) == sum(grid.row(row["row"])["colour"] == "Red" for row in found())  # type: ignore[arg-type]
    assert [row["note"] for row in found(search="torn")] == ["torn page"]
    assert [row["note"] for row in found(note=True)] == ["torn page"]
    assert len(found(label="good")) == 30
    assert len(found(who="bob")) == 4
    assert len(found(disagree=True)) == 4
    assert len(found(state="asked", group="f")) == sum(row["group"] == "f" for row in found(state="asked"))
    ages = [row["cells"]["age"] for row in found(sort="age", columns="age")]  # type: ignore[index]
    assert ages == sorted(ages, key=int)
    assert ages[::-1] == sorted(ages, key=int, reverse=True)
    by_time = [row["at"] for row in found(sort="-at") if row["at"]]
    assert by_time == sorted(by_time, reverse=True)  # type: ignore[type-var]
    assert owner.get("/api/rows", params={"sort": "password"}).status_code == 422
    assert owner.get("/api/rows", params={"columns": "nothing"}).status_code == 422
    assert found(search="%(") == []  # text, not a pattern


def test_pages_are_cut_on_the_server(owner: TestClient) -> None:
    first = owner.get("/api/rows", params={"limit": 15, "sort": "row"}).json()
    last = owner.get("/api/rows", params={"limit": 15, "offset": 30, "sort": "row"}).json()
    assert (first["total"], len(first["rows"]), len(last["rows"])) == (40, 15, 10)
    assert first["rows"][-1]["row"] < last["rows"][0]["row"]


def test_a_row_has_its_whole_history(owner: TestClient, grid: Study) -> None:
    row = next(iter(grid.state().answers))
    assert owner.put(f"/api/rows/{row}", json={"label": "bad"}).status_code == 200
    found = owner.get(f"/api/rows/{row}/history").json()
    assert [(e["kind"], e.get("label")) for e in found["history"]] == [
        ("drawn", None), ("labelled", "good"), ("labelled", "bad"), ("corrected", "bad"),
    ]  # fmt: skip
    assert found["history"][0]["component"] == "uniform"
    assert found["now"]["label"] == "bad"
    taken = owner.post("/api/reopened", json={"name": "ada"}).json()
    assert owner.delete(f"/api/reopened/{taken['event']}").status_code == 200
    other = list(grid.state().answers)[5]
    again = owner.get(f"/api/rows/{other}/history").json()["history"]
    assert [e["kind"] for e in again] == ["drawn", "labelled", "reopened", "restored"]
    plan = "EXPLAIN QUERY PLAN SELECT id FROM events WHERE about = 1 AND kind != 'proposed'"
    with grid.store.database.read() as connection:
        assert "events_about" in str(connection.exec_driver_sql(plan).all())  # not a scan of the log
    assert owner.get("/api/rows/99/history").status_code == 422


def test_labels_of_a_file_are_checked_and_taken_whole(owner: TestClient, grid: Study, tmp_path: Path) -> None:
    rows = [entry.index for entry in grid.state().log.entries][32:36]
    sheet = tmp_path / "batch.csv"
    write_rows(sheet, [(row, grid.row(row)) for row in rows], grid.config)
    lines = sheet.read_text("utf-8-sig").splitlines()
    names = lines[0].split(",")
    at = names.index("label")

    def filled(slip: int) -> bytes:
        out = [lines[0]]
        for i, line in enumerate(lines[1:]):
            cells = line.split(",")
            cells[at], cells[0] = "good", lines[1 + (i + slip) % 4].split(",")[0]
            out.append(",".join(cells))
        return "\n".join(out).encode()

    before = len(grid.store.events())
    slipped = owner.post("/api/labels", params={"name": "batch.csv"}, content=filled(1))
    assert slipped.status_code == 422
    assert len(grid.store.events()) == before  # nothing was taken
    me = owner.get("/api/me").json()["name"]
    taken = owner.post("/api/labels", params={"name": "batch.csv"}, content=filled(0))
    assert (taken.status_code, taken.json()["new"]) == (201, 4)
    assert all(me in grid.state().answers[row] for row in rows)
    again = owner.post("/api/labels", params={"name": "batch.csv"}, content=filled(0))
    assert again.json()["known"] == 4
    assert owner.post("/api/labels", params={"name": "batch.exe"}, content=b"x").status_code == 422
    empty = owner.post("/api/labels", params={"name": "empty.csv"}, content=b"row,label\n")
    assert "holds no label" in empty.json()["detail"]


def test_the_inbox_says_why_a_row_is_there_and_what_it_holds_is_counted(
    owner: TestClient, grid: Study
) -> None:
    first, second, third, *_ = grid.state().answers
    waiting = next(e.index for e in grid.state().log.entries if e.state == "asked")
    spare = next(row for row in range(60) if row not in grid.state().log.position)
    grid.flag(waiting, "DM or euros?", "bob")
    grid.flag(spare, "Is this one new?", "cyn")  # of a known row, which is not drawn
    found = owner.get("/api/rows", params={"view": "inbox"}).json()
    said = {row["row"]: [why["words"] for why in row["why"]] for row in found["rows"]}
    assert list(said)[:2] == [waiting, spare]  # who asks waits, and comes first
    assert said[waiting] == ["bob asks: DM or euros?"]
    assert said[spare] == ["cyn asks: Is this one new?"]
    assert said[first] == ["ada: good, bob: bad", "ada's note: torn page"]
    assert said[second] == said[third] == ["ada: good, bob: bad"]
    assert found["counts"] == {"inbox": 6, "answered": 30, "skipped": 0, "drawn": 40}
    assert found["total"] == len(found["rows"]) == story(grid)["inbox"] == 6
    # Each of the three is settled: answered and resolved, or decided.
    flag = owner.get(f"/api/flags?row={waiting}").json()[0]["id"]
    owner.post(f"/api/flags/{flag}", json={"text": "DM.", "resolve": False})
    kinds = [row["why"][0]["kind"] for row in owner.get("/api/rows?view=inbox").json()["rows"]]
    assert kinds == ["question"] + ["disagreement"] * 4 + ["answered"]
    owner.post(f"/api/flags/{flag}", json={"resolve": True})
    for row in (first, second, third):
        owner.put(f"/api/rows/{row}", json={"label": "bad"})
    assert owner.get("/api/rows?view=inbox").json()["counts"]["inbox"] == story(grid)["inbox"] == 2


def test_answered_and_skipped_rows_are_counted_apart(owner: TestClient, grid: Study) -> None:
    skipped = [row for row, given in grid.state().answers.items() if set(given) == {"ada"}][-2:]
    for who in ("bob", "cyn"):
        grid.ask(40, who)
        grid.skip(skipped, who, notes=["cannot be read"] * 2)
    found = {view: owner.get("/api/rows", params={"view": view, "limit": 200}).json() for view in VIEWS}
    assert {view: page["total"] for view, page in found.items()} == found["drawn"]["counts"]
    assert found["answered"]["total"] == grid.status()["labels"] == 30
    assert [row["row"] for row in found["skipped"]["rows"]] == skipped[::-1]
    assert not {row["row"] for row in found["inbox"]["rows"]} & set(skipped)  # there is no label to decide
    assert owner.get("/api/rows?view=all").status_code == 422


def test_what_people_read_of_a_row_is_its_text_or_its_first_fields(
    make: Callable[..., Study], tmp_path: Path
) -> None:
    texts = ["I waited for an hour, and nobody of the office came to the desk. " * 3] * 60
    table = {"waited": [5 + i for i in range(60)], "comment": texts, "sex": ["f", "m"] * 30}
    loans = {
        "amount": [12_000 + i % 9 for i in range(60)], "months": [24 + i % 9 for i in range(60)],
        "purpose": ["a car"] * 60, "phone": ["no"] * 60, "job": ["clerk"] * 60, "sex": ["f", "m"] * 30,
    }  # fmt: skip
    words = {"amount": {"unit": "DM"}}
    said = []
    for name, columns, options in (("texts", table, {}), ("loans", loans, {"words": words})):
        study = make(str(tmp_path / name), table=columns, budget=20, batch_size=20, **options)
        row = study.ask(1, "ada")[0]
        client = signed(TestClient(create_app(study, train=False), base_url="http://localhost"))
        said.append(client.get("/api/rows", params={"search": str(row)}).json()["rows"][0]["content"])
    assert said[0] == texts[0][:159] + "…"
    assert said[1] == f"{12_000 + row % 9:,} DM, months {24 + row % 9}, a car, phone no"
