from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

pytestmark = pytest.mark.usefixtures("few_trees")
Run = Callable[..., Result]
SMALL = ("--trials", 2, "--budget", 60, "--batch", 30, "--jobs", 1, "--strategy", "passive")
COLUMNS = ("--label", "paid", "--protected", "sex")


def test_datasets_and_files_are_compared_with_a_table_and_a_figure(fairask: Run, table: Path) -> None:
    result = fairask("bench", "german", table, *COLUMNS, *SMALL, "--strategy", "uncertainty")
    assert result.exit_code == 0, result.output
    for words in ("german: ", "with 60 labels", "table.csv: ", "uncertainty"):
        assert words in result.stdout
    rows = list(csv.DictReader(Path("bench/results.csv").read_text().splitlines()))
    assert [(r["table"], r["method"]) for r in rows] == [
        ("german", "passive"),
        ("german", "uncertainty"),
        ("table.csv", "passive"),
        ("table.csv", "uncertainty"),
    ]
    assert all(r["runs"] == "2" for r in rows)
    assert Path("bench/curves.png").read_bytes().startswith(b"\x89PNG")


def test_finished_runs_are_kept_and_give_the_same_results(fairask: Run) -> None:
    first = json.loads(fairask("bench", "german", *SMALL, "--json").stdout)
    files = sorted(Path("bench").rglob("trial-*.json"))
    times = [file.stat().st_mtime_ns for file in files[1:]]
    files[0].unlink()
    again = json.loads(fairask("bench", "german", *SMALL, "--json").stdout)
    assert again == first
    assert [file.stat().st_mtime_ns for file in files[1:]] == times
    assert len((Path("bench") / "timings.csv").read_text().splitlines()) == 3


@pytest.mark.slow
def test_results_of_other_settings_and_other_rows_are_not_mixed_up(fairask: Run, table: Path) -> None:
    words = ("bench", table, *COLUMNS, *SMALL, "--json")
    first = json.loads(fairask(*words).stdout)
    stricter = json.loads(fairask(*words, "--tolerance", 0.05).stdout)
    assert stricter[0]["tolerance"] == 0.05
    assert len(list(Path("bench").rglob("trial-*.json"))) == 4
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([lines[0], *lines[2:]]))
    changed = json.loads(fairask(*words).stdout)
    assert changed[0]["methods"] != first[0]["methods"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("germn",), "not a dataset, and a file needs its columns"),
        (("german", "--strategy", "far"), "did you mean 'fare'?"),
        (("german", "--tolerance", 2), "--tolerance 2 is outside [0, 1]"),
        (("german", "--budget", 10000), "larger than the pool"),
    ],
)
def test_wrong_use_is_refused_before_anything_runs(
    fairask: Run, words: tuple[object, ...], message: str
) -> None:
    result = fairask("bench", *words)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert not list(Path().rglob("trial-*.json"))
