"""The Action's gate: its exit code is the verdict, and the verdict is Python's."""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from fairask.cli._app import app
from studio.tests.forked import fairask_command

GATE = Path(__file__).parents[2] / ".github" / "gate"
pytestmark = pytest.mark.slow


def in_this_process(monkeypatch, env):
    """Run the gate with its calls of ``fairask`` answered in this process, which has imported it already."""

    def call(command, **options):
        done = CliRunner().invoke(app, command[1:], prog_name="fairask")
        return subprocess.CompletedProcess(command, done.exit_code, done.stdout, done.stderr)

    program = runpy.run_path(str(GATE / "gate.py"))
    monkeypatch.setattr(subprocess, "run", call)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            code = program["main"]()
        except SystemExit as end:
            code = end.code
    monkeypatch.undo()
    return code, errors.getvalue()


def gate(folder, monkeypatch=None, *, rows, rates, whole=False, **settings):
    """Run the gate on a generated table; return exit code, outputs and summary."""
    table = folder / "scored.csv"
    subprocess.run([sys.executable, GATE / "make_table.py", table, str(rows), *map(str, rates)], check=True)
    env = {
        **os.environ,
        "FAIRASK": str(folder / "fairask"),
        "TABLE": str(table),
        "PREDICTIONS": "approved",
        "PROTECTED": "sex",
        "TRUTH": "repaid",
        "METRIC": "tprp",
        "TOLERANCE": "0.1",
        "DELTA": "0.05",
        "UNDECIDED": "fail",
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **settings,
    }
    if whole:
        with fairask_command(folder):
            done = subprocess.run([sys.executable, GATE / "gate.py"], env=env, capture_output=True, text=True)
        code, error = done.returncode, done.stderr
    else:
        code, error = in_this_process(monkeypatch, env)
    read = [folder / name for name in ("output", "summary.md")]
    output, summary = (path.read_text() if path.exists() else "" for path in read)
    return code, dict(line.split("=", 1) for line in output.splitlines()), summary, error


@pytest.mark.parametrize(
    ("rows", "rates", "verdict", "code"),
    [
        (4000, (0.85, 0.85), "certified", 0),
        (4000, (0.9, 0.6), "refuted", 1),
        (120, (0.85, 0.8), "undecided", 3),
    ],
)
def test_the_exit_code_is_the_verdict(tmp_path, monkeypatch, rows, rates, verdict, code):
    whole = verdict == "refuted"  # once as the Action runs it
    found, outputs, summary, error = gate(tmp_path, monkeypatch, rows=rows, rates=rates, whole=whole)
    assert (found, outputs.get("verdict")) == (code, verdict), error
    assert verdict.capitalize() in summary
    assert "| a |" in summary
    assert json.loads(Path(outputs["certificate"]).read_text())["verdict"] == verdict


def test_undecided_may_be_a_warning(tmp_path, monkeypatch):
    assert gate(tmp_path, monkeypatch, rows=120, rates=(0.85, 0.8), UNDECIDED="warn")[0] == 0


def test_a_missing_column_is_wrong_use(tmp_path, monkeypatch):
    found, _, _, error = gate(tmp_path, monkeypatch, rows=120, rates=(0.85, 0.8), TRUTH="paid")
    assert found == 2
    assert "paid" in error
    found, _, _, error = gate(tmp_path, monkeypatch, rows=120, rates=(0.85, 0.8), PREDICTIONS="said")
    assert found == 2
    assert "said" in error
