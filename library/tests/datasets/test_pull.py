"""A download ends in the published table or in a clear message, and the cache is intact either way."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairask.datasets import load, pull
from fairask.datasets.catalog import CATALOG, DatasetNotFound, DownloadError
from fairask.datasets.drug import COLUMNS, SCORES, SUBSTANCES

from .serving import FileServer

pytestmark = pytest.mark.slow

FILE = "drug/drug_consumption.data"


def made_up_drug(rows: int, seed: int = 0) -> bytes:
    """A table in the form of UCI's, without a header; big enough that half of it is several packets."""
    rng = random.Random(seed)
    lines = []
    for i in range(rows):
        scores = [f"{rng.gauss(0, 1):.5f}" for _ in SCORES]
        scores[SCORES.index("Gender")] = rng.choice(["0.48246", "-0.48246"])
        lines.append(",".join([str(i), *scores, *(f"CL{rng.randrange(7)}" for _ in SUBSTANCES)]))
    return ("\n".join(lines) + "\n").encode()


CONTENT = made_up_drug(1_000)
HALF = len(CONTENT) // 2


@pytest.fixture(autouse=True)
def small_drug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the made-up table be the published one."""
    spec = CATALOG["drug"]
    table = spec.parse(spec.read([CONTENT], "made up"))
    counts = {
        group: (int((table.groups == group).sum()), int(table.y[table.groups == group].sum()))
        for group in spec.counts
    }
    monkeypatch.setitem(CATALOG, "drug", replace(spec, counts=counts, sha256=table.sha256))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with FileServer({f"/{FILE}": CONTENT}) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("FAIRASK_DATA_URL", server.url)
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def quick(**options):
    return pull("drug", **options)


def test_a_download_arrives_whole_and_loads(server, cache):
    assert quick() == cache / FILE
    assert files_in(cache) == {FILE: CONTENT}
    assert load("drug").X.shape == (1_000, 30)


def test_what_is_there_is_not_asked_for_again(server):
    first = quick()
    assert quick() == first
    assert len(server.requests) == 1
    assert quick(force=True) == first
    assert len(server.requests) == 2


def header(text: bytes) -> bytes:
    return ",".join(COLUMNS).encode() + b"\n" + text


def test_either_form_of_the_file_is_accepted(server, cache):
    server.files[f"/{FILE}"] = header(CONTENT)
    quick()
    assert files_in(cache) == {FILE: header(CONTENT)}


SHORT = CONTENT[: CONTENT.index(b"\n", HALF) + 1]
CHANGED = CONTENT.replace(b",0.", b",1.", 1)
BROKEN = {
    "truncated": (None, "truncated", r"truncated|connection broke"),
    "stalled": (None, "stalled", r"stalled and sent nothing for 0\.5 s"),
    "silent": (None, "silent", r"stalled and sent nothing for 0\.5 s"),
    "short": (
        SHORT,
        "good",
        r"rows instead of 1,000; the file is truncated",
    ),
    "cut in a line": (CONTENT[:HALF], "good", r"fields instead of 32; the file is truncated"),
    "changed": (CHANGED, "good", r"values were changed \(sha256 of the parsed table"),
    "other table": (made_up_drug(1_000, seed=1), "good", r"group 'Female' has"),
    "web page": (b"<html>please log in</html>", "good", r"a web page, not a table"),
    "empty": (b"", "good", r"the file is empty"),
    "not text": (b"\xff\xfe\x00", "good", r"not text in utf-8"),
}


@pytest.mark.parametrize("held", [True, False], ids=["cache full", "cache empty"])
@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_download_says_why_and_leaves_the_cache_as_it_was(case, held, server, cache, monkeypatch):
    if held:
        quick()
    before = files_in(cache)
    content, server.mode, message = BROKEN[case]
    if case in ("stalled", "silent"):  # on a busy machine, others may take that long to answer
        monkeypatch.setattr("fairask.datasets.catalog._TIMEOUT", 0.5)
    if content is not None:
        server.files[f"/{FILE}"] = content
    with pytest.raises(DownloadError, match=message) as caught:
        quick(force=True)
    assert f"{server.url}/{FILE}" in str(caught.value)
    assert files_in(cache) == before
    if held:
        assert len(load("drug").y) == 1_000
    else:
        with pytest.raises(DatasetNotFound):
            load("drug")


def test_a_missing_file_is_told_from_a_missing_server(server, cache, monkeypatch):
    del server.files[f"/{FILE}"]
    with pytest.raises(DownloadError, match=r"the server answered 404 \(Not Found\)"):
        quick()
    with FileServer({}) as gone:
        address = gone.url
    monkeypatch.setenv("FAIRASK_DATA_URL", address)
    with pytest.raises(DownloadError, match="cannot be reached"):
        quick()
    assert files_in(cache) == {}


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    quick()
    (cache / FILE).write_bytes(CHANGED)
    quick()
    assert files_in(cache) == {FILE: CONTENT}


def test_a_damaged_file_in_the_users_folder_is_theirs_to_mend(server, cache, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    (folder / FILE).parent.mkdir(parents=True)
    (folder / FILE).write_bytes(CHANGED)
    monkeypatch.setenv("FAIRASK_DATA", str(folder))
    with pytest.raises(DownloadError, match="Repair or remove this file"):
        quick()
    assert (files_in(cache), files_in(folder)) == ({}, {FILE: CHANGED})


def test_what_comes_with_the_package_is_not_downloaded(server):
    assert [pull(name) for name in ("adult", "german", "synthetic")] == [None] * 3
    assert server.requests == []


def test_bank_has_no_official_download_and_says_what_to_do():
    with pytest.raises(DatasetNotFound, match=r"Kaggle asks for a login.*bank\.csv.*save it as"):
        pull("bank")


def test_an_unknown_name_is_refused(server):
    with pytest.raises(ValueError, match="did you mean 'crime'"):
        pull("crimes")


def test_a_mirror_that_is_no_web_address_is_named(monkeypatch):
    monkeypatch.setenv("FAIRASK_DATA_URL", "ftp://host")
    with pytest.raises(ValueError, match="FAIRASK_DATA_URL must start with http"):
        pull("drug")


def test_a_cache_that_cannot_be_written_is_named(server, cache):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match=r"cannot write to .*FAIRASK_CACHE can name another"):
        quick()


def test_without_pooch_the_extra_is_named(monkeypatch, server):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'fairask\[bench\]'"):
        quick()
    monkeypatch.delenv("FAIRASK_CACHE")
    with pytest.raises(DatasetNotFound, match=r"first: pip install 'fairask\[bench\]'"):
        load("drug")
    assert len(load("german").y) == 1_000


@pytest.mark.parametrize("name", ["bank", "compas", "crime"])
def test_the_published_tables_come_over_http(name, server, tables, cache, monkeypatch):
    file = CATALOG[name].files[0]
    expected = load(name)
    monkeypatch.delenv("FAIRASK_DATA")
    server.files[f"/{file}"] = (tables / file).read_bytes()
    assert pull(name) == cache / file
    np.testing.assert_array_equal(load(name).X, expected.X)
    server.files[f"/{file}"] = (tables / file).read_bytes()[:-1_000]
    with pytest.raises(DownloadError, match="not the published"):
        pull(name, force=True)
    np.testing.assert_array_equal(load(name).X, expected.X)
