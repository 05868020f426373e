"""Sheets as people keep them: signs beside numbers, dates by habit, titles, words among numbers."""

from __future__ import annotations

import datetime
import json
import sqlite3
from pathlib import Path

import pytest

from fairask.tables import TableError, prepare, read_noted
from fairask.tables.groups import GroupColumns, group_names
from fairask.tables.labels import find_positive

DAY = datetime.date(2024, 4, 3)
LAST = [datetime.date(2024, 12, 31), DAY, datetime.date(2024, 5, 5)]


def column(tmp_path: Path, cells: list[str], delimiter: str = ",") -> tuple[list[object], list[str]]:
    """Return what a column of a file is read as, and the notes."""
    file = tmp_path / "t.csv"
    quoted = [f'"{cell}"' for cell in cells]
    file.write_text("\n".join([f"x{delimiter}y", *(f"{cell}{delimiter}a" for cell in quoted)]))
    table, notes = read_noted(file)
    return table.column("x").to_pylist(), notes


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["12%", "7.5 %"], [12.0, 7.5], "without the sign beside them: 'x' (%)"),
        (["$1,200.50", "-$3"], [1200.5, -3.0], "without the sign beside them: 'x' ($)"),
        (["44654 €", "EUR 7"], None, ""),  # two signs are no common scale
        (["5", "-", "Unknown"], [5, None, None], ""),
        (["02134", "10001"], ["02134", "10001"], ""),  # codes
        (["0", "10"], [0, 10], ""),
        (["3 Apr 2024", "April 3, 2024", "2024-04-03", "3.4.2024"], [DAY] * 4, "dates were recognised"),
        (["2024/4/3", "2024-04-03"], [DAY, DAY], ""),
        (["3/4/2024", "2024-12-31"], ["3/4/2024", "2024-12-31"], "cannot be told apart"),
        (["13/4/2024", "4/13/2024"], ["13/4/2024", "4/13/2024"], ""),
        (["3 Abc 2024", "1 Apr 2024"], ["3 Abc 2024", "1 Apr 2024"], ""),
        (["31/12/2024", "3/4/2024", "5 May 2024"], LAST, "the day first: 'x'"),
        (["[0.5, 1]", "[2, 3.5]"], [[0.5, 1.0], [2.0, 3.5]], "lists of numbers were recognised: 'x'"),
        (["[a]", "[b]"], ["[a]", "[b]"], ""),
    ],
)
def test_cells_are_read_as_they_are_meant(
    cells: list[str], values: list[object] | None, note: str, tmp_path: Path
) -> None:
    found, notes = column(tmp_path, cells)
    assert found == (cells if values is None else values)
    assert note in " ".join(notes)
    assert bool(note) == bool(notes)


def test_a_decimal_point_beside_a_sign_is_read_where_semicolons_separate(tmp_path: Path) -> None:
    assert column(tmp_path, ["12.5 %", "1 %"], ";")[0] == [12.5, 1.0]


def test_a_few_words_among_many_numbers_count_as_missing_and_are_named(tmp_path: Path) -> None:
    cells = [str(value) for value in range(60)]
    found, notes = column(tmp_path, [*cells[:30], "42 years", *cells[30:]])
    assert found == [*range(30), None, *range(30, 60)]
    assert notes == ["1 value of 'x' is not a number and counts as missing: '42 years' in data row 31"]
    grades, notes = column(tmp_path, ["1", "2", "3"] * 20 + ["A"])
    assert grades[-1] == "A"
    assert not notes


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Loans of 2024,,\n,,\na,b,c\n1,2,x\n", "line 3"),
        ("Loans of 2024\n\na;b;c\n1;2;x\n", "line 3"),
        ("sep=;\na;b;c\n1;2;x\n", None),
        ("a,b,c\n1,2,x\n\n,,\n,,\n", "2 empty rows at the end"),
    ],
)
def test_titles_and_empty_rows_are_left_out(text: str, note: str | None, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    table, notes = read_noted(file)
    assert table.to_pydict() == {"a": [1], "b": [2], "c": ["x"]}
    assert notes == [] if note is None else note in notes[0]


def test_a_workbook_with_a_row_of_merged_cells(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Applicant", None, "Outcome", None], ["age", "pay", "paid", "when"]):
        book.active.append(row)
    book.active.append([30, "$1,200", 1, "31.12.2024"])
    book.active.append(["31", "$5", 0, "1.2.2024"])
    book.save(tmp_path / "t.xlsx")
    table, notes = read_noted(tmp_path / "t.xlsx")
    assert table.column("age").to_pylist() == [30, 31]
    assert table.column("pay").to_pylist() == [1200, 5]
    assert table.column("when").to_pylist() == [datetime.date(2024, 12, 31), datetime.date(2024, 2, 1)]
    assert notes[0] == "names of columns were found below 1 other row"


def test_objects_inside_objects_are_columns_and_mixed_fields_are_named(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    rows = [{"who": {"age": 30}, "n": 1, "v": [1.0, 2.0]}, {"who": {"age": 41}, "n": "2", "v": None}]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert read_noted(file)[0].drop_columns(["v"]).to_pydict() == {"who.age": [30, 41], "n": [1.0, 2.0]}
    file.write_text("\n".join(map(json.dumps, [*rows, {"v": 3}])))
    with pytest.raises(
        TableError, match="column 'v' holds a list, and other values elsewhere, in data row 1"
    ):
        read_noted(file)


def test_dates_of_a_database_are_dates(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (x TEXT, y INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [("2024-04-03", 1), (None, 2)])
    database.close()
    assert read_noted(tmp_path / "t.db")[0].column("x").to_pylist() == [DAY, None]


def test_groups_and_labels_that_differ_in_case_are_one() -> None:
    import pyarrow as pa

    sex = ["Female", "female", "Male", "Female"] * 10
    paid = [("Yes", "no", "YES", "No", "no")[i % 5] for i in range(40)]
    table = pa.table({"x": list(range(40)), "sex": sex, "paid": paid})
    found = prepare(table, label="paid", protected="sex")
    assert set(found.groups) == {"Female", "Male"}
    assert found.y.sum() == sum(value.lower() == "yes" for value in paid)
    said = " ".join(found.notes)
    assert "'female' is 'Female'" in said
    assert "'YES' and 'Yes'" in said
    # A batch read later is grouped alike; a study that has both spellings keeps them.
    groups = GroupColumns.in_table(table, "sex")
    assert groups.named(groups.codes(pa.record_batch({"sex": ["FEMALE", "male"]}))).tolist() == [
        "Female",
        "Male",
    ]
    both = GroupColumns(("sex",), ("Female", "Male", "female"))
    assert both.codes(pa.record_batch({"sex": ["female", "Female"]})).tolist() == [2, 0]
    assert group_names(table, ["sex"]).tolist()[:2] == ["Female", "Female"]


def test_a_positive_label_may_be_named_in_any_case() -> None:
    notes: list[str] = []
    assert find_positive("paid", ["no", "Yes", "YES", "NO"], "yes", notes) == ("YES", "Yes")
    with pytest.raises(TableError, match="one value only"):
        find_positive("paid", ["Yes", "YES"], None, [])
