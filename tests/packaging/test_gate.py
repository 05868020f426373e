"""The Action's gate: its exit code is the verdict, and the verdict is Python's."""

import contextlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from fairask.cli._app import app
from studio.tests.forked import fairask_command

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
GATE = ROOT / ".github" / "gate"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
#: The step of the Action that audits: its environment and its command.
STEP = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "audit")
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


def environment(folder, **inputs):
    """Return what the Action's step sees: each input as given, or as action.yml has it by default."""
    values = {f"inputs.{name}": str(what.get("default", "")) for name, what in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {"runner.temp": str(folder), "github.action_path": str(ROOT)}
    filled = {
        name: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: values[found[1]], text)
        for name, text in STEP["env"].items()
    }
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary.md"}
    return {**os.environ, "RUNNER_TEMP": str(folder), **{k: str(v) for k, v in files.items()}, **filled}


def gate(folder, monkeypatch=None, *, rows, rates, whole=False, **inputs):
    """Run the gate on a generated table, by action.yml; return exit code, outputs and summary."""
    table = folder / "scored.csv"
    subprocess.run([sys.executable, GATE / "make_table.py", table, str(rows), *map(str, rates)], check=True)
    required = {"table": str(table), "predictions": "approved", "protected": "sex", "truth": "repaid"}
    assert {name for name, what in ACTION["inputs"].items() if what.get("required")} == set(required)
    env = environment(folder, **{**required, **inputs})
    if whole:
        programs = folder / "fairask" / "bin"
        programs.mkdir(parents=True)
        (programs / "python").symlink_to(sys.executable)
        with fairask_command(programs):
            done = subprocess.run(["bash", "-c", STEP["run"]], env=env, capture_output=True, text=True)
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
    made = json.loads(Path(outputs["certificate"]).read_text())
    assert made["verdict"] == verdict
    # No limit is rounded towards what it encloses, beyond the error of floating point.
    low, high = map(float, re.search(r"bounds \[(.+), (.+)\]", summary).groups())
    exact = made["certificates"]["population"]
    assert exact["lower"] - 1.1e-4 < low <= exact["lower"] + 1e-10
    assert exact["upper"] - 1e-10 <= high < exact["upper"] + 1.1e-4


def test_undecided_may_be_a_warning(tmp_path, monkeypatch):
    assert gate(tmp_path, monkeypatch, rows=120, rates=(0.85, 0.8), undecided="warn")[0] == 0


def test_a_missing_column_is_wrong_use(tmp_path, monkeypatch):
    found, _, _, error = gate(tmp_path, monkeypatch, rows=120, rates=(0.85, 0.8), truth="paid")
    assert found == 2
    assert "paid" in error
    found, _, _, error = gate(tmp_path, monkeypatch, rows=120, rates=(0.85, 0.8), predictions="said")
    assert found == 2
    assert "said" in error


def test_each_input_of_the_action_reaches_the_audit(tmp_path, monkeypatch):
    inputs = {"metric": "fprp", "tolerance": "0.3", "delta": "0.1", "positive": "1"}
    found, outputs, summary, error = gate(
        tmp_path, monkeypatch, rows=4000, rates=(0.9, 0.6), undecided="warn", **inputs
    )
    assert (found, outputs.get("verdict")) == (0, "certified"), error
    made = json.loads(Path(outputs["certificate"]).read_text())["certificates"]["population"]
    assert (made["metric"], made["tolerance"], made["delta"]) == ("fprp", 0.3, 0.1)
    assert "at most 0.3" in summary


def test_a_group_is_no_markdown():
    named = "a|![x](https://evil.example/x.png)<b>"
    certificate = {"rates": {"tpr": [0.5, None]}, "groups": [named, "b"]}
    said = runpy.run_path(str(GATE / "gate.py"))["summary"](
        certificate, f"Refuted: {named} and b\n  bounds [0, 1]\n"
    )
    escaped = r"a\|!\[x\](https://evil.example/x.png)\<b\>"
    assert f"| {escaped} | 0.500 |" in said
    assert f"**Refuted: {escaped} and b**" in said
