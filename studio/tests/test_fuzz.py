"""Damaged files of every reader are read or refused in words; `benchmarks.fuzz` damages thousands."""

from __future__ import annotations

import gzip
import io
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.fuzz import READERS, outcome
from fairask.documents import most_unpacked
from fairask.errors import UserError
from fairask.tables import read_table

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    victim = READERS[name][0](whole).relative_to(whole)
    assert outcome(name, victim, -1, 0, tmp_path) == "read", "the file that was not damaged"
    said = [outcome(name, victim, number, 1, tmp_path) for number in range(6)]
    assert {*said} <= {"read", "refused"}, said


def packed(suffix: str) -> Callable[[Path], Path]:
    """A file of a few kilobytes that holds 300 MB of blanks."""

    def write(folder: Path) -> Path:
        content, file = b"a,b\n1,2\n" + b" " * (3 * 10**8), folder / f"t.csv.{suffix}"
        if suffix == "gz":
            file.write_bytes(gzip.compress(content, 1, mtime=0))
        else:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr("t.csv", content)
        return file

    return write


def workbook(folder: Path) -> Path:
    """A workbook whose sheet says that it is as large as can be, with cells in its last column."""
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), folder / "t.xlsx"
    book.active.append(["a", "b"])
    buffer = io.BytesIO()
    book.save(buffer)
    rows = "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 6000))
    head = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    sheet = f'{head}<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData></worksheet>'
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else old.read(name))
    return file


def long_texts(folder: Path) -> Path:
    """A Parquet file of one text of a megabyte, in 100,000 rows."""
    coded = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * 10**6]))
    plain = pa.schema([("a", pa.string()), ("sex", pa.string())])
    writer = pq.ParquetWriter(folder / "t.parquet", pa.schema([("a", coded.type), ("sex", pa.string())]),
                              store_schema=False)  # fmt: skip
    with writer:
        writer.write_table(pa.table({"a": coded, "sex": ["f", "m"] * 50_000}))
    assert pq.read_schema(folder / "t.parquet").equals(plain)
    return folder / "t.parquet"


def endless(folder: Path) -> Path:
    """A database with a view that never ends."""
    with sqlite3.connect(folder / "t.db") as database:
        count = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, 'f' AS sex FROM n"
        database.execute(f"CREATE VIEW t AS {count}")
    database.close()
    return folder / "t.db"


def nested(folder: Path) -> Path:
    (folder / "t.json").write_text("[" * 10**6)
    return folder / "t.json"


BOMBS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "gz": (packed("gz"), "holds more than"),
    "zip": (packed("zip"), "holds more than"),
    "workbook": (workbook, "cells; 67,108,864 at most"),
    "Parquet of long texts": (long_texts, "the texts of column 'a' take 100,000,000,000 bytes"),
    "nested JSON": (nested, "go too deep"),
    "wide CSV": (
        lambda folder: _written(folder, ",".join(f"c{i}" for i in range(200_000)) + "\n"),
        "columns",
    ),
}


def _written(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_fill_memory(name: str, tmp_path: Path) -> None:
    write, words = BOMBS[name]
    with pytest.raises(UserError, match=words):
        read_table(write(tmp_path))


@pytest.mark.slow
def test_a_view_without_end_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("fairask.tables.formats._MOST_CELLS", 1_000_000)
    with pytest.raises(UserError, match="1,000,000 at most"):
        read_table(endless(tmp_path))


def test_a_cell_of_blanks_takes_no_time(tmp_path: Path) -> None:
    """Each pattern of numbers looks at a blank once: 100,000 of them would take hours otherwise."""
    hostile = ["- " + " " * 100_000 + "x", "$" + " " * 100_000 + "-", "1,000", "2,000"]
    assert read_table({"a": hostile, "b": [1, 2, 3, 4]}).num_rows == 4


def test_what_a_packed_file_may_hold_grows_with_it() -> None:
    assert most_unpacked(1 << 10) == 1 << 26
    assert most_unpacked(1 << 20) == 200 << 20
    assert most_unpacked(1 << 30) == 1 << 30
