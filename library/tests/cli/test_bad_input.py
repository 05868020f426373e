"""Whatever is wrong with the input: two lines, exit code 2, no traceback, and no report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import Result

Run = Callable[..., Result]
Rows = list[dict[str, Any]]
COLUMNS = ("--label", "paid", "--protected", "sex")


def assert_refused(result: Result, *words: str) -> None:
    assert result.exit_code == 2, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 2, lines
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in result.stderr
    assert not result.stdout
    assert not Path("report.html").exists()


def test_a_missing_file_is_named_with_its_nearest_neighbour(fairask: Run, table: Path) -> None:
    assert_refused(
        fairask("simulate", table.with_name("tabel.csv"), *COLUMNS), "there is no file", "table.csv?"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "empty"),
        (b"sex,paid,age\n", "a header and no rows"),
        (b"sex,paid,age\nm,yes,3\nf,no\n", "data row 2 has 2 fields, the header has 3"),
        (b"sex,paid,age\nm,yes,3,4\nf,no,1\n", "data row 1 has 4 fields"),
        (b"sex,paid\nm,ye\0s\n", "zero byte"),
        (b"sex,sex,paid\nm,m,yes\n", "more than one column 'sex'"),
        (b"sex\nm\n", "one column only"),
        (b"<!doctype html><p>404", "web page"),
        (b"PAR1....", "is a Parquet file, though its name says text"),
        (b"PK\x03\x04....", "Excel"),
        (b'sex,paid,note\nm,yes,"' + b"x" * 1_200_000 + b'"\nf,no,y\n', "1,200,000 characters"),
    ],
)
def test_a_file_that_is_no_table_is_refused(fairask: Run, tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert_refused(fairask("simulate", path, *COLUMNS), words)


def test_a_quote_that_is_never_closed_is_refused(fairask: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('sex,paid,note\nm,yes,"oops\n' + "f,no,y\n" * 50)
    assert_refused(fairask("simulate", path, *COLUMNS))


def test_text_named_parquet_is_refused(fairask: Run, table: Path) -> None:
    path = table.rename(table.with_suffix(".parquet"))
    assert_refused(fairask("simulate", path, *COLUMNS), "though its name says Parquet", "table.csv")


def test_a_truncated_parquet_file_is_refused(fairask: Run, tmp_path: Path, rows: Rows) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path)
    path.write_bytes(path.read_bytes()[:-100])
    assert_refused(fairask("simulate", path, *COLUMNS), "truncated")


def test_an_unknown_kind_of_file_and_a_folder_are_refused(fairask: Run, tmp_path: Path) -> None:
    assert_refused(fairask("simulate", tmp_path / "t.docx", *COLUMNS), ".parquet")
    (tmp_path / "folder.csv").mkdir()
    assert_refused(fairask("simulate", tmp_path / "folder.csv", *COLUMNS), "has no files")


def test_an_unknown_encoding_is_refused(fairask: Run, table: Path) -> None:
    assert_refused(fairask("simulate", table, *COLUMNS, "--encoding", "utf8x"), "unknown encoding 'utf8x'")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--label", "payd", "--protected", "sex"), ("--label: no column 'payd'", "Did you mean 'paid'?")),
        (("--label", "paid", "--protected", "sexx"), ("--protected: no column 'sexx'", "'sex'?")),
        ((*COLUMNS, "--drop", "agee"), ("--drop: no column 'agee'", "'age'?")),
        ((*COLUMNS, "--drop", "sex"), ("Take it out of --drop",)),
        (("--label", "sex", "--protected", "sex"), ("are both 'sex'",)),
        (("--label", "paid", "--protected", "income"), ("values:", "at most 50 groups")),
        ((*COLUMNS, "--positive", "yess"), ("not a value of 'paid'", "Did you mean 'yes'?")),
        ((*COLUMNS, "--tolerance", "1.5"), ("--tolerance 1.5 is outside [0, 1]",)),
        ((*COLUMNS, "--tolerance", "nan"), ("outside [0, 1]",)),
        ((*COLUMNS, "--metric", "tpr"), ("unknown metric 'tpr'", "'tprp'?")),
        ((*COLUMNS, "--strategy", "far"), ("unknown strategy 'far'", "'fare'?")),
        ((*COLUMNS, "--budget", "181"), ("larger than the pool of 180", "at most 180")),
        ((*COLUMNS, "--budget", "20", "--batch", "30"), ("--batch 30 is larger than the budget",)),
        ((*COLUMNS, "--audit-share", "1"), ("--audit-share 1 is outside [0, 1)",)),
        ((*COLUMNS, "--audit-share", "nan"), ("outside [0, 1)",)),
        ((*COLUMNS, "--trials", "0"), ("--trials 0 is too small",)),
        ((*COLUMNS, "--jobs", "0"), ("--jobs 0 is too small",)),
        ((*COLUMNS, "--seed", "-1"), ("--seed -1 is too small",)),
        ((*COLUMNS, "--budget", "many"), ("--budget", "See fairask simulate --help")),
        ((*COLUMNS, "--out", "nowhere/r.html"), ("there is no folder nowhere", "mkdir")),
        (("--label", "paid"), ("--protected", "See fairask simulate --help")),
        ((*COLUMNS, "--bugdet", "9"), ("--bugdet", "See fairask simulate --help")),
    ],
)
def test_a_wrong_option_is_refused(
    fairask: Run, table: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(fairask("simulate", table, *options), *words)


def test_more_than_two_label_values_are_named(fairask: Run, rows: Rows, write: Callable[..., Path]) -> None:
    for row in rows[::5]:
        row["paid"] = "late"
    path = write(rows)
    assert_refused(fairask("simulate", path, *COLUMNS), "'late', 'no', 'yes'", "--positive yes")


def test_one_class_only_is_refused(fairask: Run, rows: Rows, write: Callable[..., Path]) -> None:
    path = write([{**row, "paid": "yes"} for row in rows])
    assert_refused(fairask("simulate", path, *COLUMNS), "one value only: 'yes'")


def test_one_group_only_is_refused(fairask: Run, rows: Rows, write: Callable[..., Path]) -> None:
    path = write([{**row, "sex": "m"} for row in rows])
    assert_refused(fairask("simulate", path, *COLUMNS), "one group only: 'm'")


def test_a_group_without_labels_is_refused(fairask: Run, rows: Rows, write: Callable[..., Path]) -> None:
    path = write([{**row, "paid": row["paid"] if row["sex"] == "m" else ""} for row in rows])
    assert_refused(fairask("simulate", path, *COLUMNS), "group 'f' of 'sex' has no labelled rows")


def test_a_group_with_hardly_any_positives_is_refused(
    fairask: Run, rows: Rows, write: Callable[..., Path]
) -> None:
    path = write([{**row, "paid": row["paid"] if row["sex"] == "m" else "no"} for row in rows])
    assert_refused(fairask("simulate", path, *COLUMNS), "group 'f' of 'sex' has 0 rows with label 'yes'")


def test_identifiers_and_names_alone_are_refused_with_the_reasons(
    fairask: Run, rows: Rows, write: Callable[..., Path]
) -> None:
    kept = ("sex", "paid")
    path = write([{"id": i, "note": f"case {i}", **{k: row[k] for k in kept}} for i, row in enumerate(rows)])
    result = fairask("simulate", path, *COLUMNS, "--exclude-protected")
    assert_refused(result, "no column is left to learn from", "'id': an identifier", "'note': more than 100")


def test_an_unknown_command_and_dataset_are_refused(fairask: Run) -> None:
    assert_refused(fairask("simulat"), "simulat")
    assert_refused(fairask("demo", "--dataset", "adlt"), "unknown dataset 'adlt'", "'adult'")
    assert_refused(fairask("datasets", "info", "adlt"), "'adult'")
    assert_refused(fairask("demo", "--audit-labels", "-1"), "--audit-labels -1 is too small")
    german = ("demo", "--dataset", "german")
    assert_refused(fairask(*german, "--audit-labels", "999"), "more than the pool of 750", "at most 150")
    assert_refused(fairask("demo", "--dataset", "drug"), "not on this machine", "fairask datasets pull drug")


def test_debug_shows_the_traceback_wherever_it_stands(fairask: Run) -> None:
    for words in (("--debug", "demo", "--dataset", "x"), ("demo", "--dataset", "x", "--debug")):
        result = fairask(*words)
        assert result.exit_code == 2
        assert "Traceback" in result.stderr


def test_an_audit_refuses_positives_that_leave_no_negative(fairask: Run, write: Callable[..., Path]) -> None:
    grades = [{"said": said, "sex": sex} for said in ("passed", "good") for sex in "mf"]
    pool = write(grades, "grades.csv")
    named = ("--predictions", "said", "--protected", "sex", "--positive", "passed", "--positive")
    assert_refused(fairask("audit", pool, *named, "good"), "names all values of 'said'", "count as negative")
    numbers = write([{"said": i % 2, "sex": "mf"[i // 2]} for i in range(4)], "numbers.csv")
    assert_refused(fairask("audit", numbers, *named, "good"), "are numbers from 0 to 1, not classes")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "t.csv", "--known"), ("'--known' requires an argument", "See fairask audit --help")),
        (("simulate", "t.csv", "--strategy", "fair"), ("unknown strategy 'fair'", "did you mean 'fare'?")),
    ],
)
def test_an_option_that_is_wrong_is_named_before_those_that_are_missing(
    fairask: Run, words: tuple[str, ...], said: tuple[str, ...]
) -> None:
    assert_refused(fairask(*words), *said)
