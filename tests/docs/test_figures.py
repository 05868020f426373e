"""Figures on the pages are those that the command beside them prints, where it takes under a minute."""

import csv
import os
import re
import runpy
import shlex
import subprocess
import sys

import pytest

from tests.docs.test_pages import DOCS, ROOT, blocks

pytestmark = pytest.mark.slow


def run(command, cwd):
    """Run a command of a page with this Python and this checkout."""
    program, *rest = shlex.split(command)
    head = {
        "python": [sys.executable],
        "fairask": [sys.executable, "-c", "from fairask.cli import main; main()"],
    }
    paths = os.pathsep.join(str(ROOT / path) for path in ("library/src", "studio/src", ""))
    env = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [*head[program], *rest], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    # An audit that awaits labels ends with 3: it has certified nothing yet; the doctor with 1: blocked.
    awaited, blocked = "\nThen: fairask audit" in done.stdout, "  blocked  " in done.stdout
    assert done.returncode == (3 if awaited else int(blocked)), done.stderr
    return done.stdout


def lines(text):
    """The lines that are the same in every run: not the time it took, nor whether all claims held."""
    varies = re.compile(r"^(took \d.*|\w+: holds)$", re.M)
    return [line.rstrip() for line in varies.sub("", text).strip().splitlines()]


def test_the_table_of_the_readme_is_what_its_command_prints():
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"^\| table, labels .*?(?=\n\n)", readme, re.S | re.M).group()
    assert lines(shown) == lines(run("python -m benchmarks.readme_table", ROOT))


PRINTED = re.compile(
    r"^`?(?P<text>[^\n]*`(?P<command>(?:fairask|python) [^`]+)`[^\n]*prints:)\n\n```text\n(?P<shown>.*?)```",
    re.S | re.M,
)


def printed(page):
    """Commands of a page with what the page says that they print."""
    return [(m["command"], m["shown"]) for m in PRINTED.finditer((DOCS / page).read_text("utf-8"))]


def read(table):
    """The rows of a CSV file."""
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_the_page_on_certificates_shows_what_its_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writes_files = blocks(DOCS / "start" / "audit.md")[0]
    exec(compile(writes_files, "audit.md", "exec"), {})
    found = printed("certificates.md")
    assert len(found) == 3
    for command, shown in found:
        text = run(command, ROOT if command.startswith("python") else tmp_path)
        assert lines(text) == lines(shown), command
    # The labels that the page tells next, and what it then shows.
    page = (DOCS / "certificates.md").read_text("utf-8")
    sheet, truth = tmp_path / "applications.audit" / "rows-1.csv", read(tmp_path / "history.csv")
    rows = [{**row, "label": truth[int(row["row"])]["repaid"]} for row in read(sheet)]
    with sheet.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)
    (shown,) = re.findall(r"true labels it prints:\n\n```text\n(.*?)```", page, re.S)
    told = run("fairask audit applications.csv --tell applications.audit/rows-1.csv", tmp_path)
    assert lines(told) == lines(shown)


def test_the_page_on_what_a_table_allows_shows_what_its_command_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(DOCS / "guides" / "doctor.md")[0], "doctor.md", "exec"), {})
    ((command, shown),) = printed("guides/doctor.md")
    assert lines(run(command, tmp_path)) == lines(shown)


#: Commands that print what their file of results has, the page that shows it, and how many lines (None: all).
STORED = [
    ("benchmarks.promise", "concepts/promise.md", None),
    ("benchmarks.promise --hostile", "concepts/promise.md", None),
    ("benchmarks.promise --mixed", "concepts/promise.md", None),
    ("benchmarks.promise --wide --trials 6", "concepts/promise.md", 1),
    (
        "benchmarks.promise --mixed --step 2 --methods default half-price any-price "
        "--out results/promise_price.csv",
        "concepts/promise.md",
        3,
    ),
    ("benchmarks.settings", "concepts/promise.md", None),
    ("benchmarks.exploration", "strategies/fare.md", None),
    ("benchmarks.text --trials 0", "data.md", None),
    ("benchmarks.imbalanced", "questions/imbalanced.md", None),
]


# Benchmarks leave it to the end of their process to close files.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("command", "page", "most"), STORED, ids=[command for command, *_ in STORED])
def test_a_page_shows_what_its_stored_results_say(command, page, most, monkeypatch, capsys):
    text = (DOCS / page).read_text("utf-8")
    assert f"`python -m {command}`" in text
    module, *options = command.split()
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(sys, "argv", [module, *options])
    size = {path: path.stat().st_size for path in (ROOT / "results").rglob("*.csv")}
    monkeypatch.delitem(sys.modules, module, raising=False)  # another test may have imported it
    runpy.run_module(module, run_name="__main__")
    assert {path: path.stat().st_size for path in size} == size, "the results are not complete"
    shown = [line for line in capsys.readouterr().out.splitlines() if re.search(r"\d", line)]
    assert shown
    for line in shown[:most]:
        assert line.rstrip() in text, f"{page} shows other figures than {command}"
