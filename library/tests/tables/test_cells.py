"""Sheets as people keep them: signs beside numbers, dates by habit, titles, words among numbers."""

from __future__ import annotations

import datetime
import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairask.errors import TableError
from fairask.tables import fit_encoder, read_table
from fairask.tables.cells import as_numbers
from fairask.tables.formats import read_noted

DAY = datetime.date(2024, 4, 3)
YEARS_END = datetime.date(2023, 12, 31)
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
        (["(5", "7"], None, ""),
        (["1,3", "2,4,1", "5"], None, ""),  # lists of choices
        (["0,123", "1,250"], [0.123, 1.25], "decimal comma"),  # no thousands begin with 0
        ([*map(str, range(40)), "1.234,5"], [*range(40), 1234.5], "decimal comma"),  # one cell decides
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


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_thousands_with_a_point_are_no_decimals_where_another_column_has_a_decimal_comma(
    delimiter: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    rows = ['950,"4,5"', '1.234,"5,5"', '2.000,"7,25"']
    file.write_text("\n".join(["paid,rate", *rows]).replace('",', '";').replace(',"', f'{delimiter}"')
                    .replace("paid,", f"paid{delimiter}"))  # fmt: skip
    assert read_noted(file)[0].to_pydict() == {"paid": [950, 1234, 2000], "rate": [4.5, 5.5, 7.25]}
    file.write_text(f"paid{delimiter}rate\n1.234{delimiter}2\n1.5{delimiter}3\n")
    assert read_noted(file)[0].column("paid").to_pylist() == [1.234, 1.5]


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


def noted(folder: Path, *cells: str) -> tuple[list[object], list[str]]:
    (folder / "t.csv").write_text("when;x\n" + "".join(f"{cell};1\n" for cell in cells), "utf-8")
    table, notes = read_noted(folder / "t.csv")
    return table.column("when").to_pylist(), notes


@pytest.mark.parametrize(
    ("cells", "first", "note"),
    [
        (("31.12.2023", "", "1.2.2024"), YEARS_END, "day first"),
        (("1.2.2024", "3.2.2024"), datetime.date(2024, 2, 1), "day first"),
        (("31/12/2023", "01/02/2024"), YEARS_END, "day first"),
        (("12/31/2023", "01/02/2024"), YEARS_END, "month first"),
        (("31-12-2023",), YEARS_END, "day first"),
        (("31.12.2023 18:30", "1.1.2024"), datetime.datetime(2023, 12, 31, 18, 30), "day first"),
        (("2023-12-31",), YEARS_END, ""),
    ],
)
def test_dates_are_dates(cells: tuple[str, ...], first: object, note: str, tmp_path: Path) -> None:
    values, notes = noted(tmp_path, *cells)
    assert values[0] == first
    assert not any(isinstance(value, str) for value in values)
    assert note in " ".join(notes)
    assert bool(notes) is bool(note)


def test_dates_that_could_be_two_days_stay_text_and_are_named(tmp_path: Path) -> None:
    values, notes = noted(tmp_path, "03/04/2024", "05/06/2024")
    assert values[0] == "03/04/2024"
    assert "cannot be told apart" in notes[0]
    assert "'when'" in notes[0]


def test_days_that_are_too_far_away_to_count_exactly_are_numbers_all_the_same() -> None:
    far = pa.array([0, -2474134013238206464], pa.int64())
    for kind in (pa.timestamp("us"), pa.duration("us")):
        assert as_numbers(far.cast(kind)).tolist() == [0.0, -2474134013238206464 / 86_400e6]


@pytest.mark.parametrize("cells", [("31.02.2024",), ("31.12.2023", "soon"), ("13/13/2024",), ("1.2.3",)])
def test_what_is_in_no_calendar_stays_text(cells: tuple[str, ...], tmp_path: Path) -> None:
    values, notes = noted(tmp_path, *cells)
    assert values[0] == cells[0]
    assert not notes


def test_a_frame_of_pandas_has_the_features_of_the_file_it_came_from(tmp_path: Path) -> None:
    days = [YEARS_END + datetime.timedelta(days=7 * i) for i in range(40)]
    for form in ("%d.%m.%Y", "%Y-%m-%d"):
        file = tmp_path / "t.csv"
        file.write_text("when,x\n" + "".join(f"{day:{form}},{i % 7}\n" for i, day in enumerate(days)))
        table = read_table(file)
        encoder = fit_encoder(table)
        assert encoder.feature_names_out == ["when", "x"]
        assert np.allclose(encoder.transform(pd.read_csv(file)), encoder.transform(table))


def test_notes_on_short_texts_name_the_option() -> None:
    rng = np.random.default_rng(0)
    words = ["late", "paid", "kind", "rude", "small", "large"]
    said = [" ".join(rng.choice(words, 3)) for _ in range(300)]
    crowded = fit_encoder(pa.table({"x": rng.normal(size=300), "my note": said})).notes()
    assert any("--text 'my note' learns from their words" in note for note in crowded)
    few = [said[i % 20] for i in range(300)]
    (note,) = fit_encoder(pa.table({"x": rng.normal(size=300), "note": few})).notes()
    assert "short texts are categories" in note
    assert "--text note learns from their words" in note
    codes = [f"A{i}" for i in range(300)]
    assert "--text" not in " ".join(fit_encoder(pa.table({"x": rng.normal(size=300), "code": codes})).notes())
    towns = [f"town {i % 10}" for i in range(300)]
    assert not fit_encoder(pa.table({"x": rng.normal(size=300), "town": towns})).notes()
