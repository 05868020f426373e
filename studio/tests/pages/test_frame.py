"""Pages are light: files are kept by their digest, sent packed, and few."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fairask_studio.pages import frame
from fairask_studio.pages.access import PAGES
from fairask_studio.pages.frame import files, imported, static_digest


def test_files_are_packed_and_kept_for_ever_under_their_digest(client: TestClient) -> None:
    for name, file in files().items():
        found = client.get(f"/static/{static_digest()}/{name}")
        assert found.content == file.data
        assert found.headers["content-encoding"] == "gzip"
        assert "immutable" in found.headers["cache-control"]
        assert gzip.decompress(file.packed) == file.data
    old = client.get("/static/0123/studio.css", headers={"accept-encoding": "identity"})
    assert old.headers["cache-control"] == "no-cache"
    assert "content-encoding" not in old.headers
    assert client.get(f"/static/{static_digest()}/nothing.js").status_code == 404


@pytest.mark.parametrize("view", PAGES)
def test_the_script_of_a_page_is_under_60_kb_and_named_in_it(client: TestClient, view: str) -> None:
    page = client.get(f"/{view}").text
    scripts = {"theme.js", "frame.js", f"{view}.js", *imported(f"{view}.js"), *imported("frame.js")}
    assert sum(len(files()[name].data) for name in scripts) < 60_000
    named = set(re.findall(r'/static/\w+/([\w.]+\.js)"', page))
    assert named >= {f"{view}.js", *imported(f"{view}.js")}


def test_long_answers_are_packed(client: TestClient) -> None:
    found = client.get("/api/openapi.json")
    assert found.headers["content-encoding"] == "gzip"


def test_a_style_sheet_is_sent_without_what_is_for_readers_of_the_source_and_says_the_same() -> None:
    source = (Path(frame.__file__).parent / "static" / "studio.css").read_text()
    sent = files()["studio.css"].data.decode()
    assert "/*" in source
    assert "/*" not in sent
    plain = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    assert re.sub(r"\s", "", sent) == re.sub(r"\s", "", plain)
    for kept in ("margin:0 auto", 'content:" ✓"', "not(.view-label) .sound", "calc(100% - 1rem)"):
        assert kept in sent
