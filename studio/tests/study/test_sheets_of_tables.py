"""What `new` reads, `tell` reads: sheets go out as the table was written and come back in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask.tables import TableFormat, read_table
from fairask_studio import Study
from fairask_studio.files import check_told, read_labels, write_rows

pytestmark = pytest.mark.usefixtures("few_trees")
N = 40
CELLS: dict[str, list[Any]] = {
    "name": [f"Zoë {i} Müller" for i in range(N)],
    "pay": [1234.5 + i for i in range(N)],
    "sex": ["f", "m"] * (N // 2),
}


def study_of(folder: Path, pool: Path) -> Study:
    return Study.create(folder / "study", pool, protected="sex", budget=20, batch_size=6, random_state=0)


def german(folder: Path) -> Path:
    """Write a table as Excel does in Germany: semicolons, decimal commas, Windows-1252."""
    lines = [
        "name;pay;sex",
        *(f"{n};{str(p).replace('.', ',')};{s}" for n, p, s in zip(*CELLS.values(), strict=True)),
    ]
    (folder / "pool.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    return folder / "pool.csv"


def test_a_sheet_is_written_as_the_table_was_and_comes_back(tmp_path: Path) -> None:
    with study_of(tmp_path, german(tmp_path)) as study:
        assert study.written_as == {"encoding": "cp1252", "delimiter": ";", "decimal": ","}
        assert study.table.column("pay").to_pylist() == CELLS["pay"]
        rows, sheet = study.ask(6, "ada"), tmp_path / "rows.csv"
        write_rows(
            sheet, [(row, study.row(row)) for row in rows], study.config, TableFormat(**study.written_as)
        )
        lines = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("cp1252")), delimiter=";"))
        assert lines[0]["pay"] == str(CELLS["pay"][rows[0]]).replace(".", ",")
        out = io.StringIO()
        writer = csv.DictWriter(out, lines[0], delimiter=";")
        writer.writeheader()
        writer.writerows({**line, "label": "1"} for line in lines)
        sheet.write_bytes(out.getvalue().encode("cp1252"))
        told = read_labels(sheet)
        check_told(sheet.name, told, study)
        assert study.tell(told.rows, told.labels, "ada").new == 6


def as_workbook(frame: pd.DataFrame, path: Path) -> None:
    frame.to_excel(path, index=False)


def as_lines(frame: pd.DataFrame, path: Path) -> None:
    path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")), "utf-8")


BACK: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "rows.xlsx": as_workbook,
    "rows.jsonl": as_lines,
    "rows.json": lambda frame, path: path.write_text(json.dumps(frame.to_dict("records")), "utf-8") and None,
    "rows.parquet": lambda frame, path: pq.write_table(pa.Table.from_pandas(frame), path),
    "rows.tsv": lambda frame, path: frame.to_csv(path, sep="\t", index=False),
    "rows.csv": lambda frame, path: frame.to_csv(path, sep=";", decimal=",", index=False, encoding="cp1252"),
    "utf16.csv": lambda frame, path: frame.to_csv(path, index=False, encoding="utf-16"),
    "rows.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "rows.csv.zip": lambda frame, path: frame.to_csv(path, index=False),
}


@pytest.mark.parametrize("name", BACK)
def test_labels_come_back_in_every_format_that_a_table_can_have(name: str, tmp_path: Path) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    with study_of(tmp_path, german(tmp_path)) as study:
        rows, sheet = study.ask(6, "ada"), tmp_path / "sheet.parquet"
        write_rows(sheet, [(row, study.row(row)) for row in rows], study.config)
        frame = pq.read_table(sheet).to_pandas()
        frame["label"] = ["1", "0"] * 3
        BACK[name](frame, tmp_path / name)
        told = read_labels(tmp_path / name)
        check_told(name, told, study)
        assert dict(zip(told.rows, told.labels, strict=True)) == dict(zip(rows, ["1", "0"] * 3, strict=True))
        assert study.tell(told.rows, told.labels, "ada").new == 6


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.jsonl", "rows.tsv", "rows.csv"])
def test_sheets_go_out_in_the_format_of_their_name(name: str, tmp_path: Path) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    pool = {**CELLS, "name": ["=1+1", "plain"] * (N // 2)}
    with Study.create(tmp_path / "s", pool, protected="sex", budget=20, random_state=0) as study:
        rows, sheet = study.ask(6, "ada"), tmp_path / name
        write_rows(sheet, [(row, study.row(row)) for row in rows], study.config)
        table = read_table(sheet)
        assert table.column("row").to_pylist() == rows
        assert set(table.column("name").to_pylist()) <= ({"=1+1"} if name == "rows.jsonl" else {"'=1+1"}) | {
            "plain"
        }
        assert table.column("pay").to_pylist() == [CELLS["pay"][row] for row in rows]


def test_a_study_of_a_workbook_is_told_by_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame({**CELLS, "since": ["03/04/2024", "12/31/2024"] * (N // 2)}).to_excel(
        tmp_path / "pool.xlsx", index=False
    )
    with study_of(tmp_path, tmp_path / "pool.xlsx") as study:
        rows, sheet = study.ask(6, "ada"), tmp_path / "rows.xlsx"
        write_rows(sheet, [(row, study.row(row)) for row in rows], study.config)
        frame = pd.read_excel(sheet)
        frame["label"] = [1, 0] * 3  # Excel makes numbers of them
        frame.to_excel(sheet, index=False)
        told = read_labels(sheet)
        check_told(sheet.name, told, study)
        assert told.labels == ["1", "0"] * 3
