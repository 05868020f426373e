"""What owners see of people: pace, agreement, answers by group; and columns that give the group away."""

from __future__ import annotations

from collections.abc import Callable

from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.pages.people import people_figures
from studio.tests.pages.conftest import signed


def test_each_persons_answers_are_set_beside_the_others(make: Callable[..., Study]) -> None:
    study = make(budget=20, batch_size=20, overlap=2)
    rows = study.ask(20, "ada")
    study.tell(rows, ["good"] * 20, "ada")
    study.ask(20, "bob")
    women = [row for row in rows if study.row(row)["sex"] == "f"]
    study.tell(rows, ["bad" if row in women else "good" for row in rows], "bob")
    found = {person["name"]: person for person in people_figures(study)}
    assert found["ada"]["agreement"] == found["bob"]["agreement"] == 1 - len(women) / 20
    bob = {group["group"]: group for group in found["bob"]["groups"]}
    assert (bob["f"]["mine"], bob["f"]["theirs"], bob["m"]["mine"]) == (0.0, 1.0, 1.0)
    assert found["ada"]["too_fast"] is False  # nineteen gaps are too few to say so
    more = make(target=f"{study.target}-2", budget=40, batch_size=40)
    rows = more.ask(40, "eve")
    for row in rows:
        more.tell([row], ["good"], "eve")
    assert people_figures(more)[0]["too_fast"] is True


def test_columns_that_tell_the_group_are_named_and_hidden_by_one_click(make: Callable[..., Study]) -> None:
    women, men = ["Anna", "Maria", "Sofia", "Julia"], ["Otto", "Karl", "Hans", "Fritz"]
    table = {
        "name": [f"{(women, men)[i % 2][i % 4]} Miller{i}" for i in range(120)],
        "income": [(i * 37) % 100 for i in range(120)],
        "sex": ["f", "m"] * 60,
    }
    study = make(table=table)
    study.change(columns={"name": {"title": "Full name"}})
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        assert [(p["column"], p["title"]) for p in client.get("/api/proxies").json()] == [
            ("name", "Full name")
        ]
        hide = client.put("/api/settings", json={"columns": {"name": {"display": "none"}}})
        assert hide.status_code == 200
        assert study.config.columns[0].title == "Full name"  # only what was sent has changed
        assert [field["name"] for field in client.get("/api/rows/0").json()["fields"]] == ["income"]
        made = client.post("/api/qr", content="http://localhost/?code=1")
        assert made.headers["content-type"] == "image/svg+xml"
        assert "<path" in made.text
