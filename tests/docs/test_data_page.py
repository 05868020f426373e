"""Every line of code of the page on data runs."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import cross_validate

from fairask import CalibratedFairOracle, EmpiricalFairOracle, FairActiveLearner
from fairask.metrics import gap_scorer
from fairask.report import draw_learning_curves
from fairask.tables import TableFormat, TextColumns, column_gaps, fit_encoder, read_table
from fairask.tables.groups import group_names
from fairask.tables.labels import prepare
from library.tests.tables.comments import comments

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
N = 120


def lines() -> list[str]:
    """The last cell of each row of the tables that is code."""
    found = re.findall(r"^\|.*\| `([^`]+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(found) >= 25
    return found


def people() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(18, 80, N),
            "town": np.array(["Bern", "Rome", "Oslo"])[rng.integers(0, 3, N)],
            "sex": np.array(["f", "m"])[np.arange(N) % 2],
            "member": np.arange(N) % 4 < 2,
            "comment": comments(N).column("comment"),
            "embedding": rng.normal(size=(N, 4)).tolist(),
            "grade": np.array(["failed", "passed", "distinction"])[np.arange(N) // 4 % 3],
            "decision": np.array(["rejected", "approved"])[np.arange(N) // 2 % 2],
            "paid": np.arange(N) // 2 % 2,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page names."""
    import duckdb
    import openpyxl

    place = tmp_path_factory.mktemp("page")
    table = people()
    plain = table.select(["age", "sex", "town", "paid"])
    rows = [tuple(row.values()) for row in plain.to_pylist()]
    text = "age,sex,town,paid\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    (place / "people.csv").write_text(text, "utf-8")
    (place / "people.csv.gz").write_bytes(gzip.compress(text.encode()))
    (place / "latin.csv").write_text("age,town\n30,Köln\n40,Bern\n", "latin-1")
    (place / "signs.csv").write_text("share,pay,on\n12 %,$5,31.12.2024\n7 %,$6,1.2.2024\n", "utf-8")
    (place / "german.csv").write_text("pay;town\n1.234;Köln\n2.500;Bern\n", "utf-8")
    (place / "dated.csv").write_text("since;pay\n31.12.2023;1,5\n01.02.2024;2\n", "utf-8")
    pq.write_table(table, place / "people.parquet")
    (place / "people.jsonl").write_text("\n".join(map(json.dumps, plain.to_pylist())), "utf-8")
    book = openpyxl.Workbook()
    for row in [tuple(plain.column_names), *rows]:
        book.active.append(row)
    book.save(place / "people.xlsx")
    with sqlite3.connect(place / "people.sqlite") as database:
        database.execute("CREATE TABLE people (age INTEGER, sex TEXT, town TEXT, paid INTEGER)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    database.close()
    with duckdb.connect(str(place / "people.duckdb")) as duck:
        duck.execute("CREATE TABLE people (age INTEGER, sex TEXT)")
        duck.execute("INSERT INTO people VALUES (30, 'f'), (40, 'm')")
    (place / "people_dataset").mkdir()
    state = {"_data_files": [{"filename": "data.arrow"}], "_indices_data_files": None}
    (place / "people_dataset" / "state.json").write_text(json.dumps(state))
    with (
        pa.OSFile(str(place / "people_dataset" / "data.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, plain.schema) as stream,
    ):
        stream.write_table(plain)
    np.save(place / "vectors.npy", np.random.default_rng(1).normal(size=(N, 4)))
    return place


@pytest.fixture(scope="module")
def taught() -> FairActiveLearner:
    """A learner with a model."""
    learner = FairActiveLearner(people(), "sex", estimator="linear", batch_size=60, random_state=0)
    query = learner.ask()
    learner.tell(query.indices, np.asarray(people()["paid"])[query.indices])
    return learner


@pytest.mark.filterwarnings("ignore::fairask.errors.FairaskWarning")
@pytest.mark.parametrize("line", lines())
def test_a_line_of_the_page_runs(
    line: str, folder: Path, taught: FairActiveLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if line.startswith("fairask "):
        from fairask.cli import main

        with pytest.raises(SystemExit) as done:
            main(shlex.split(line)[1:])
        assert done.value.code == 0
        return
    names: dict[str, Any] = {
        "FairActiveLearner": FairActiveLearner, "TableFormat": TableFormat, "TextColumns": TextColumns,
        "fit_encoder": fit_encoder, "group_names": group_names, "prepare": prepare, "read_table": read_table,
        "polars": polars, "people": people(), "CalibratedFairOracle": CalibratedFairOracle, "taught": taught,
        "cross_validate": cross_validate, "EmpiricalFairOracle": EmpiricalFairOracle, "np": np,
        "gap_scorer": gap_scorer, "draw_learning_curves": draw_learning_curves,
        "column_gaps": column_gaps,
    }  # fmt: skip
    found = eval(line, names)
    assert found is not None
    if isinstance(found, pa.Table):
        assert found.num_rows >= 2
