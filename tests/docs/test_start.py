"""The commands of the first pages work, in the order in which a reader types them."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.test_pages import DOCS, blocks

pytest.importorskip("sqlalchemy")
pytest.importorskip("typer")

from typer.testing import CliRunner

from fairask.cli._app import app

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Run a command of a page in an empty folder, in this process: a process per command costs seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(command):
        program, *words = shlex.split(command, comments=True)
        assert program == "fairask"
        done = CliRunner().invoke(app, words, prog_name="fairask")
        awaited = "Label" in done.output and words[0] == "audit"
        assert done.exit_code == (3 if awaited else 0), command + "\n" + done.output
        return done.output

    return run


def commands(page):
    """The lines of all blocks of a page that name no language: what is typed into a shell."""
    found, fence = [], None
    for line in (DOCS / page).read_text("utf-8").splitlines():
        if line.startswith("```"):
            fence = line[3:] if fence is None else None
        elif fence == "" and line.strip():
            found.append(line)
    return found


def answer(batch="batch.csv", answers="answers.csv"):
    """Fill in the labels as the person of the page would."""
    with Path(answers).open(newline="") as file:
        truth = [row["answer"] for row in csv.DictReader(file)]
    with Path(batch).open(newline="") as file:
        table = csv.DictReader(file)
        rows, fields = list(table), table.fieldnames
    with Path("loans.csv").open(newline="") as file:
        pool = list(csv.DictReader(file))
    for row in rows:
        number = int(row["row"])  # the study's rows count from 0
        assert float(pool[number]["age"]) == float(row["age"])
        row["label"] = truth[number]
    with Path(batch).open("w", newline="") as file:
        out = csv.DictWriter(file, fields)
        out.writeheader()
        out.writerows(rows)
    return len(rows)


def test_from_a_table_to_a_model(shell, tmp_path):
    exec(compile(blocks(DOCS / "start/own-table.md")[0], "own-table.md", "exec"), {})
    new, ask, tell, status, export = commands("start/own-table.md")
    shell(new)
    for _ in range(4):
        shell(ask)
        assert answer() == 25
        shell(tell)
    assert "100" in shell(status)
    shell(export)
    assert (tmp_path / "out" / "report.html").exists()
    space = {}
    exec(compile(blocks(DOCS / "start/own-table.md")[1], "own-table.md", "exec"), space)
    # With 100 labels the constant answer may be the best that is fair.
    assert set(space["model"].predict(space["people"])) <= {"bad", "good"}


def test_an_audit_begins_as_the_page_says(shell, tmp_path):
    exec(compile(blocks(DOCS / "start/audit.md")[0], "audit.md", "exec"), {})
    simulated, begun = commands("start/audit.md")
    assert "certify" in shell(simulated)
    assert "rows-1.csv" in shell(begun)


def test_simulate_takes_the_options_of_its_guide(shell):
    text = (DOCS / "guides/simulate.md").read_text("utf-8")
    known = shell("fairask simulate --help")
    for option in re.findall(r"^\| `(--[\w-]+)", text, re.M):
        assert option in known
