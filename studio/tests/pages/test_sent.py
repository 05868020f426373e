"""Tables that come with images: as a zip, or file by file from a folder."""

from __future__ import annotations

import contextlib
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from fairask_studio import Study, StudyError
from fairask_studio.pages.sent import SentFiles
from studio.tests.pages.test_cards import PNG, WAV
from studio.tests.pages.test_home import home

__all__ = ["home"]

ROWS = 40
TABLE = "photo,sex\n" + "\n".join(f"{i}.png,{'fm'[i % 2]}" for i in range(ROWS))


def _vectors(rows: int = ROWS) -> bytes:
    data = io.BytesIO()
    np.save(data, np.random.default_rng(0).normal(size=(rows, 4)))
    return data.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return data.getvalue()


def _make(home: TestClient, table: str) -> Any:
    given = {"table": table, "name": "photos", "question": "A cat?", "classes": ["no", "yes"],
             "protected": ["sex"], "budget": 10}  # fmt: skip
    return home.post("/api/studies", json=given)


def test_a_zip_of_a_table_images_and_vectors_becomes_a_study(home: TestClient, tmp_path: Path) -> None:
    images = {f"all/photos/{i}.png": PNG for i in range(ROWS - 1)}
    files = {"all/table.csv": TABLE.encode(), "all/vectors.npy": _vectors(), "__MACOSX/x.png": b"", **images}
    sent = home.post("/api/tables", params={"name": "all.zip"}, content=_zip(files)).json()
    assert sent["notes"] == ["1 file that the table names was not sent: 39.png."]
    assert {c["name"]: c["display"] for c in sent["columns"]} == {
        "photo": "image", "sex": "text", "vectors": "none",
    }  # fmt: skip
    assert home.get(f"/api/tables/{sent['id']}/file", params={"name": "3.png"}).content == PNG
    assert home.get(f"/api/tables/{sent['id']}/file", params={"name": "39.png"}).status_code == 404
    assert _make(home, sent["id"]).status_code == 201
    assert len(list((tmp_path / "photos" / "media").iterdir())) == ROWS - 1
    with Study.open(tmp_path / "photos") as study:
        assert study.encoder.columns == ["vectors"]
    assert home.post("/api/studies/photos/copy", json={"name": "again"}).status_code == 201
    assert (tmp_path / "again" / "media" / "3.png").read_bytes() == PNG


def test_an_image_that_is_sent_again_or_beside_others_stays_its_own() -> None:
    files = SentFiles()
    pictures = {f"{i}.png": PNG + bytes([i]) for i in range(200)}
    files.add("0.png", pictures["0.png"])  # its reply was lost: it comes again
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(files.add, pictures, pictures.values()))
    for name, data in pictures.items():
        found = files.find(f"photos/{name}")
        assert found is not None
        assert found.read_bytes() == data


def test_cells_that_no_file_can_be_called_leave_no_half_study(home: TestClient, tmp_path: Path) -> None:
    for cell in ("0.png/0.png", f"{'x' * 300}/0.png", "/images/0.png", "../0.png"):
        table = f"{TABLE}\n{cell},f\n0.png,m"
        sent = home.post("/api/tables", params={"name": "table.csv"}, content=table.encode()).json()
        place = f"/api/tables/{sent['id']}/files"
        home.put(place, params={"name": "0.png"}, content=PNG)
        home.put(place, params={"name": "vectors.npy"}, content=_vectors(ROWS + 2))
        made = _make(home, sent["id"])
        assert made.status_code in (201, 422), made.text
        assert (tmp_path / "photos").exists() is (made.status_code == 201)
        if made.status_code == 201:
            notes = home.get(f"/api/tables/{sent['id']}").json()["notes"]
            assert notes[0].startswith("40 files that the table names were not sent")
            home.request("DELETE", "/api/studies/photos", json={"name": "photos"})


def test_files_of_a_folder_are_sent_one_by_one(home: TestClient) -> None:
    sent = home.post("/api/tables", params={"name": "table.csv"}, content=TABLE.encode()).json()
    assert "cannot see the images in “photo”; it learns only from other columns." in sent["notes"][0]
    refused = _make(home, sent["id"])
    assert refused.status_code == 422
    assert "cannot see the images in “photo”, and no other column is left" in refused.json()["detail"]
    place = f"/api/tables/{sent['id']}/files"
    for i in range(ROWS):
        assert home.put(place, params={"name": f"photos/{i}.png"}, content=PNG).status_code == 200
    wrong = home.put(place, params={"name": "x.png"}, content=b"<svg onload=alert(1)>")
    assert (wrong.status_code, "is no PNG" in wrong.json()["detail"]) == (422, True)
    assert home.put(place, params={"name": "../x.png"}, content=PNG).status_code == 422
    assert home.put(place, params={"name": "vectors.npy"}, content=_vectors()).status_code == 200
    assert home.get(f"/api/tables/{sent['id']}").json()["notes"] == ["40 images."]
    assert _make(home, sent["id"]).status_code == 201


def test_images_without_a_table_are_listed_with_their_folders() -> None:
    sent = SentFiles()
    sent.take("all.zip", _zip({"all/b/2.png": PNG, "all/a/1.png": PNG, "all/a/.hidden.png": b"no image"}))
    table, _ = sent.read()
    assert table.to_pydict() == {"image": ["all/a/1.png", "all/b/2.png"], "folder": ["a", "b"]}


def test_recordings_come_as_images_do(home: TestClient, tmp_path: Path) -> None:
    table = "call,sex,age\n" + "\n".join(f"{i}.wav,{'fm'[i % 2]},{20 + i}" for i in range(ROWS))
    files = {"table.csv": table.encode(), **{f"calls/{i}.wav": WAV[:2000] for i in range(ROWS)}}
    sent = home.post("/api/tables", params={"name": "all.zip"}, content=_zip(files)).json()
    assert sent["notes"][0] == "40 recordings."
    assert "cannot hear the recordings in “call”; it learns only from other columns." in sent["notes"][1]
    found = home.get(f"/api/tables/{sent['id']}/file", params={"name": "3.wav"})
    assert found.headers["content-type"] == "audio/wav"
    assert _make(home, sent["id"]).status_code == 201
    assert len(list((tmp_path / "photos" / "media").iterdir())) == ROWS
    alone = SentFiles()
    alone.take("all.zip", _zip({"a/1.wav": WAV, "b/2.wav": WAV}))
    assert alone.read()[0].to_pydict() == {"recording": ["a/1.wav", "b/2.wav"], "folder": ["a", "b"]}
    both = SentFiles()
    both.take("x.zip", _zip({"1.wav": WAV, "1.png": PNG}))
    with pytest.raises(StudyError, match="both images and recordings"):
        both.read()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"1.csv": b"a", "2.csv": b"a", "1.png": PNG}, "holds 2 tables: 1.csv, 2.csv"),
        ({"../1.png": PNG}, "cannot be the name of a file"),
        ({"1.wav": PNG}, "is no WAV, MP3, Ogg, M4A or FLAC recording"),
        ({"1.png": b"text"}, "is no PNG, JPEG, GIF or WebP image"),
        ({"1.png": bytes((20 << 20) + 1)}, "is no PNG, JPEG, GIF or WebP image"),
        ({f"{number}.png": bytes(10 << 20) for number in range(7)}, "unpacks to more than 67,108,864 bytes"),
        ({f"{'n' * 300}.png": PNG}, "cannot be the name of a file"),
    ],
)
def test_a_zip_that_cannot_be_taken_is_refused_in_words(files: dict[str, bytes], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        SentFiles().take("all.zip", _zip(files))


def test_a_zip_that_is_damaged_inside_is_refused_in_words() -> None:
    whole = bytearray(_zip({"1.png": PNG + bytes(1000), "t.csv": b"photo,sex\n1.png,f\n"}))
    for at in range(30, 60):
        hurt = whole.copy()
        hurt[at] ^= 0xFF
        with contextlib.suppress(StudyError):
            SentFiles().take("all.zip", bytes(hurt))


def test_names_that_no_file_can_have_are_kept_short(home: TestClient) -> None:
    name = "日" * 190 + ".csv"
    sent = home.post("/api/tables", params={"name": name}, content=TABLE.encode())
    assert sent.status_code == 201, sent.text
    table = f"{TABLE}a\0b.png,1,1,f\n"
    assert home.post("/api/tables", params={"name": "t.csv"}, content=table.encode()).status_code in (
        201,
        422,
    )


def test_images_are_copied_to_names_inside_the_folder_only(tmp_path: Path) -> None:
    sent = SentFiles()
    sent.add("1.png", PNG)
    sent.copy_to(str(tmp_path / "study"), ["1.png", "../1.png", "/1.png", "2.png", ""])
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.png")] == ["study/media/1.png"]
    with pytest.raises(StudyError, match="keeps no images"):
        sent.copy_to("postgresql://ada@host/study", ["1.png"])
