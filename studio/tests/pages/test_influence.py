"""What an annotator may not find out or bring about, however the API is asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from fairask_studio import Study
from fairask_studio.gold import GOLD, MOST_AHEAD, KnownRow
from fairask_studio.pages import create_app
from fairask_studio.pages.access import RIGHTS
from studio.tests.pages.conftest import bearer
from studio.tests.study.conftest import people_table

Make = Callable[..., Study]
#: Stands in the protected column, so that it can be found wherever it goes.
SECRETS = {"f": "kirsikka", "m": "pihlaja"}


def _next(client: TestClient, count: int) -> list[int]:
    answer = client.post("/api/next", json={"count": count})
    assert answer.status_code == 200, answer.text
    return [card["row"] for card in answer.json()["cards"]]


def _views(client: TestClient, row: int) -> list[Any]:
    """What can be asked about a row, with its number and the time taken out."""
    asked = [
        client.get(f"/api/answers/{row}"),
        client.get(f"/api/cells/{row}/income"),
        client.get(f"/api/cells/{row}/sex"),
        client.get(f"/api/rows/{row}"),
        client.get(f"/api/rows/{row}/history"),
        client.post("/api/flags", json={"row": row, "text": "Why?"}),
        client.post("/api/answers", json={"row": row, "label": "ugly"}),
        client.post("/api/answers", json={"row": row, "label": "good", "who": "ada"}),
    ]
    return [(answer.status_code, sorted(answer.json()) if _is_json(answer) else "text") for answer in asked]


def _is_json(answer: Any) -> bool:
    return "json" in answer.headers["content-type"] and isinstance(answer.json(), dict)


@pytest.fixture
def checked(make: Make) -> tuple[Study, TestClient, set[int]]:
    """A study with gold rows among others; somebody who labels; the rows that are drawn."""
    study = make(budget=60, gold_every=3)
    study.draw(60)
    spare = [row for row in range(200) if row not in study.state().log.position]
    study.mark_known([KnownRow(row, 1, GOLD) for row in spare[:30]], "ada")
    study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    return study, bearer(app, study.people.add("bob")), set(study.state().log.position)


def test_gold_rows_look_like_others_in_all_that_can_be_asked(
    checked: tuple[Study, TestClient, set[int]],
) -> None:
    study, bob, drawn = checked
    seen: dict[bool, list[Any]] = {True: [], False: []}
    for number in range(30):
        (row,) = _next(bob, 1)
        before = bob.post("/api/next", json={"count": 1}).json()["progress"]
        found: list[Any] = [_views(bob, row)]
        label = [None, "good", "bad"][number % 3]
        said = bob.post("/api/answers", json={"row": row, "label": label, "note": "hm"})
        after = said.json()
        found.append((said.status_code, said.json()["practice"]))
        found.append(
            {name: after[name] - before[name] for name in ("labels", "mine", "batch")} | {"n": label}
        )
        given = next(one for one in bob.get("/api/answers").json() if one["row"] == row)
        found.append((given["label"], given["note"]))
        other = "bad" if label == "good" else "good"
        found.append(bob.post("/api/answers", json={"row": row, "label": other}).json().keys())
        kept = bob.put(f"/api/answers/{row}", json={"label": other}).json()
        assert kept == {**given, "label": other}  # its time and its note stay
        assert bob.delete(f"/api/answers/{row}").status_code == 200
        assert _next(bob, 2)[0] == row  # it comes back first, like any row
        found.append(bob.post("/api/answers", json={"row": row, "label": "bad"}).status_code)
        seen[row not in drawn].append([number % 3, found])
    for kind in range(3):
        golds, others = ([found for number, found in seen[gold] if number == kind] for gold in (True, False))
        assert golds, "no gold row was tried in this way"
        assert all(one == others[0] for one in golds + others)
    assert study.state().known.count("bob") == len(seen[True]) == 10


def test_the_rows_that_come_next_never_change_their_order(
    checked: tuple[Study, TestClient, set[int]],
) -> None:
    _, bob, drawn = checked
    rng, coming, golds = random.Random(0), list[int](), 0
    for _ in range(45):
        wanted = rng.randint(1, 5)
        rows = _next(bob, wanted)
        shared = min(len(rows), len(coming))
        assert rows[:shared] == coming[:shared]
        coming = max(rows, coming, key=len)
        # Answers come in any order; a row further back is answered too.
        row = coming.pop(rng.randrange(min(3, len(coming))))
        golds += row not in drawn
        assert bob.post("/api/answers", json={"row": row, "label": "good"}).status_code == 201
    assert golds == 15


def test_trying_all_rows_does_not_tell_which_are_gold(checked: tuple[Study, TestClient, set[int]]) -> None:
    study, bob, _ = checked
    held = _next(bob, MOST_AHEAD)
    answers: dict[str, set[int]] = {}
    for row in range(200):
        if row in held:
            continue
        tries = [
            bob.get(f"/api/cells/{row}/income"),
            bob.post("/api/flags", json={"row": row, "text": "?"}),
            bob.post("/api/answers", json={"row": row, "label": "good"}),
            bob.post("/api/answers", json={"row": row, "label": None}),
            bob.put(f"/api/answers/{row}", json={"label": "good"}),
            bob.delete(f"/api/answers/{row}"),
        ]
        said = [(t.status_code, t.json()["detail"].replace(f"row {row} ", "row N ")) for t in tries]
        answers.setdefault(json.dumps(said).replace(f"row {row}", "row N"), set()).add(row)
    assert len(answers) == 1, {words: sorted(rows)[:5] for words, rows in answers.items()}
    assert study.state().known.count("bob") == 0


def test_limits_do_not_tell_gold_rows_from_others(make: Make) -> None:
    study = make(budget=60, gold_every=2)
    study.draw(40)
    spare = [row for row in range(200) if row not in study.state().log.position]
    study.mark_known([KnownRow(row, 1, GOLD) for row in spare[:30]])
    study.change(most_skips=7)
    study.people.add("ada", "owner")
    bob = bearer(create_app(study, local=False, train=False), study.people.add("bob"))
    for number in range(10):
        (row,) = _next(bob, 1)
        skipped = bob.post("/api/answers", json={"row": row, "label": None})
        assert skipped.status_code == (201 if number < 7 else 422)
        if number >= 7:
            assert bob.post("/api/answers", json={"row": row, "label": "good"}).status_code == 201
    study.change(most_per_minute=10)
    assert "more rows in a minute" in bob.post("/api/next", json={}).json()["notice"]


def _everything(client: TestClient, rows: list[int]) -> Iterator[str]:
    """All that the API, the pages and the files send to somebody."""
    for route in RIGHTS:
        method, path = route.split(" ")
        for row in rows:
            for column in ("income", "sex", "photo"):
                place = path.replace("{row}", str(row)).replace("{column}", column)
                place = place.replace("{name}", "labels.csv").replace("{flag}", "1").replace("{event}", "1")
                if route != "DELETE /session":
                    answer = client.request(method, f"/api{place}", json={} if method != "GET" else None)
                    yield f"{answer.status_code} {answer.headers} {answer.text}"
                if "{column}" not in path:
                    break
            if "{row}" not in path:
                break
    for page in ("", "label", "overview", "rows", "model", "certificate", "people", "settings", "nowhere"):
        answer = client.get(f"/{page}")
        yield f"{answer.url} {answer.headers} {answer.text}"


@pytest.mark.usefixtures("few_trees")
def test_group_and_prediction_are_in_nothing_that_an_annotator_is_sent(make: Make) -> None:
    table = people_table()
    table["sex"] = [SECRETS[name] for name in table["sex"]]
    table["photo"] = [f"{name}/{i}.png" for i, name in enumerate(table["sex"])]
    study = make(budget=60, table=table, words={"photo": {"display": "image"}})
    rows = study.ask(20, "ada")
    study.tell(rows, ["good", "bad"] * 10, "ada")
    entry = study.refit()
    assert entry is not None
    study.draw(10)
    token = study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    folder = Path(study.target) / "media" / SECRETS["f"]
    folder.mkdir(parents=True)
    bob = bearer(app, study.people.add("bob"), follow_redirects=False)
    held = _next(bob, 5)
    for row in held:
        (folder / f"{row}.png").write_text("no image")
    browser = TestClient(app, base_url="https://localhost")
    browser.post("/api/session", json={"token": study.people.add("cyn")})
    held += _next(signed_in(browser), 2)
    drawn = [e for e in study.store.events() if e.kind == "proposed"][-1].data
    secrets = [*SECRETS.values(), entry["digest"][:12], str(drawn["propensities"][0])]
    for client in (bob, browser):
        for sent in _everything(client, held[:3]):
            assert not [secret for secret in secrets if secret in sent], sent[:300]
    owner = bearer(app, token)
    sent = " ".join(_everything(owner, held[:3]))
    assert all(secret in sent for secret in secrets)  # there was something to find


def signed_in(browser: TestClient) -> TestClient:
    """Take the CSRF token of a page."""
    page = browser.get("/label").text
    browser.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
    return browser


def test_nobody_answers_twice_for_another_or_after_removal(study: Study) -> None:
    study.people.add("ada", "owner")
    app = create_app(study, local=False, train=False)
    bob, cyn = (bearer(app, study.people.add(name)) for name in ("bob", "cyn"))
    browser = TestClient(app, base_url="https://localhost")
    browser.post("/api/session", json={"token": study.people.add("dan")})
    (row,), (theirs,), (dans,) = _next(bob, 1), _next(cyn, 1), _next(signed_in(browser), 1)
    assert bob.post("/api/answers", json={"row": row, "label": "good"}).status_code == 201
    assert bob.post("/api/answers", json={"row": row, "label": "good"}).json()["mine"] == 1
    assert bob.post("/api/answers", json={"row": row, "label": "bad"}).status_code == 409
    assert cyn.post("/api/answers", json={"row": row, "label": "bad"}).status_code == 409
    assert bob.post("/api/answers", json={"row": theirs, "label": "bad"}).status_code == 409
    for attempt in ({"who": "cyn"}, {"name": "cyn"}, {"user": "cyn"}):
        assert bob.post("/api/answers", json={"row": theirs, "label": "bad", **attempt}).status_code == 422
    assert bob.put(f"/api/answers/{theirs}", json={"label": "bad"}).status_code == 404
    assert bob.post("/api/connect/webhook/answers", json={"answers": []}).status_code == 401
    study.people.remove("bob")
    study.people.remove("dan")
    for client, held in ((bob, row), (browser, dans)):
        assert client.post("/api/answers", json={"row": held, "label": "bad"}).status_code == 401
        assert client.put(f"/api/answers/{held}", json={"label": "bad"}).status_code == 401
        assert client.delete(f"/api/answers/{held}").status_code == 401
    assert {r: sorted(given) for r, given in study.state().answers.items() if given} == {row: ["bob"]}


def test_nobody_becomes_an_owner_when_their_token_expires(study: Study) -> None:
    app = create_app(study, train=False)
    app.state.access.local_name = "bob"  # the name of whoever runs the studio, and of an annotator
    study.people.add("ada", "owner")
    browser = TestClient(app, base_url="http://localhost")
    browser.post("/api/session", json={"token": study.people.add("bob")})
    assert browser.get("/api/me").json()["role"] == "annotator"
    with study.store.database.write() as connection:
        connection.execute(text("UPDATE people SET since = '2001-01-01T00:00:00.000Z' WHERE name = 'bob'"))
    study.people._known.clear()
    assert browser.get("/api/me").status_code == 401


@pytest.mark.usefixtures("few_trees")
def test_what_is_asked_of_the_api_changes_neither_draws_nor_certificates(make: Make) -> None:
    """An annotator who tries everything brings about the draws of one who only answers."""
    made: list[Study] = []
    for tries in (False, True):
        study = make(f"{made[0].target}-2" if made else None)
        study.people.add("ada", "owner")
        bob = bearer(create_app(study, local=False, train=False), study.people.add("bob"))
        rng = random.Random(1)
        study.draw()
        for _ in range(2):
            while rows := _next(bob, rng.randint(1, 5) if tries else 1):
                row = min(rows) if tries else rows[0]  # answered in another order
                if tries:
                    other = rng.choice(sorted({*range(200)} - {*rows}))
                    bob.post("/api/answers", json={"row": other, "label": "good"})
                    bob.post("/api/flags", json={"row": row, "text": "Please draw more of these."})
                    bob.post("/api/answers", json={"row": row, "label": None})
                    bob.delete(f"/api/answers/{row}")
                label = "good" if study.row(row)["income"] > 0 else "bad"
                assert bob.post("/api/answers", json={"row": row, "label": label}).status_code == 201
            if tries:
                for _ in _everything(bob, rows[:1] or [0]):
                    pass
            study.refit()
            study.draw()
        study.start_audit(20)
        study.draw()
        made.append(study)
    plain, steered = (
        [(e.data["rows"], e.data["propensities"]) for e in study.store.events() if e.kind == "proposed"]
        for study in made
    )
    assert len(plain) == 4
    assert steered == plain
