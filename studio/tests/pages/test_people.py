"""People: invitations, tokens, programs, what each person does, answers taken away and given back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from typer.testing import CliRunner

from fairask.cli._app import app as command
from fairask.cli._app import app as commands
from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.pages.people import people_figures
from fairask_studio.store.schema import people
from studio.tests.pages.conftest import bearer, signed
from studio.tests.pages.serving import serving


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


Make = Callable[..., Study]


@pytest.fixture
def team(make: Make) -> tuple[Study, str]:
    study = make()
    owner = study.people.add("ada", "owner")
    study.people.add("bob")
    return study, owner


def browser(study: Study) -> TestClient:
    return TestClient(create_app(study, local=False, train=False), base_url="http://localhost")


def test_an_invitation_signs_in_one_browser_once(team: tuple[Study, str]) -> None:
    study, owner = team
    ada = bearer(create_app(study, local=False, train=False), owner)
    assert ada.post("/api/people/zoe/invitation", json={}).status_code == 404
    earlier = ada.post("/api/people/bob/invitation", json={}).json()["path"]
    made = ada.post("/api/people/bob/invitation", json={"hours": 1}).json()
    assert made["until"] > study.store.events()[-1].at
    bob = browser(study)
    replaced = bob.get(earlier)
    assert (replaced.status_code, replaced.url.path) == (410, "/")
    assert "A newer link has replaced this one. Ask ada for a new one." in replaced.text
    page = bob.get(made["path"])
    assert (page.status_code, page.url.path) == (200, "/label")  # signed in, on the page of annotators
    assert bob.get("/overview").status_code == 403
    assert bob.get("/api/me").json() == {"name": "bob", "role": "annotator"}
    used = browser(study).get(made["path"])
    assert used.status_code == 410
    assert "This link was used already: it signs in once. Ask ada for a new one." in used.text
    guessed = browser(study).get("/?code=guessed")
    assert guessed.url.path == "/signin"
    assert "ada" not in guessed.text  # names are for those who were invited
    assert bob.post("/api/people/bob/invitation", json={}).status_code == 403


def test_a_link_that_a_chat_opens_to_show_it_still_signs_in(team: tuple[Study, str]) -> None:
    study, _ = team
    app = create_app(study, local=False, https=True, train=False)
    link = f"/?code={study.people.invite('bob')}"
    chat = TestClient(app, base_url="https://label.example.org")
    for _ in range(2):
        shown = chat.get(link)
        assert (shown.status_code, shown.url.path) == (200, "/")
        assert "Go on as bob" in shown.text
    bob = TestClient(app, base_url="https://label.example.org")
    opened = bob.get(link, headers={"sec-fetch-mode": "navigate"})
    assert opened.url.path == "/label"
    # What says nothing of itself, an old browser say, presses the button.
    code = study.people.invite("bob")
    old = TestClient(app, base_url="https://label.example.org")
    assert old.post("/signin", data={"code": code}).url.path == "/label"
    refused = old.post("/signin", data={"code": code})
    assert (refused.status_code, refused.url.path) == (401, "/signin")


def test_a_link_for_somebody_else_than_who_is_signed_in_asks_first(team: tuple[Study, str]) -> None:
    study, _ = team
    shared = browser(study)
    shared.get(f"/?code={study.people.invite('ada')}")
    code = study.people.invite("bob")
    asked = shared.get(f"/?code={code}")
    assert "The link is for bob. This browser is signed in as ada." in asked.text
    assert "Stay signed in as ada" in asked.text
    assert shared.get("/api/me").json()["name"] == "ada"
    assert shared.post("/signin", data={"code": code}).url.path == "/label"
    assert shared.get("/api/me").json()["name"] == "bob"
    assert shared.get(f"/?code={study.people.invite('bob')}").url.path == "/label"  # nothing to ask


def test_a_code_is_redeemed_by_the_api_and_ends_in_time(team: tuple[Study, str]) -> None:
    study, _ = team
    code = study.people.invite("bob", 3600)
    bob = browser(study)
    assert bob.post("/api/session", json={"code": code}).json() == {"name": "bob", "role": "annotator"}
    assert bob.get("/api/me").json()["name"] == "bob"
    assert bob.post("/api/session", json={"code": code}).status_code == 401
    assert bob.post("/api/session", json={"code": study.people.invite("bob", -1)}).status_code == 401
    assert bob.post("/api/session", json={}).status_code == 401
    assert (
        "This link has ended. Ask ada" in browser(study).get(f"/?code={study.people.invite('bob', -1)}").text
    )
    stranger = browser(study)
    stranger.cookies.set(stranger.app.state.access.cookie, code)  # type: ignore[attr-defined]
    assert stranger.get("/api/me").status_code == 401  # a code that was used is no session


def test_a_role_is_changed_at_once_and_an_owner_stays(team: tuple[Study, str]) -> None:
    study, owner = team
    bob = browser(study)
    bob.get(f"/?code={study.people.invite('bob')}")
    assert bob.get("/overview").status_code == 403
    ada = bearer(create_app(study, local=False, train=False), owner)
    assert ada.put("/api/people/bob", json={"role": "reviewer"}).json() == {"name": "bob", "role": "reviewer"}
    assert bob.get("/overview").status_code == 200
    assert "only owner" in ada.put("/api/people/ada", json={"role": "annotator"}).json()["detail"]
    assert ada.put("/api/people/zoe", json={"role": "owner"}).status_code == 422
    assert ada.put("/api/people/bob", json={"role": "king"}).status_code == 422
    assert bob.put("/api/people/bob", json={"role": "owner"}).status_code == 403
    assert [(p.name, p.role) for p in study.people.all()] == [("ada", "owner"), ("bob", "reviewer")]
    assert study.people.changed() == []  # the study is still whole


def test_whoever_can_be_added_can_be_removed_again(team: tuple[Study, str]) -> None:
    study, owner = team
    ada = bearer(create_app(study, local=False, train=False), owner)
    for name in ("a/b", ".", "..", "../bob", "?", "#x", "%", "a;b", "a b", "\u00e9", "<b>"):
        program = {"name": name, "role": "owner", "until": "2099-01-01"}
        added = ada.post("/api/programs", json=program).status_code
        if added == 201:
            assert ada.delete(f"/api/programs/{quote(name, safe='')}").status_code == 200, name
            added = ada.post("/api/people", json={"name": name}).status_code
            assert ada.delete(f"/api/people/{quote(name, safe='')}").status_code == 200, name
        assert added == (422 if name in ("a/b", ".", "..", "../bob") else 201), name


def test_times_outside_all_calendars_are_refused_in_words(team: tuple[Study, str]) -> None:
    study, owner = team
    ada = bearer(create_app(study, local=False, train=False), owner)
    for moment in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        refused = ada.post("/api/reopened", json={"since": moment, "look": True})
        assert (refused.status_code, "is not a time" in refused.json()["detail"]) == (422, True)


def test_the_public_address_is_a_setting(team: tuple[Study, str]) -> None:
    study, owner = team
    ada = bearer(create_app(study, local=False, train=False), owner)
    said = ada.put("/api/address", json={"address": "https://label.example.org:8443/"}).json()
    assert said == {"address": "https://label.example.org:8443"} == {"address": study.config.address}
    for wrong in ("label.example.org", "https://example.org/path", "javascript:alert(1)", "https://a b"):
        assert ada.put("/api/address", json={"address": wrong}).status_code == 422
    assert ada.put("/api/address", json={"address": ""}).json() == {"address": ""}


def test_the_command_prints_a_link_and_adds_the_person(team: tuple[Study, str]) -> None:
    study, _ = team
    words = ["study", "people", study.target, "--invite", "cyn", "--address", "https://studio.example.org/"]
    said = CliRunner().invoke(commands, words).output
    found = re.search(r"^https://studio.example.org(/\?code=\S+)$", said, re.MULTILINE)
    assert found, said
    cyn = browser(study)
    cyn.get(found[1])
    assert cyn.get("/api/me").json() == {"name": "cyn", "role": "annotator"}


def test_an_expired_token_is_counted_by_its_account_from_any_address(team: tuple[Study, str]) -> None:
    study, _ = team
    token = study.people.add("dan")
    with study.store.database.write() as connection:
        connection.execute(
            update(people).where(people.c.name == "dan").values(since="2020-01-01T00:00:00.000Z")
        )
    fail = study.store.attempts.fail
    app = create_app(study, local=False, train=False)
    tries = [
        TestClient(app, base_url="http://localhost", client=(f"192.0.2.{i}", 1)).post(
            "/api/session", json={"token": token}
        )
        for i in range(9)
    ]
    assert [answer.status_code for answer in tries] == [401] * 8 + [429]
    assert "expired" in tries[0].json()["detail"]
    assert fail("192.0.2.1") == 0.0  # the addresses themselves are not blocked


def test_an_owner_gives_a_program_a_token_and_revokes_it(client: TestClient, study: Study) -> None:
    made = client.post("/api/programs", json={"name": "robot", "role": "annotator", "until": "2999-12-31"})
    assert made.status_code == 201
    token = made.json()["token"]
    assert [(p["name"], p["until"][:10], p["ended"]) for p in client.get("/api/programs").json()] == [
        ("robot", "2999-12-31", False)
    ]
    program = bearer(client.app, token)  # type: ignore[arg-type]
    row = program.post("/api/next", json={"count": 1}).json()["cards"][0]["row"]
    assert program.post("/api/answers", json={"row": row, "label": "good"}).status_code == 201
    assert list(study.state().answers[row]) == ["robot"]
    assert program.get("/api/status").status_code == 403  # it is an annotator
    assert program.post("/api/session", json={"token": token}).status_code == 403  # a session is a person's
    assert client.get("/api/me").status_code == 200  # no person was added: the printed address still works

    past = client.post("/api/programs", json={"name": "old", "until": "2001-01-01"})
    assert (past.status_code, "past" in past.json()["detail"]) == (422, True)
    assert client.delete("/api/programs/nobody").status_code == 404
    assert client.delete("/api/programs/robot").status_code == 200
    assert program.get("/api/me").status_code == 401
    noted = [(e.data["what"], e.data["name"]) for e in study.store.events() if e.kind == "access"]
    assert ("gave a token to the program", "robot") in noted
    assert ("revoked the token of", "robot") in noted
    assert token not in str(study.store.events())


def test_the_command_gives_lists_and_revokes(study: Study) -> None:
    run = CliRunner()

    def people(*words: str) -> str:
        return run.invoke(command, ["study", "people", study.target, *words]).output

    study.people.add("ada", "owner")
    given = people("--program", "nightly", "--until", "2999-12-31")
    assert "until 2999-12-31" in given
    assert study.people.by_token(given.split()[-1]) is not None
    assert "nightly\tprogram, annotator\tuntil 2999-12-31" in people()
    people("--remove", "nightly")
    assert "nightly" not in people()
    noted = [(e.data["what"], e.data["name"]) for e in study.store.events() if e.kind == "access"]
    assert noted == [("gave a token to the program", "nightly"), ("removed", "nightly")]


def test_the_client_of_the_docs_labels_a_row(client: TestClient, study: Study) -> None:
    page = Path(__file__).parents[3] / "docs" / "studio.md"
    source = next(c for c in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if "def call(" in c)
    token = study.people.add_program("client", "annotator", "2999-12-31T23:59:59.999Z")
    with serving(client.app) as url:  # type: ignore[arg-type]
        source = source.replace("http://localhost:8080", url).replace('token="..."', f"token={token!r}")
        exec(source.replace('"yes"', '"good"'), {})
    given = [(name, answer.code) for said in study.state().answers.values() for name, answer in said.items()]
    assert given == [("client", 1)]


def test_skips_end_at_the_limit_and_the_owner_reopens_them(make: Callable[..., Study]) -> None:
    study = make(most_skips=2, most_per_minute=4)
    owner, token = study.people.add("ada", "owner"), study.people.add("bob")
    study.draw(10)
    app = create_app(study, local=False, train=False)
    bob, ada = bearer(app, token), bearer(app, owner)

    def answer(label: str | None) -> int:
        row = bob.post("/api/next", json={"count": 1}).json()["cards"][0]["row"]
        return bob.post("/api/answers", json={"row": row, "label": label}).status_code

    assert [answer(None) for _ in range(3)] == [201, 201, 422]
    assert study.status()["skipped"] == 2
    assert "bob" in str(ada.get("/api/status").json()["warnings"])
    assert bob.post("/api/reopened", json={"skips": True}).status_code == 403
    assert bob.get("/api/reopened").status_code == 403
    look = ada.post("/api/reopened", json={"name": "bob", "look": True}).json()
    assert look == {"event": None, "answers": 2, "labels": 0}
    event = ada.post("/api/reopened", json={"name": "bob", "skips": True}).json()["event"]
    (listed,) = ada.get("/api/reopened").json()
    assert (listed["event"], listed["name"], listed["answers"], listed["who"]) == (event, "bob", 2, "ada")
    assert study.status()["skipped"] == 0
    assert ada.delete(f"/api/reopened/{event}").json() == {"answers": 2, "taken": 0}
    assert ada.delete(f"/api/reopened/{event}").status_code == 422
    assert ada.get("/api/reopened").json() == []
    assert ada.post("/api/reopened", json={}).status_code == 422
    # At four answers in a minute no row is handed out until the pace is lower.
    assert [answer("good"), answer("bad")] == [201, 201]
    told = bob.post("/api/next", json={}).json()
    assert told["cards"] == []
    assert "more rows in a minute" in told["notice"]
    assert ada.put("/api/settings", json={"most_per_minute": 0}).status_code == 200
    assert bob.post("/api/next", json={}).json()["cards"]
