"""``fairask doctor TABLE`` for people and programs; what it suggests can be run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from library.tests.cli.test_bad_input import assert_refused

Run = Callable[..., Result]
Rows = list[dict[str, Any]]


def test_the_doctor_says_what_a_table_allows(fairask: Run, table: Path) -> None:
    shown = fairask("doctor", table, "--protected", "sex", "--label", "paid")
    assert shown.exit_code == 0, shown.output
    assert "What can be done" in shown.stdout
    found = json.loads(fairask("doctor", table, "--protected", "sex", "--label", "paid", "--json").stdout)
    assert not found["blocked"]
    assert [t["state"] for t in found["tasks"]] == ["ok", "ok", "missing", "missing"]


def test_the_simulation_that_the_doctor_suggests_runs(fairask: Run, table: Path) -> None:
    found = json.loads(fairask("doctor", table, "--protected", "sex", "--label", "paid", "--json").stdout)
    (command,) = [t["remedy"] for t in found["tasks"] if t["what"] == "simulate"]
    done = fairask(*shlex.split(command)[1:], "--trials", 1, "--jobs", 1, "--budget", 50, "-q")
    assert done.exit_code == 0, done.output


def test_the_audit_that_the_doctor_suggests_begins(fairask: Run, pool: Path) -> None:
    options = ("--protected", "sex", "--predictions", "said", "--positive", "yes")
    found = json.loads(fairask("doctor", pool, *options, "--json").stdout)
    (command,) = [t["remedy"] for t in found["tasks"] if t["what"] == "audit"]
    assert fairask(*shlex.split(command)[1:]).exit_code == 3  # labels are awaited


def test_the_doctor_ends_with_1_where_something_is_blocked(fairask: Run, rows: Rows, write: Any) -> None:
    bad = write([{**row, "paid": "no" if row["sex"] == "f" else row["paid"]} for row in rows])
    done = fairask("doctor", bad, "--protected", "sex", "--label", "paid")
    assert done.exit_code == 1
    assert "group 'f' has no positive labels" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--protected", "sx"), ("--protected: no column 'sx'", "'sex'")),
        (("--label", "piad"), ("--label: no column 'piad'", "'paid'")),
        (("--metric", "auc"), ("--metric='auc'", "tprp")),
        (("--tolerance", "3"), ("--tolerance", "between 0 and 1")),
        (("--missing-groups", "unknown"), ("drop or own",)),
    ],
)
def test_wrong_options_are_refused(fairask: Run, table: Path, options: Any, words: Any) -> None:
    assert_refused(fairask("doctor", table, *options), *words)


def test_columns_without_a_table_and_no_table_at_all_are_refused(fairask: Run, table: Path) -> None:
    assert_refused(fairask("doctor", "--label", "paid"), "--label is about a table")
    assert_refused(fairask("doctor", table.with_name("tabel.csv")), "there is no file", "table.csv?")
