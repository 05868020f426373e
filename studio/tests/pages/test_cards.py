"""Cards by content: how columns are shown, whole texts, and images from allowed places only."""

from __future__ import annotations

import base64
import http.server
import io
import struct
import threading
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study, StudyError
from fairask_studio.advice import next_step
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import bearer, signed

Make = Callable[..., Study]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _tone(seconds: float = 3.0) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(
            b"".join(struct.pack("<h", 3000 * (i // 20 % 2)) for i in range(int(8000 * seconds)))
        )
    return out.getvalue()


WAV = _tone()
ARABIC = "انتظرت ساعة كاملة ولم يجب أحد على الهاتف، ثم أغلق المكتب أبوابه قبل الموعد."
LETTER = (
    "First I waited for an hour.\n\nThen nobody knew <b>my name</b>.\nThe office closed. "
    + "And so on. " * 400
)


def comments(host: str = "https://images.example.org", rows: int = 24) -> dict[str, list[object]]:
    texts = [LETTER, ARABIC, "Everything was quick and friendly, thank you very much for it."]
    return {
        "comment": [texts[i % 3] for i in range(rows)],
        "letter": ["# Dear Sir\n\nI **must** say:\n\n- one thing\n- [another](https://example.org)"] * rows,
        "photo": [f"{i}.png" for i in range(rows)],
        "scan": [f"{host}/{i % 2}.png" for i in range(rows)],
        "page": ["https://example.org/1"] * rows,
        "amount": [1234567 + i % 7 for i in range(rows)],
        "year": [1987] * rows,
        "received": ["2024-03-05T14:30:00Z", "2024-03-06"] * (rows // 2),
        "sex": ["f", "m"] * (rows // 2),
    }


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    """A web server with an image, a redirect and a page that is no image."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/away.png":
                self.send_response(302)
                self.send_header("Location", "/0.png")
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<svg onload=alert(1)>" if self.path == "/1.png" else PNG)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def with_media(study: Study) -> Study:
    folder = Path(study.target) / "media"
    folder.mkdir()
    for i in range(24):
        (folder / f"{i}.png").write_bytes(PNG)
    (Path(study.target) / "secret.png").write_bytes(PNG)
    return study


def test_how_columns_are_shown_is_guessed_and_can_be_changed(make: Make) -> None:
    study = make(table=comments(), budget=20)
    shown = {column.name: column.display for column in study.config.columns}
    assert shown == {
        "comment": "long", "letter": "markdown", "photo": "image", "scan": "image", "page": "link",
        "amount": "number", "year": "text", "received": "date", "sex": "text",
    }  # fmt: skip
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        assert client.put("/api/settings", json={"columns": {"page": {"display": "none"}}}).status_code == 200
        wrong = client.put("/api/settings", json={"columns": {"page": {"display": "film"}}})
        assert wrong.status_code == 422
        names = [field["name"] for field in client.get("/api/rows/0").json()["fields"]]
        assert "page" not in names
        assert "comment" in names
    with pytest.raises(StudyError, match="display 'film' of column 'page' is unknown"):
        study.change(columns={"page": {"display": "film"}})


def test_a_long_text_is_sent_whole(make: Make) -> None:
    table = comments()
    table["comment"][0] = "word " * 50_000
    study = make(table=table, budget=20)
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        fields = {field["name"]: field for field in client.get("/api/rows/3").json()["fields"]}
        assert fields["comment"]["value"] == LETTER
        first = client.get("/api/rows/0").json()["fields"][0]
        assert (len(first["value"]), first["length"]) == (100_000, 250_000)
        whole = client.get("/api/cells/0/comment")
        assert whole.text == table["comment"][0]
        assert whole.headers["content-type"] == "text/plain; charset=utf-8"


def test_images_come_from_allowed_places_only(make: Make, host: str, tmp_path: Path) -> None:
    table = comments(host)
    table["photo"][1] = "../secret.png"
    table["scan"][2] = f"{host}/away.png"
    table["scan"][4] = "https://elsewhere.example.org/1.png"
    study = with_media(make(table=table, budget=20))
    app = create_app(study, train=False, media=[host])
    with TestClient(app, base_url="http://localhost") as client:
        signed(client)
        for column in ("photo", "scan"):
            found = client.get(f"/api/cells/0/{column}")
            assert (found.content, found.headers["content-type"]) == (PNG, "image/png")
            assert "max-age" in found.headers["cache-control"]
            assert "Cookie" in found.headers["vary"]  # not for whoever signs in next at this browser
        assert client.get("/api/cells/1/photo").status_code == 404  # outside the folder
        assert client.get("/api/cells/1/scan").status_code == 404  # no image, whatever its name
        assert client.get("/api/cells/2/scan").status_code == 502  # redirects are not followed
        refused = client.get("/api/cells/4/scan")
        assert refused.status_code == 403
        assert "--media https://elsewhere.example.org" in refused.json()["detail"]
        assert client.get("/api/cells/0/sex").status_code == 404  # the protected column is not shown
        assert client.get("/api/cells/99/photo").status_code == 404
    with pytest.raises(StudyError, match="is neither a folder nor a host"):
        create_app(study, train=False, media=[str(tmp_path / "nowhere")])
    with pytest.raises(StudyError, match="is not a host"):
        create_app(study, train=False, media=["https://example.org/photos"])


def test_an_annotator_sees_cells_of_rows_that_were_given_to_them(make: Make) -> None:
    study = with_media(make(table=comments(), budget=20))
    study.people.add("ada", "owner")
    token = study.people.add("bob")
    with bearer(create_app(study, train=False), token) as bob:
        study.draw(10)
        row = bob.post("/api/next", json={"count": 1}).json()["cards"][0]["row"]
        other = next(r for r in range(24) if r != row)
        assert bob.get(f"/api/cells/{row}/photo").status_code == 200
        assert bob.get(f"/api/cells/{other}/photo").status_code == 403


def test_guidelines_are_shown_and_every_version_is_in_the_log(make: Make) -> None:
    study = make(budget=20)
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        assert 'id="guide"' not in client.get("/label").text
        for text in ("# How\n\nRead **all** of it.", "# How\n\nRead it twice.</script>"):
            assert client.put("/api/settings", json={"guidelines": text}).status_code == 200
        assert study.config.guidelines.endswith("twice.</script>")
        page = client.get("/label").text
        assert 'id="guide"' in page
        assert "twice.</script>" not in page  # text, never markup
        said = [e.data["guidelines"] for e in study.store.events() if e.data.get("guidelines")]
        assert len(said) == 2
        assert client.put("/api/settings", json={"guidelines": "x" * 50_001}).status_code == 422
    with pytest.raises(StudyError, match="50,000 at most"):
        study.change(guidelines="x" * 50_001)


def test_a_study_of_images_says_that_its_model_cannot_see_them(make: Make) -> None:
    photos = {"photo": [f"{i % 3}.png" for i in range(40)], "sex": ["f", "m"] * 20}
    with pytest.raises(StudyError, match="cannot see the images in “photo”, and no other column is left"):
        make(table=photos, budget=10)
    study = make(table={**photos, "age": [20 + i % 30 for i in range(40)]}, budget=10)
    assert study.encoder.columns == ["age"]  # and not the names of files
    said = study.status()["unseen"]
    assert said.startswith("The model cannot see the images in “photo”; it learns only from “age”. Add embed")
    advice = study.status()["advice"]
    assert advice["verdict"] == "The model cannot see the images"
    assert advice["reason"] == "It learns only from “age”."
    assert next_step(study.status()).words == "Make a study with embeddings"
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        assert signed(client).get("/api/status").json()["unseen"] == said


def calls(make: Make, rows: int = 40) -> Study:
    """A study of recordings, of which one in eight is missing and one is none."""
    table = {"call": [f"{i}.wav" for i in range(rows)], "sex": ["f", "m"] * (rows // 2)}
    study = make(table={**table, "age": [20 + i % 30 for i in range(rows)]}, budget=20, batch_size=20)
    folder = Path(study.target) / "media"
    folder.mkdir()
    for i in range(rows):
        if i % 8 != 7:
            (folder / f"{i}.wav").write_bytes(PNG if i % 8 == 6 else WAV)
    return study


def test_a_recording_is_sent_as_one_and_its_model_cannot_hear_it(make: Make) -> None:
    study = calls(make)
    assert study.encoder.columns == ["age"]
    assert study.status()["unseen"].startswith(
        "The model cannot hear the recordings in “call”; it learns only"
    )
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        signed(client)
        found = client.get("/api/cells/0/call")
        assert (found.content, found.headers["content-type"]) == (WAV, "audio/wav")
        assert "media-src blob:" in client.get("/label").headers["content-security-policy"]
        wrong = client.get("/api/cells/6/call")
        assert (wrong.status_code, wrong.json()["detail"]) == (
            404, "'6.wav' is no WAV, MP3, Ogg, M4A or FLAC recording",
        )  # fmt: skip
        field = next(f for f in client.get("/api/rows/0").json()["fields"] if f["name"] == "call")
        assert (field["display"], field["value"]) == ("audio", "audio")  # a name could tell the group
    with pytest.raises(StudyError, match="cannot hear the recordings in “call”, and no other column is left"):
        make(table={"call": [f"{i}.mp3" for i in range(40)], "sex": ["f", "m"] * 20}, budget=10)


def test_with_embeddings_the_model_sees_images(make: Make) -> None:
    photos = {"photo": [f"{i}.png" for i in range(40)], "sex": ["f", "m"] * 20}
    study = make(table={**photos, "vectors": [[i % 5, i % 7 + 0.5] for i in range(40)]}, budget=10)
    assert study.encoder.columns == ["vectors"]
    assert study.status()["unseen"] is None
