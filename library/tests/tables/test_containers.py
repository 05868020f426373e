"""The same cells mean the same in every container: text, Parquet, workbooks, JSON, databases and frames."""

from __future__ import annotations

import datetime
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask import FairActiveLearner
from fairask.errors import TableError
from fairask.tables import Encoder, fit_encoder, group_names, prepare, read_table

N = 60
DAYS = [datetime.date(2023, 1, 1) + datetime.timedelta(days=11 * i) for i in range(N)]
CELLS: dict[str, list[Any]] = {
    "money": [f"${1000 + 6 * i:,}.00" for i in range(N)],
    "usd": [f"USD {10_000 + 12 * i * i:,}" for i in range(N)],
    "rate": [f"{(i * 7 % 90) / 10}%" for i in range(N)],
    "us": [day.strftime("%m/%d/%Y") for day in DAYS],
    "iso": [day.isoformat() for day in DAYS],
    "german": [day.strftime("%d.%m.%Y") for day in DAYS],
    "vector": [f"[{i % 5}, {i % 7}.5]" for i in range(N)],
    "town": [("Bern", "Rome", None)[i % 3] for i in range(N)],
}
FEATURES = [
    *("money", "usd", "rate", "us", "iso", "german"),
    *("vector 1", "vector 2", "town=Rome", "town is missing"),
]


Cells = dict[str, list[Any]]


def csv(folder: Path, cells: Cells, separator: str = ",") -> Path:
    pl.DataFrame(cells).write_csv(folder / "t.csv", separator=separator)
    return folder / "t.csv"


def parquet(folder: Path, cells: Cells) -> Path:
    pq.write_table(pa.table(cells), folder / "t.parquet", row_group_size=13)
    return folder / "t.parquet"


def workbook(folder: Path, cells: Cells) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (list(cells), *zip(*cells.values(), strict=True)):
        book.active.append(list(row))
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def lines(folder: Path, cells: Cells) -> Path:
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, pa.table(cells).to_pylist())), "utf-8")
    return folder / "t.jsonl"


def database(folder: Path, cells: Cells) -> Path:
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(cells)})")
        marks = ", ".join("?" * len(cells))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", zip(*cells.values(), strict=True))
    connection.close()
    return folder / "t.db"


CONTAINERS: dict[str, Callable[[Path, Cells], Any]] = {
    "csv": csv,
    "semicolons": lambda folder, cells: csv(folder, cells, ";"),
    "tabs": lambda folder, cells: csv(folder, cells, "\t"),
    "parquet": parquet,
    "workbook": workbook,
    "json": lines,
    "sqlite": database,
    "mapping": lambda folder, cells: cells,
    "pyarrow": lambda folder, cells: pa.table(cells),
    "pandas": lambda folder, cells: pd.DataFrame(cells),
    "pandas of pyarrow": lambda folder, cells: pd.DataFrame(cells).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda folder, cells: pl.DataFrame(cells),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    table = read_table(csv(tmp_path_factory.mktemp("csv"), CELLS))
    encoder = fit_encoder(table)
    assert encoder.feature_names_out == FEATURES
    return encoder.transform(table)


@pytest.mark.parametrize("container", CONTAINERS)
def test_cells_give_the_same_features_in_every_container(
    container: str, expected: Any, tmp_path: Path
) -> None:
    table = read_table(CONTAINERS[container](tmp_path, CELLS))
    encoder = fit_encoder(table)
    assert encoder.feature_names_out == FEATURES
    np.testing.assert_array_equal(encoder.transform(table), expected)


@pytest.mark.parametrize("container", CONTAINERS)
def test_gaps_and_many_plain_digits_are_read_alike_in_every_container(container: str, tmp_path: Path) -> None:
    cells: Cells = {
        "score": ["?" if i % 7 == 0 else str(i % 5) for i in range(N)],
        "income": [str(900 + 41 * i * i) for i in range(N)],
        "job": [("clerk", "n/a", " ?", "nurse")[i % 4] for i in range(N)],
        "opened": ["NA" if i % 9 == 0 else day.isoformat() for i, day in enumerate(DAYS)],
    }
    table = read_table(CONTAINERS[container](tmp_path, cells))
    encoder = fit_encoder(table)
    assert encoder.feature_names_out == [
        *("score", "score is missing", "income", "job=nurse", "job is missing", "opened", "opened is missing")
    ]
    reference = read_table(csv(tmp_path, cells))
    np.testing.assert_array_equal(encoder.transform(table), fit_encoder(reference).transform(reference))
    frame = pd.DataFrame(cells)
    np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(reference))
    np.testing.assert_array_equal(fit_encoder(frame).transform(frame), encoder.transform(reference))


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_decimal_comma_in_one_column_says_how_the_others_are_written(
    container: str, tmp_path: Path
) -> None:
    numbers = [(37 * i % 90 + 5) / 10 for i in range(N)]
    paid = [950, *(1000 + 6 * i for i in range(1, N))]
    cells: Cells = {
        "rate": [f"{value:.1f} %".replace(".", ",") for value in numbers],
        "paid": [f"{value:,}".replace(",", ".") for value in paid],
    }
    table = read_table(CONTAINERS[container](tmp_path, cells))
    assert table.to_pydict() == {"rate": numbers, "paid": paid}


@pytest.mark.parametrize("container", CONTAINERS)
def test_numbers_in_brackets_are_negative(container: str, tmp_path: Path) -> None:
    balance = [f"(${i:,})" if i % 9 == 0 else f"$ {i:,}" for i in range(1, N + 1)]
    table = read_table(CONTAINERS[container](tmp_path, {"balance": balance, "town": CELLS["town"]}))
    assert table.column("balance").to_pylist() == [-i if i % 9 == 0 else i for i in range(1, N + 1)]


@pytest.mark.parametrize("container", ["pyarrow", "pandas", "polars"])
def test_a_frame_that_nobody_has_read_before_gives_them_too(container: str, expected: Any) -> None:
    frame = CONTAINERS[container](Path(), CELLS)
    learner = FairActiveLearner(frame, ["f", "m"] * (N // 2))
    np.testing.assert_allclose(learner.pool.X, expected, atol=2e-6)
    assert fit_encoder(frame).feature_names_out == FEATURES
    people = CONTAINERS[container](
        Path(), {**CELLS, "sex": ["f", "m"] * (N // 2), "y": [0, 0, 1, 1] * (N // 4)}
    )
    found = prepare(people, label="y", protected="sex", use_protected=False)
    np.testing.assert_allclose(found.X, expected)
    assert found.groups.tolist() == group_names(people, "sex").tolist() == ["f", "m"] * (N // 2)


def test_an_encoder_reads_one_row_as_it_read_the_table(expected: Any) -> None:
    encoder = fit_encoder(pa.table(CELLS))
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder == pickle.loads(pickle.dumps(encoder))
    for row in (0, 3, N - 1):  # the fourth of them is 2/3 or 3/2, which one row cannot tell
        one = pd.DataFrame(CELLS).iloc[[row]]
        np.testing.assert_array_equal(again.transform(one)[0], expected[row])


def test_a_cell_that_cannot_be_read_is_refused_by_name_unless_the_column_has_gaps() -> None:
    encoder = fit_encoder(pa.table(CELLS))
    one = pd.DataFrame(CELLS).iloc[[0]]
    with pytest.raises(TableError, match="column 'money' holds 'a lot', which is not a number"):
        encoder.transform(one.assign(money="a lot"))
    assert encoder.transform(one.assign(money="-"))[0, 0] == 0.0
    gaps = fit_encoder(pa.table({"pay": ["$1", "$2", "unknown", "$5"]}))
    assert gaps.transform({"pay": ["a lot"]}).tolist() == [[0.0, 1.0]]


def test_codes_that_are_texts_stay_categories() -> None:
    codes = pa.table({"zip": ["02134", "10001"] * 30, "digits": ["1", "2", "3"] * 20})
    assert fit_encoder(codes).feature_names_out == ["zip=10001", "digits=2", "digits=3"]
