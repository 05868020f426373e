"""The studio of a folder: its studies are listed, made, copied, put aside and deleted; each is served."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fairask.pools.sample import SAMPLE
from fairask.report.words import sampled_sentence
from fairask_studio import Study
from fairask_studio.pages.home import create_home
from fairask_studio.pool import KEY
from studio.tests.study.conftest import people_table

WORDS = ["slow", "rude", "kind", "quick", "late", "lost", "helpful", "closed"]


def comment(i: int) -> str:
    return f"The office was {WORDS[i % 8]} and the answer {WORDS[(i // 3) % 8]} when I asked for it"


def _line(i: int) -> str:
    known = ("yes" if i % 8 in (0, 1, 4, 5) else "no") if i < 150 else ""
    return f"{comment(i)},{'fm'[i % 2]},{i % 7},{known},{'ok' if i < 3 else ''}"


CSV = "comment,sex,score,complaint,rated\n" + "\n".join(_line(i) for i in range(160))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(create_home(tmp_path, train=False), base_url="http://localhost") as client:
        code = client.app.state.access.invite()  # type: ignore[attr-defined]
        page = client.get("/", params={"code": code}).text
        client.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
        yield client


def new_study(
    home: TestClient, name: str = "comments", root: str = "", **changes: object
) -> dict[str, object]:
    """Make a study of comments."""
    sent = home.post(f"{root}/api/tables", params={"name": "comments.csv"}, content=CSV.encode()).json()
    given = {
        "table": sent["id"], "name": name, "question": "Is it a complaint?", "classes": ["no", "yes"],
        "protected": ["sex"], "drop": ["score", "complaint", "rated"],
        "displays": {"comment": "markdown"}, "budget": 30, **changes,
    }  # fmt: skip
    answer = home.post(f"{root}/api/studies", json=given)
    return {"status": answer.status_code, **answer.json()}


def test_what_is_wrong_with_a_study_is_told_to_owners_only(home: TestClient, tmp_path: Path) -> None:
    assert new_study(home)["status"] == 201
    (tmp_path / "linked").symlink_to(tmp_path / "comments")
    refused = home.request("DELETE", "/api/studies/linked", json={"name": "linked"})
    assert (refused.status_code, "cannot be deleted" in refused.json()["detail"]) == (422, True)
    (tmp_path / "comments" / "pool.parquet").unlink()
    assert "has lost its pool.parquet" in home.get("/api/studies").json()[0]["error"]
    home.cookies.clear()
    told = home.get("/s/comments/api/me")
    assert (told.status_code, told.json()["detail"]) == (404, "no study 'comments' here that can be opened")


def test_nobody_gets_in_without_the_printed_code(tmp_path: Path) -> None:
    with TestClient(create_home(tmp_path, train=False), base_url="http://localhost") as client:
        assert client.get("/").status_code == 401
        assert client.get("/", params={"code": "wrong"}).status_code == 401
        assert client.get("/api/studies").status_code == 401
        code = client.app.state.access.invite()  # type: ignore[attr-defined]
        assert client.get("/", params={"code": code}).status_code == 200
        assert client.post("/api/studies/x/open").status_code == 403  # no token of a page
    with TestClient(create_home(tmp_path, train=False), base_url="http://evil.example") as client:
        assert client.get("/").status_code == 421


def test_a_page_that_is_open_does_not_bring_back_a_study_that_is_being_deleted(
    home: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert new_study(home)["status"] == 201
    assert home.get("/s/comments/healthz").status_code == 200
    studies, asked = home.app.state.studies, []  # type: ignore[attr-defined]
    remove = studies.shelf._remove

    def asked_meanwhile(name: str) -> None:
        asked.append(home.get("/s/comments/healthz").status_code)
        remove(name)

    monkeypatch.setattr(studies.shelf, "_remove", asked_meanwhile)
    assert home.request("DELETE", "/api/studies/comments", json={"name": "comments"}).status_code == 200
    assert asked == [404]
    # Otherwise the old study would be served under the name of a new one, and answers to it would be lost.
    assert new_study(home, question="Another one?")["status"] == 201
    assert home.get("/s/comments/healthz").status_code == 200
    assert studies.apps["comments"].state.study.config.question == "Another one?"


def test_a_table_above_the_sample_is_said_to_be_sampled(home: TestClient, tmp_path: Path) -> None:
    csv = "sex,score\n" + "\n".join(f"{'fm'[i % 2]},{i % 97}" for i in range(SAMPLE + 10))
    sent = home.post("/api/tables", params={"name": "large.csv"}, content=csv.encode()).json()
    assert sent["notes"][-1] == sampled_sentence(SAMPLE, SAMPLE + 10, KEY)
    given = {"table": sent["id"], "name": "large", "question": "Is it?", "classes": ["no", "yes"]}
    made = home.post("/api/studies", json={**given, "protected": ["sex"], "budget": SAMPLE + 5})
    assert made.status_code == 201, made.text
    with Study.open(tmp_path / "large") as study:
        config = study.config
        assert (config.rows, config.sampled_from, config.budget) == (SAMPLE, SAMPLE + 10, SAMPLE)


def test_a_table_is_described_before_a_study_is_made_of_it(home: TestClient, tmp_path: Path) -> None:
    sent = home.post("/api/tables", params={"name": "comments.csv"}, content=CSV.encode()).json()
    columns = {column["name"]: column for column in sent["columns"]}
    assert (sent["rows"], columns["comment"]["display"], columns["sex"]["values"]) == (
        160,
        "long",
        ["f", "m"],
    )
    assert columns["sex"]["can_group"]
    assert sent["preview"][1]["sex"] == "m"
    refused = home.post("/api/tables", params={"name": "x.csv"}, content=b"")
    assert refused.status_code == 422
    assert refused.json()["detail"] == "x.csv is empty. Give a file with a header line and rows."
    broken = home.post("/api/tables", params={"name": "x.parquet"}, content=b"no parquet")
    assert broken.status_code == 422
    assert list(tmp_path.iterdir()) == []  # nothing is left


def test_a_study_is_made_listed_copied_archived_and_deleted(home: TestClient, tmp_path: Path) -> None:
    assert home.get("/api/studies").json() == []
    assert new_study(home)["status"] == 201
    with Study.open(tmp_path / "comments") as study:
        kinds = {column.name: (column.role, column.display) for column in study.config.columns}
        assert kinds["comment"] == ("feature", "markdown")
        assert kinds["score"][0] == "hidden"
        rows = study.ask(10)
        study.tell(rows, ["yes"] * 10)
    found = home.get("/api/studies").json()[0]
    assert (found["name"], found["labels"], found["budget"], found["state"]) == (
        "comments",
        10,
        30,
        "labelling",
    )
    assert "already" in str(new_study(home)["detail"])
    assert "cannot be a name" in str(new_study(home, "../x")["detail"])
    assert "no column" in str(new_study(home, "other", protected=["gender"])["detail"])
    assert not (tmp_path / "other").exists()  # what cannot be made leaves nothing

    assert home.post("/api/studies/comments/copy", json={"name": "again"}).status_code == 201
    assert [s["labels"] for s in home.get("/api/studies").json()] == [0, 10]
    assert home.put("/api/studies/again", json={"archived": True}).status_code == 200
    assert [s["archived"] for s in home.get("/api/studies").json()] == [True, False]
    assert home.request("DELETE", "/api/studies/again", json={"name": "comments"}).status_code == 422
    assert home.request("DELETE", "/api/studies/again", json={"name": "again"}).status_code == 200
    assert [s["name"] for s in home.get("/api/studies").json()] == ["comments"]


def test_a_copy_whose_images_find_no_room_is_not_made(
    home: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert new_study(home)["status"] == 201
    (tmp_path / "comments" / "media").mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copytree", full)
    refused = home.post("/api/studies/comments/copy", json={"name": "again"})
    assert refused.status_code == 422
    assert "images of 'comments' cannot be copied: No space left on device" in refused.json()["detail"]
    assert [path.name for path in tmp_path.iterdir()] == ["comments"]


def test_each_study_is_served_under_its_name(home: TestClient, tmp_path: Path) -> None:
    new_study(home)
    address = home.post("/api/studies/comments/open").json()["address"]
    page = home.get(address)
    assert page.url.path == "/s/comments/overview"
    assert "Is it a complaint?" in page.text
    assert '<a class="button quiet" href="/s/comments/../../">Studies</a>' in page.text
    assert home.get("/s/comments/api/status").json()["budget"] == 30
    assert home.get("/s/nothing/overview").status_code == 404
    assert home.get("/s/comments/api/me").json()["role"] == "owner"


def test_excel_and_parquet_are_read_as_well(home: TestClient) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table(people_table()), buffer)
    sent = home.post("/api/tables", params={"name": "people.parquet"}, content=buffer.getvalue()).json()
    assert sent["rows"] == 200


def _sent(home: TestClient) -> str:
    """Send the table by the page's form, as a browser without a script does; return the page's address."""
    form = {"csrf": home.headers["X-CSRF-Token"]}
    answer = home.post("/new", data=form, files={"file": ("comments.csv", CSV)}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_the_forms_work_without_a_script(home: TestClient, tmp_path: Path) -> None:
    address = _sent(home)
    page = home.get(address).text
    assert "comments.csv: 160 rows, 5 columns." in page
    assert "160 different values" not in page
    assert "The model will learn from" in page
    columns = ["comment", "sex", "score", "complaint", "rated"]
    form = {
        "csrf": home.headers["X-CSRF-Token"], "table": address.partition("=")[2], "name": "forms",
        "question": "Is it a <b>complaint</b>?", "negative": "no", "positive": "yes", "labels": "complaint",
        "metric": "eo", "tolerance": "20", "budget": "30", "overlap": "2", "guidelines": "Read it.",
        "skip_reasons": "too short\n\n", "bands-2": "3", f"display-{columns.index('rated')}": "drop",
    }  # fmt: skip
    for changes, said in (
        ({}, "Mark at least one column as protected"),
        ({"protected": ["sex", "score"], "bands-2": "5, 3"}, "the numbers must grow"),
        ({"protected": "sex", "name": "a b"}, "cannot be a name"),
        ({"protected": "sex", "budget": "many"}, "valid integer"),
    ):
        refused = home.post("/new/study", data={**form, **changes})
        assert refused.status_code == 422
        assert said in refused.text, changes
        assert "Is it a &lt;b&gt;complaint&lt;/b&gt;?" in refused.text, "what was typed is still there"
        assert list(tmp_path.iterdir()) == []
    csrf = home.headers.pop("X-CSRF-Token")
    assert home.post("/new/study", data={**form, "csrf": "x", "protected": "sex"}).status_code == 403
    assert home.post("/new", data={"csrf": "x"}, files={"file": ("c.csv", CSV)}).status_code == 403
    home.headers["X-CSRF-Token"] = csrf
    made = home.post("/new/study", data={**form, "protected": ["sex", "score"]}, follow_redirects=False)
    assert made.status_code == 303
    assert made.headers["location"].startswith("/s/forms/?code=")
    with Study.open(tmp_path / "forms") as study:
        config = study.config
        assert config.protected == ("sex", "score:3")
        assert set(study.groups) == {"f, under 3", "f, 3 or more", "m, under 3", "m, 3 or more"}
        assert (config.learner.metric, config.learner.tolerance, config.overlap) == ("eo", 0.2, 2)
        assert (config.guidelines, config.skip_reasons) == ("Read it.", ("too short",))
        roles = {column.name: column.role for column in config.columns}
        assert (roles["complaint"], roles["rated"]) == ("hidden", "hidden")


def test_a_file_that_cannot_be_read_is_refused_beside_its_field(home: TestClient) -> None:
    form = {"csrf": home.headers["X-CSRF-Token"]}
    refused = home.post("/new", data=form, files={"file": ("x.parquet", b"no parquet")})
    assert refused.status_code == 422
    single = home.post("/new", data=form, files={"file": ("x.csv", b"income~sex\n1~f\n2~m\n")})
    assert "Fields are separated by commas, semicolons, tabs or bars." in single.text
    assert "--delimiter" not in single.text
    assert "x.parquet" in refused.text
    assert '<p id="file-said" class="gap-top refused"' in refused.text
    assert "Choose a file." in home.post("/new", data=form).text
    assert "not here any more" in home.get("/new?table=gone").text


def test_the_page_says_what_the_model_will_learn_from(home: TestClient) -> None:
    csv = "id,sex,note\n" + "\n".join(f"x{i:04d},{'fm'[i % 2]},same" for i in range(100))
    sent = home.post("/api/tables", params={"name": "c.csv"}, content=CSV.encode()).json()
    found = home.post(f"/api/tables/{sent['id']}/learned", json={"protected": ["sex"], "drop": ["rated"]})
    assert found.json()["learns"] == ["comment", "score", "complaint"]
    assert ["sex", "it names the group"] in found.json()["not_learned"]
    sent = home.post("/api/tables", params={"name": "ids.csv"}, content=csv.encode()).json()
    nothing = home.post(f"/api/tables/{sent['id']}/learned", json={"protected": ["sex"]}).json()
    assert nothing["refused"].startswith("No column is left to learn from ('id': ")
    assert nothing["refused"].endswith("The model needs a column besides the protected ones.")
    given = {"table": sent["id"], "name": "ids", "question": "Is it?", "classes": ["no", "yes"]}
    refused = home.post("/api/studies", json={**given, "protected": ["sex"], "budget": 20})
    assert "no column is left to learn from" in refused.json()["detail"]
    number = {column["name"]: column for column in sent["columns"]}
    assert number["id"]["why_not"] == "100 different values: groups need 50 or fewer"
