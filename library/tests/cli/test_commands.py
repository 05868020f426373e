from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import Result

from library.tests.cli.conftest import payments, run, working_in, write_csv

pytestmark = pytest.mark.usefixtures("few_trees")
Run = Callable[..., Result]
SMALL = ("demo", "--dataset", "german", "--metric", "tprp", "--trials", 2, "--budget", 100, "--batch", 50)
COLUMNS = ("--label", "paid", "--protected", "sex", "--trials", 2, "--budget", 80, "--batch", 40, "--jobs", 1)


def test_version_and_help_are_short(fairask: Run) -> None:
    from fairask import __version__

    assert fairask("--version").stdout == f"fairask {__version__}\n"
    shown = fairask("--help")
    assert shown.exit_code == 0
    for command in ("demo", "simulate", "new", "ask", "tell", "studio", "audit", "datasets", "bench"):
        assert command in shown.stdout
        assert fairask(command, "--help").exit_code == 0


@pytest.fixture(scope="module")
def demo(few_trees: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What a small demo prints, and its report."""
    with working_in(tmp_path_factory.mktemp("demo")):
        result = run(*SMALL, "--jobs", 1)
        assert result.exit_code == 0, result.output
        return result.stdout, Path("report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def demo_json(few_trees: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What the same says with ``--json`` and a figure, and its folder."""
    folder = tmp_path_factory.mktemp("demo")
    with working_in(folder):
        return json.loads(run(*SMALL, "--jobs", 1, "--json", "--figure", "curves.png").stdout), folder


@pytest.fixture(scope="module")
def simulated(few_trees: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a simulation of the table says with ``--json``."""
    folder = tmp_path_factory.mktemp("simulate")
    with working_in(folder):
        found: dict[str, Any] = json.loads(
            run("simulate", write_csv(payments(), folder / "table.csv"), *COLUMNS, "--json").stdout
        )
        return found


def test_the_demo_ends_with_a_verdict_and_a_report(demo: tuple[str, str]) -> None:
    said, page = demo
    assert "With 100 labels the gap is at most 10 points in " in said
    assert said.rstrip().endswith("report: report.html")
    assert "\x1b" not in said
    assert "<svg" in page


def test_the_demo_audits_its_first_model(fairask: Run, demo: tuple[str, str]) -> None:
    said, page = demo
    (line,) = [x for x in said.splitlines() if x.startswith("Audit of FARE's first model with ")]
    assert "Certified: the difference in true positive rates is at most 0.1 (95% confidence: 0.0" in line
    assert re.search(
        r"Certified\. With 95.% confidence the gap is at most \d(\.\d)?.points\.", page
    )  # the same
    assert "labels besides the 100 that trained it" in page
    none = fairask(*SMALL, "--jobs", 1, "--audit-labels", 0)
    assert "Audit of" not in none.stdout
    assert "None: this is a simulation" in Path("report.html").read_text(encoding="utf-8")
    assert "Audits of such a model with " in said
    same = [x for x in said.splitlines() if not x.startswith(("Audit of ", "Audits of "))]
    assert same == none.stdout.splitlines()  # the audit changes nothing else


@pytest.mark.slow
def test_simulate_keeps_a_share_of_the_budget_for_an_audit(
    fairask: Run, table: Path, simulated: dict[str, Any]
) -> None:
    found = json.loads(fairask("simulate", table, *COLUMNS, "--audit-share", 0.5, "--json").stdout)
    assert found["budget"] == 40
    assert found["audit"]["method"] == "FARE"
    assert 0 < found["audit"]["certificate"]["n_labels"] <= 40
    again = json.loads(fairask(*shlex.split(found["command"])[1:], "--jobs", 1, "--json").stdout)
    assert again["audit"] == found["audit"]
    assert simulated["audit"] is None


def test_quiet_prints_the_verdict_only(fairask: Run) -> None:
    result = fairask(*SMALL, "--jobs", 1, "-q", "--out", "r.html")
    case, counts = result.stdout.splitlines()
    assert "labels" in case
    assert counts.startswith("With 100 labels")
    assert Path("r.html").exists()


def test_json_is_all_there_is_and_a_figure_can_be_written(demo_json: tuple[dict[str, Any], Path]) -> None:
    found, folder = demo_json
    assert [m["method"] for m in found["methods"]] == ["fare", "passive", "plain"]
    assert found["methods"][0]["labels"] == [50, 100]
    assert len(found["methods"][0]["final_gap_by_trial"]) == 2
    command = "fairask demo --dataset german --metric tprp --profile calibrated --trials 2"
    assert found["command"].startswith(command)
    assert not (folder / "report.html").exists()
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_another_seed_gives_other_results(fairask: Run, demo_json: tuple[dict[str, Any], Path]) -> None:
    other = json.loads(fairask(*SMALL, "--jobs", 1, "--json", "--seed", 2).stdout)
    assert other["methods"][0]["accuracy"] != demo_json[0]["methods"][0]["accuracy"]


def test_simulate_says_what_passive_sampling_would_need(fairask: Run, table: Path) -> None:
    result = fairask("simulate", table, *COLUMNS)
    assert result.exit_code == 0, result.output
    assert "label 'yes' counts as positive, 'no' as negative" in result.stdout
    assert "Rows drawn at random need" in result.stdout
    page = Path("report.html").read_text(encoding="utf-8")
    assert "--label paid --protected sex --positive yes" in page


@pytest.mark.slow
def test_simulate_says_what_each_protected_column_is_by_itself(fairask: Run, table: Path) -> None:
    words = ("--label", "paid", "--protected", "sex", "--protected", "age:50", "--strategy", "passive",
             "--trials", 2, "--budget", 80, "--batch", 40)  # fmt: skip
    shown = fairask("simulate", table, *words, "--jobs", 1)
    assert shown.exit_code == 0, shown.output
    told = "gap of each column by itself: sex 0."
    assert told in shown.stdout
    assert told in Path("report.html").read_text(encoding="utf-8")
    held = json.loads(fairask("simulate", table, *words, "--jobs", 1, "--json").stdout)["methods"][0]
    assert list(held["gap_by_column"]) == ["sex", "age:50"]
    # A group of one column is an average of combinations, so it cannot differ more than these do.
    assert 0 < max(held["gap_by_column"].values()) <= held["gap"]
    one = json.loads(fairask("simulate", table, *COLUMNS, "--strategy", "passive", "--json").stdout)
    assert one["methods"][0]["gap_by_column"] == {}


def test_simulate_reads_parquet_like_csv(
    fairask: Run, simulated: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    parquet.write_table(pa.Table.from_pylist(rows), "table.parquet")
    other = json.loads(fairask("simulate", "table.parquet", *COLUMNS, "--json").stdout)
    assert other["methods"] == simulated["methods"]


def test_simulate_compares_the_strategies_it_is_given(fairask: Run, table: Path) -> None:
    words = ("--strategy", "uncertainty", "--strategy", "group_balanced", "--metric", "eo", "--json")
    found = json.loads(fairask("simulate", table, *COLUMNS, *words).stdout)
    assert [m["method"] for m in found["methods"]] == ["uncertainty", "group_balanced", "passive"]
    assert found["metric"] == "eo"
    assert found["baseline_budget"] == 180  # three budgets, but no more than the pool


@pytest.mark.slow
def test_the_command_in_the_report_makes_the_same_again(
    fairask: Run, rows: list[dict[str, Any]], write: Callable[..., Path]
) -> None:
    path = write([{"a,b": i % 7, "per son": f"p{i}", **row} for i, row in enumerate(rows)], "my table.csv")
    first = json.loads(
        fairask("simulate", path, *COLUMNS, "--drop", "per son", "--drop", "a,b", "--json").stdout
    )
    again = shlex.split(first["command"])
    second = json.loads(fairask(*again[1:], "--jobs", 1, "--json").stdout)
    assert first["methods"] == second["methods"]


def test_simulate_and_new_share_their_defaults() -> None:
    from fairask.cli.bench import bench
    from fairask.cli.simulate import simulate
    from fairask.defaults import BATCH
    from fairask.learner import LearnerConfig
    from fairask_studio.cli.new import new

    commands = [inspect.signature(command).parameters for command in (simulate, new, bench)]
    for name in ("tolerance", "metric", "profile", "use_protected", "budget"):
        assert len({repr(command[name].default) for command in commands}) == 1, name
    assert commands[0]["use_protected"].default is False
    assert commands[1]["batch"].default == BATCH
    assert LearnerConfig().batch_size == BATCH


@pytest.mark.slow
def test_simulate_decides_without_the_protected_column_unless_told(fairask: Run, table: Path) -> None:
    words = ("simulate", table, *COLUMNS, "--strategy", "passive", "--json")
    found = {
        how: json.loads(fairask(*words, *how).stdout)
        for how in ((), ("--exclude-protected",), ("--use-protected",))
    }
    assert found[()]["methods"] == found["--exclude-protected",]["methods"]
    assert "2 features" in found[()]["settings"]["table"]
    assert "3 features" in found["--use-protected",]["settings"]["table"]


@pytest.mark.slow
def test_hostile_names_are_only_text(
    fairask: Run, rows: list[dict[str, Any]], write: Callable[..., Path]
) -> None:
    evil = "<script>alert('$x$')</script>"
    path = write(
        [{evil if k == "sex" else k: f"{v}{evil}" if k == "sex" else v for k, v in r.items()} for r in rows]
    )
    result = fairask("simulate", path, "--label", "paid", "--protected", evil, *COLUMNS[4:])
    assert result.exit_code == 0, result.output
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_datasets_are_listed_described_and_pulled(fairask: Run) -> None:
    listed = json.loads(fairask("datasets", "list", "--json").stdout)
    assert {d["name"] for d in listed} >= {"adult", "german", "synthetic"}
    shown = fairask("datasets", "list").stdout
    assert "embedded" in shown
    assert "fairask datasets pull bank" in shown
    assert "48,842" in fairask("datasets", "info", "adult").stdout
    assert json.loads(fairask("datasets", "info", "adult", "--json").stdout)["rows"] == 48842
    pulled = fairask("datasets", "pull", "adult", "synthetic")
    assert pulled.exit_code == 0
    assert "comes with fairask" in pulled.stdout


def test_a_dataset_without_a_download_fails_with_words(fairask: Run) -> None:
    result = fairask("datasets", "pull", "bank")
    assert result.exit_code == 1
    assert "kaggle" in result.stdout.lower()


def test_a_missing_extra_is_named(fairask: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == "pyarrow":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = fairask("simulate", table, *COLUMNS)
    assert result.exit_code == 1
    assert "needs pyarrow" in result.stderr
    assert "pip install 'fairask[cli]'" in result.stderr


def test_an_unexpected_failure_is_code_1_without_a_traceback(
    fairask: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("fairask.pools.source.read_noted", fail)
    result = fairask("simulate", table, *COLUMNS)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "error: RuntimeError: out of luck"
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_importing_the_command_line_does_not_import_matplotlib() -> None:
    code = "import sys, fairask.cli._app, fairask.report, fairask.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_the_program_returns_its_exit_code() -> None:
    words = [sys.executable, "-m", "fairask", "demo", "--dataset", "adlt"]
    wrong = subprocess.run(words, capture_output=True, text=True)
    assert wrong.returncode == 2
    assert wrong.stderr.splitlines()[0] == "error: unknown dataset 'adlt'"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_an_interrupt_exits_with_130_and_writes_nothing() -> None:
    words = [sys.executable, "-u", "-m", "fairask", "demo", "--trials", "500", "--jobs", "1"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    running.stdout.readline()  # the title: the runs have begun
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not Path("report.html").exists()


def test_the_constant_answer_and_the_positive_label_have_their_own_words(
    fairask: Run, rows: list[dict[str, Any]], write: Callable[..., Path]
) -> None:
    words = {"yes": "approved", "no": "rejected"}
    known = write([{**row, "paid": words[row["paid"]]} for row in rows], "known.csv")
    shown = fairask("simulate", known, *COLUMNS).stdout
    assert "note: label 'approved' counts as positive, 'rejected' as negative" in shown
    assert "not approved" not in shown
    words = {"yes": "green", "no": "red"}
    guessed = write([{**row, "paid": words[row["paid"]]} for row in rows], "guessed.csv")
    first, check, *_ = fairask("simulate", guessed, *COLUMNS).stdout.splitlines()
    assert first == "guessed.csv: paid = red, groups by sex"
    assert check.startswith("CHECK: label 'red' is taken as positive and 'green' as negative")
    assert check.endswith("give --positive green")


def test_a_command_ends_without_the_teardown_in_which_arrow_may_abort(rows: list[dict[str, Any]]) -> None:
    table = write_csv(rows, Path("rows.csv"))
    noted = "leave = os._exit; os._exit = lambda code: (print('left', code, flush=True), leave(code))"
    start = f"import os, sys; {noted}; sys.argv[0] = 'fairask'; from fairask.cli import main; main()"
    for words, code in ([], 0), (["--label", "none"], 2):
        command = [sys.executable, "-c", start, "doctor", str(table), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (code, f"left {code}"), done.stderr
