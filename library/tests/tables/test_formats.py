"""Every kind of file that people have gives the same table, and what cannot be read is named."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask.errors import TableError
from fairask.tables import TableFormat, fit_encoder, read_table
from fairask.tables.formats import read_noted
from fairask.tables.labels import match_labels, prepare
from fairask_studio import Study

ROWS = [{"sex": "f", "pay": 1234.5, "town": "Köln"}, {"sex": "m", "pay": -7.25, "town": "Bern"}]
CSV = "sex,pay,town\nf,1234.5,Köln\nm,-7.25,Bern\n"
GERMAN = "sex;pay;town\nf;1.234,5;Köln\nm;-7,25;Bern\n"


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def workbook(path: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(list(ROWS[0]))
    for row in ROWS:
        book.active.append(list(row.values()))
    book.create_sheet("empty")
    book.save(path)
    return path


def sqlite(path: Path) -> Path:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (sex TEXT, pay REAL, town TEXT)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", [tuple(r.values()) for r in ROWS])
    database.close()
    return path


def duck(path: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE people (sex TEXT, pay DOUBLE, town TEXT)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", [tuple(r.values()) for r in ROWS])
    return path


def hugging_face(path: Path) -> Path:
    """What ``save_to_disk`` writes."""
    (path / "train").mkdir(parents=True)
    written(path / "dataset_dict.json", json.dumps({"splits": ["train"]}))
    files = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_indices_data_files": None}
    written(path / "train" / "state.json", json.dumps(files))
    table = pa.Table.from_pylist(ROWS)
    file = str(path / "train" / "data-00000-of-00001.arrow")
    with pa.OSFile(file, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return path


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/t.csv", CSV)
        archive.writestr("read me.pdf", b"%PDF")
    return path


def parquet(path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "comma.csv": lambda p: written(p, CSV),
    "bar.csv": lambda p: written(p, CSV.replace(",", "|")),
    "tab.tsv": lambda p: written(p, CSV.replace(",", "\t")),
    "german.csv": lambda p: written(p, GERMAN),
    "mark.csv": lambda p: written(p, CSV.encode("utf-8-sig")),
    "latin.csv": lambda p: written(p, CSV.encode("latin-1")),
    "utf16.csv": lambda p: written(p, CSV.encode("utf-16")),
    "utf16-be.csv": lambda p: written(p, CSV.encode("utf-16-be")),
    "packed.csv.gz": lambda p: written(p, gzip.compress(CSV.encode())),
    "packed.parquet.gz": lambda p: written(p, gzip.compress(parquet(p.with_suffix("")).read_bytes())),
    "packed.zip": zipped,
    "t.parquet": parquet,
    "t.xlsx": workbook,
    "t.jsonl": lambda p: written(p, "\n".join(json.dumps(row) for row in ROWS)),
    "t.json": lambda p: written(p, json.dumps(ROWS)),
    "t.sqlite": sqlite,
    "t.db": sqlite,
    "t.duckdb": duck,
    "hugging face": hugging_face,
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_table(name: str, tmp_path: Path) -> None:
    assert read_table(FILES[name](tmp_path / name)).to_pylist() == ROWS


def test_what_was_recognised_is_said(tmp_path: Path) -> None:
    assert read_noted(FILES["comma.csv"](tmp_path / "a.csv"))[1] == []
    assert "decimal comma were recognised: 'pay'" in read_noted(written(tmp_path / "b.csv", GERMAN))[1][0]
    assert "Windows-1252" in read_noted(FILES["latin.csv"](tmp_path / "c.csv"))[1][0]


def test_thousands_and_decimals_that_are_said(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a;b\n1.234;x\n2.000;y\n")
    assert read_table(path)["a"].to_pylist() == [1.234, 2.0]
    assert read_table(path, TableFormat(thousands="."))["a"].to_pylist() == [1234, 2000]
    quoted = written(tmp_path / "u.csv", 'a,b\n"1,234.5",x\n"2",y\n')
    assert read_table(quoted)["a"].to_pylist() == [1234.5, 2.0]
    swiss = written(tmp_path / "v.csv", "a,b\n1'234,x\n5,y\n")
    assert read_table(swiss, TableFormat(thousands="'"))["a"].to_pylist() == [1234, 5]
    with pytest.raises(TableError, match="--decimal and --thousands are both"):
        TableFormat(decimal=",", thousands=",")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xlsx", b"a,b\n1,2\n", "though its name says .xlsx"),
        ("t.csv", gzip.compress(b"a,b\n", mtime=0), "is a gzip archive, though its name says text"),
        ("t.csv.gz", b"\x1f\x8bbroken", "is damaged"),
        ("t.zip", b"PK\x03\x04broken", "t.zip is damaged"),
        ("t.db", b"hello, this is text", "is no database, though its name says so"),
        ("t.jsonl", b'{"a": 1, "b": 2}\n{"a": \n', "t.jsonl is not JSON: line 2, column 7"),
        ("t.csv", b"a,b\n1,\0\n", "line 2 has a zero byte"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        read_table(written(tmp_path / name, content))
    assert words in str(caught.value)
    assert caught.value.remedy


def test_one_of_several_tables_is_chosen_by_name(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "t.db")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE cities (a, b)")
    database.close()
    with pytest.raises(TableError, match="has 2 tables: 'cities', 'people'"):
        read_table(path)
    assert read_table(path, TableFormat(sheet="people")).num_rows == 2
    with pytest.raises(TableError, match=r"has no table 'poeple'.*did you mean|Did you mean 'people'"):
        read_table(path, TableFormat(sheet="poeple"))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "lazy"])
def test_frames_of_every_library_are_encoded(library: str) -> None:
    table = pa.table(
        {"town": ["a", "b", "c"] * 10, "pay": [1.0, 2.0, 4.0] * 10, "ok": [True, False, None] * 10}
    )
    frames: dict[str, Any] = {
        "pandas": table.to_pandas(),
        "polars": polars.from_arrow(table),
        "pyarrow": table,
        "lazy": polars.from_arrow(table).lazy(),  # type: ignore[union-attr]
    }
    found = read_table(frames[library])
    encoder = fit_encoder(found)
    np.testing.assert_allclose(encoder.transform(frames[library]), fit_encoder(table).transform(table))


def test_a_frame_with_another_index_or_order_of_columns_is_put_right() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}, index=[7, 8, 9])
    encoder = fit_encoder(read_table(frame))
    assert read_table(frame).column_names == ["a", "b"]
    np.testing.assert_allclose(encoder.transform(frame[["b", "a"]]), encoder.transform(frame))
    with pytest.raises(TableError, match="the data frame has no column 'b'"):
        encoder.transform(frame[["a"]])


VECTORS = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)


def with_vectors() -> pa.Table:
    return pa.table(
        {"g": ["a", "b"] * 30, "v": [None, *VECTORS[1:].tolist()], "y": [0, 0, 1, 1] * 15},
        schema=pa.schema([("g", pa.string()), ("v", pa.list_(pa.float32())), ("y", pa.int64())]),
    )


def test_lists_of_numbers_are_features() -> None:
    found = prepare(with_vectors(), label="y", protected="g", use_protected=False)
    assert found.feature_names == ["v 1", "v 2", "v 3", "v 4", "v 5", "v is missing"]
    assert found.X[0].tolist() == [0, 0, 0, 0, 0, 1]
    spread = VECTORS[1:].std(axis=0).max()
    np.testing.assert_allclose(found.X[1:, :5], (VECTORS[1:] - VECTORS[1:].mean(axis=0)) / spread, atol=1e-4)
    odd = pa.table({"x": [1.0, 2.0], "v": [[1.0], [1.0, 2.0]]})
    assert "different lengths" in fit_encoder(odd).left_out["v"]


def test_vectors_beside_the_table(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "g,x\n" + "".join(f"{'ab'[i % 2]},{i % 7}\n" for i in range(60)))
    np.save(tmp_path / "emb.npy", VECTORS)
    table = read_table(path, TableFormat(vectors=str(tmp_path / "emb.npy")))
    assert fit_encoder(table, ["x", "emb"]).feature_names_out[1:] == [f"emb {i}" for i in range(1, 6)]
    np.save(tmp_path / "short.npy", VECTORS[:7])
    with pytest.raises(TableError, match="has 7 rows, the table has 60"):
        read_table(path, TableFormat(vectors=str(tmp_path / "short.npy")))


def test_a_study_learns_from_vectors_and_does_not_show_them(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(with_vectors().append_column("x", pa.array(np.arange(60) % 7)), path, row_group_size=25)
    with Study.create(tmp_path / "s", path, protected="g", hide=["y"], budget=20, batch_size=10) as study:
        rows = study.ask()
        study.tell(rows, ["0", "1"] * 5)
        study.refit(force=True)
    with Study.open(tmp_path / "s") as study:
        assert {c.name: c.role for c in study.config.columns}["v"] == "hidden"
        assert len(study.ask()) == 10


def test_all_wrong_labels_are_named_and_case_is_forgiven() -> None:
    assert match_labels([" GOOD", "bad"], ["bad", "good"], [0, 1])[0] == ["good", "bad"]
    with pytest.raises(TableError, match="3 labels are not classes: row 0 'x', row 2 'y', row 3 'z'"):
        match_labels(["x", "bad", "y", "z"], ["bad", "good"], [0, 1, 2, 3])
    with pytest.raises(TableError, match="1 label is not a class"):
        match_labels(["YES"], ["yes", "Yes"], [0])


def test_a_sheet_with_labels_in_another_case_is_told_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fairask.cli import main

    monkeypatch.chdir(tmp_path)
    pool = {"sex": ["f", "m"] * 10, "age": [float(20 + i % 13) for i in range(20)]}
    settings: dict[str, Any] = {"classes": ("bad", "good"), "budget": 8, "batch_size": 4, "random_state": 0}
    with Study.create("s", pool, protected="sex", **settings) as study:
        rows = study.ask()
    sheet = written(tmp_path / "l.csv", "row,label\n" + "".join(f"{row}, Good \n" for row in rows))
    for words, code in ((sheet, 0), (written(tmp_path / "m.csv", "row,label\n0,x\n1,y\n"), 2)):
        with pytest.raises(SystemExit) as done:
            main(["tell", "s", str(words), "--unchecked", "--as", "owner"])
        assert done.value.code == code
    said = capsys.readouterr()
    assert "4 labels were read without regard to case and blanks: 'Good' as 'good'" in said.out
    assert "2 labels are not classes: row 0 'x', row 1 'y'" in said.err
