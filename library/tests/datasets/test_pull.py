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

from fairask.datasets import DatasetNotFound, DownloadError, load, names, pull, pull_all
from fairask.datasets._catalog import CATALOG
from fairask.datasets._download import CHUNK
from fairask.datasets._drug import COLUMNS, SCORES, SUBSTANCES
from fairask.datasets._spec import GroupCount, fingerprint

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
    table = spec.parse([CONTENT.decode()], "made up")
    counts = {
        group: GroupCount(int((table.groups == group).sum()), int(table.y[table.groups == group].sum()))
        for group in spec.counts
    }
    monkeypatch.setitem(CATALOG, "drug", replace(spec, counts=counts, table_sha256=fingerprint(table)))


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
    return pull("drug", progress=False, timeout=0.5, **options)


def test_a_download_arrives_whole_and_loads(server, cache):
    result = quick()
    assert (result.action, result.path) == ("downloaded", cache / FILE)
    assert files_in(cache) == {FILE: CONTENT}
    assert load("drug").X.shape == (1_000, 30)


def test_what_is_there_is_not_asked_for_again(server):
    quick()
    assert quick().action == "present"
    assert len(server.requests) == 1
    assert quick(force=True).action == "downloaded"
    assert len(server.requests) == 2


def header(text: bytes) -> bytes:
    return ",".join(COLUMNS).encode() + b"\n" + text


def test_either_form_of_the_file_is_accepted(server, cache):
    server.files[f"/{FILE}"] = header(CONTENT)
    assert quick().action == "downloaded"
    assert files_in(cache) == {FILE: header(CONTENT)}


SHORT = CONTENT[: CONTENT.index(b"\n", HALF) + 1]
CHANGED = CONTENT.replace(b",0.", b",1.", 1)
BROKEN = {
    "truncated": (None, "truncated", r"truncated.*bytes are kept: run the same again to resume"),
    "stalled": (None, "stalled", r"stalled and sent nothing for 0\.5 s.*bytes are kept"),
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
def test_a_bad_download_says_why_and_leaves_the_cache_as_it_was(case, held, server, cache):
    if held:
        quick()
    before = files_in(cache)
    content, server.mode, message = BROKEN[case]
    if content is not None:
        server.files[f"/{FILE}"] = content
    with pytest.raises(DownloadError, match=message) as caught:
        quick(force=True)
    assert f"{server.url}/{FILE}" in str(caught.value)
    after = files_in(cache)
    unfinished = {name: after.pop(name) for name in list(after) if ".part" in name}
    assert after == before
    # Only a download that broke off leaves something to resume.
    assert bool(unfinished) == (case in ("truncated", "stalled"))
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
    with pytest.raises(DownloadError, match="cannot be reached"):
        quick(base_url=address)
    assert files_in(cache) == {}


@pytest.mark.parametrize("mode", ["truncated", "stalled"])
def test_a_broken_download_is_resumed_where_it_broke(mode, server, cache):
    server.mode = mode
    with pytest.raises(DownloadError):
        quick()
    kept = (cache / f"{FILE}.part").read_bytes()
    assert CONTENT.startswith(kept)
    assert HALF - CHUNK < len(kept) <= HALF
    server.mode = "good"
    assert quick().action == "resumed"
    assert server.requests[-1]["Range"] == f"bytes={len(kept)}-"
    assert server.requests[-1]["If-Range"] == '"first"'
    assert files_in(cache) == {FILE: CONTENT}


def broken_off(server: FileServer, content: bytes) -> None:
    server.files[f"/{FILE}"], server.mode = content, "truncated"
    with pytest.raises(DownloadError):
        quick()
    server.files[f"/{FILE}"], server.mode = CONTENT, "good"


def test_a_file_that_changed_meanwhile_comes_whole(server, cache):
    broken_off(server, made_up_drug(1_000, seed=1))
    server.etag = '"second"'
    assert quick().action == "downloaded"
    assert files_in(cache) == {FILE: CONTENT}


def test_a_server_without_ranges_sends_all_again(server, cache):
    broken_off(server, CONTENT)
    server.mode = "no ranges"
    assert quick().action == "downloaded"
    assert files_in(cache) == {FILE: CONTENT}


def test_halves_of_two_versions_are_noticed_and_fetched_again(server, cache):
    server.etag = "W/weak"
    broken_off(server, made_up_drug(1_000, seed=1))
    server.mode = "no validator"
    asked = len(server.requests)
    assert quick().action == "downloaded"
    assert ["Range" in r for r in server.requests[asked:]] == [True, False]
    assert files_in(cache) == {FILE: CONTENT}


def test_a_part_longer_than_the_file_is_dropped(server, cache):
    broken_off(server, CONTENT)
    (cache / f"{FILE}.part").write_bytes(CONTENT * 2)
    assert quick().action == "downloaded"
    assert files_in(cache) == {FILE: CONTENT}


@pytest.mark.parametrize("note", [b"", b"[1]", b'{"url": "http://elsewhere/", "validator": "x"}'])
def test_a_part_of_unknown_origin_is_not_resumed(note, server, cache):
    broken_off(server, CONTENT)
    (cache / f"{FILE}.part.json").write_bytes(note)
    assert quick().action == "downloaded"
    assert "Range" not in server.requests[-1]


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    quick()
    (cache / FILE).write_bytes(CHANGED)
    assert quick().action == "downloaded"
    assert files_in(cache) == {FILE: CONTENT}


def test_a_damaged_file_in_the_users_folder_is_theirs_to_mend(server, cache, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    (folder / FILE).parent.mkdir(parents=True)
    (folder / FILE).write_bytes(CHANGED)
    monkeypatch.setenv("FAIRASK_DATA", str(folder))
    with pytest.raises(DownloadError, match="Repair or remove this file"):
        quick()
    assert (files_in(cache), files_in(folder)) == ({}, {FILE: CHANGED})


def test_another_release_can_be_asked_for(server, cache):
    server.files[f"/{FILE}"] = CHANGED
    assert quick(verify=False).action == "downloaded"
    assert files_in(cache) == {FILE: CHANGED}


def test_several_pulls_go_on_after_a_failure(server):
    results = {r.name: r for r in pull_all(progress=False, timeout=0.5)}
    assert list(results) == names()
    assert {n: r.action for n, r in results.items()} == {
        "adult": "embedded",
        "bank": "failed",
        "compas": "failed",
        "crime": "failed",
        "drug": "downloaded",
        "german": "embedded",
        "synthetic": "generated",
    }
    assert "404" in results["crime"].message


def test_bank_has_no_official_download_and_says_what_to_do(monkeypatch):
    with pytest.raises(DatasetNotFound, match=r"Kaggle asks for a login.*save it as"):
        pull("bank", progress=False)
    (result,) = pull_all(["bank"])
    assert result.action == "manual"
    assert "bank.csv" in result.message


def test_unknown_names_raise_before_anything_is_fetched(server):
    with pytest.raises(ValueError, match="did you mean 'crime'"):
        pull_all(["drug", "crimes"])
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "ftp://host"}, "base_url must start with http"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"timeout": float("nan")}, "timeout must be a positive number"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        pull("drug", **options)


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


class Bar:
    def __init__(self) -> None:
        self.total, self.done, self.closed = 0, 0, False

    def update(self, n: int) -> None:
        self.done += n

    def close(self) -> None:
        self.closed = True


def test_progress_is_reported_to_the_end(server):
    broken_off(server, CONTENT)
    bar = Bar()
    assert pull("drug", progress=bar).action == "resumed"
    assert (bar.total, bar.done, bar.closed) == (len(CONTENT), len(CONTENT), True)


def test_the_default_bar_is_drawn_on_standard_error(server, capsys):
    pull("drug")
    out, err = capsys.readouterr()
    assert out == ""
    assert "100%" in err


@pytest.mark.parametrize("name", ["bank", "compas", "crime"])
def test_the_published_tables_come_over_http(name, server, tables, cache, monkeypatch):
    file = CATALOG[name].files[0]
    expected = load(name)
    monkeypatch.delenv("FAIRASK_DATA")
    server.files[f"/{file}"] = (tables / file).read_bytes()
    assert pull(name, progress=False).action == "downloaded"
    np.testing.assert_array_equal(load(name).X, expected.X)
    server.files[f"/{file}"] = (tables / file).read_bytes()[:-1_000]
    with pytest.raises(DownloadError, match="not the published"):
        pull(name, progress=False, force=True)
    np.testing.assert_array_equal(load(name).X, expected.X)
