"""The grid of rows: search, filters, order and pages on the server; a row's history; labels from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.files import write_rows
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import signed

pytestmark = pytest.mark.usefixtures("few_trees")

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
