"""Names and cells that would steer a terminal, turn writing round or run in a spreadsheet do none of it.

One hostile table goes through every command that reads tables; what is printed and written is searched.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from fairask.audit.certificate import written
from fairask.cli._app import app
from fairask.cli._screen import console
from fairask.report.words import visible

N = 120
#: Clears the screen, sets the window's title, a control sequence of one byte, turned writing, a bell.
STEERS = ("\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\u202egnp.exe", "\x7f", "\x08\x08")
GROUPS = [f"men{''.join(STEERS)}", "women\u2066\u061c"]
COLUMN = "in\x1b[31mcome"
#: Characters that none may be in what is printed or written as text.
OBEYED = {
    chr(c)
    for c in (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F), 0x2066, 0x061C)
}


#: A line break in a name, and what it would write into a line of its own.
BREAK = "\r\nFORGED: certified\nFORGED\rFORGED"
FORGED = re.compile(r"(?m)^\s*FORGED|\rFORGED")


def table(path: Path) -> Path:
    """Write the hostile table."""
    columns = {
        COLUMN: [float(i * 7 % 31) for i in range(N)],
        "note\u202e": [("=cmd|' /C calc'!A0", "plain\x1b[2J", "@SUM(A1)", "-2+3")[i % 4] for i in range(N)],
        "sex": [GROUPS[i % 2] for i in range(N)],
        "said": [("yes\x1b[2J", "no")[i % 3 == 0] for i in range(N)],
        "paid": [("yes\x1b[2J", "no")[i % 31 * 7 % 31 > 15] for i in range(N)],
    }
    pq.write_table(pa.table(columns), path)
    return path


Run = Callable[..., str]


@pytest.fixture
def fairask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run a command; return what it printed, in which nothing steers a terminal."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, code: int | None = 0) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = CliRunner().invoke(app, [str(word) for word in words])
        printed = found.stdout + found.stderr
        assert code is None or found.exit_code == code, printed
        assert not OBEYED & {*printed}, repr(printed)
        assert not FORGED.search(printed), printed
        return printed

    yield run
    for file in tmp_path.rglob("*"):
        if file.suffix in (".csv", ".txt", ".html", ".md", ".json", ".jsonl"):
            text = file.read_text("utf-8")
            assert not OBEYED & {*text}, (file, OBEYED & {*text})
        if file.suffix == ".txt":
            assert not FORGED.search(file.read_text("utf-8")), file
        if file.suffix == ".csv":
            for row in csv.reader(io.StringIO(file.read_text("utf-8"))):
                assert not [cell for cell in row if cell[:1] in ("=", "@") or cell[:2] == "-2"], row


@pytest.mark.usefixtures("few_trees")
def test_no_command_lets_a_table_steer_the_terminal(fairask: Run, tmp_path: Path) -> None:
    pool = table(tmp_path / "t.parquet")
    shown = visible(GROUPS[0])
    named = ("--protected", "sex", "--positive", "yes\x1b[2J")
    assert shown in fairask("audit", pool, "--predictions", "said", *named, "--budget", 40, code=None)
    fairask("audit", pool, "--predictions", "said", *named, "--budget", 40, "--json", code=None)
    fairask("audit", pool, "--predictions", "said", *named, "--truth", "paid", "--runs", 5, code=None)
    fairask("audit", pool, "--predictions", "said", *named, "--plan", "--runs", 5, code=None)
    fairask("audit", pool, "--predictions", "said", "--protected", "nobody\x1b[2J", code=2)
    sheet = tmp_path / "t.audit" / "rows-1.csv"
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8"))))
    with sheet.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": "yes\x1b[2J" if i % 2 else "no"} for i, row in enumerate(rows))
    # Its cells are shown, not as they are in the table, and still those of the table.
    fairask("audit", pool, "--tell", sheet, code=None)
    sheet.unlink()
    fairask("verify", tmp_path / "t.audit", code=None)
    simulate = ("simulate", pool, "--label", "paid", *named, "--budget", 20, "--batch", 10, "--trials", 1)
    assert "\\x1b[31mcome" in fairask(*simulate, "--jobs", 1, "--drop", "said,nobody", code=2)
    fairask(*simulate, "--jobs", 1)
    fairask(*simulate, "--jobs", 1, "--json")
    made = ("new", pool, "--protected", "sex", "--drop", "said,paid", "--to", "s", "--batch", 8)
    assert shown in fairask(*made, "--budget", 20, "--seed", 1)
    fairask("ask", "s", "-o", "b.csv", "--as", "ada")
    fairask("ask", "s", "-o", "b.json", "--as", "eve")
    lines = list(csv.DictReader(io.StringIO(Path("b.csv").read_text("utf-8"))))
    Path("told.parquet").unlink(missing_ok=True)
    told = {name: [line[name] for line in lines] for name in lines[0]} | {"label": ["0", "1"] * 4}
    pq.write_table(pa.table(told), "told.parquet")
    fairask("tell", "s", "told.parquet", "--as", "ada")
    fairask("status", "s")
    fairask("status", "s", "--json")
    fairask("export", "s")
    fairask("verify", "s")
    fairask("study", "flags", "s", code=None)
    fairask("study", "people", "s", code=None)
    fairask("study", "gold", "s", code=None)
    fairask("tell", "s", "no\x1b[2Jfile.csv", code=2)


@pytest.mark.usefixtures("few_trees")
def test_no_name_and_no_text_begins_a_line_of_its_own(fairask: Run, tmp_path: Path) -> None:
    columns = {
        f"income{BREAK}": [float(i * 7 % 31) for i in range(N)],
        f"sex{BREAK}": [(f"men{BREAK}", "women")[i % 2] for i in range(N)],
        f"said{BREAK}\x9b\u202e": [("yes", "no")[i % 3 == 0] for i in range(N)],
        f"paid{BREAK}": [("yes", "no")[i % 5 == 0] for i in range(N)],
    }
    _, sex, said, paid = columns
    pool = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), pool)
    audit = ("audit", pool, "--predictions", said, "--protected", sex, "--positive", "yes")
    shown = "sex\\r\\nFORGED: certified\\nFORGED"
    assert shown in fairask(*audit, "--known", paid, "--out", "k", code=None)
    assert shown in Path("k", "certificate.txt").read_text("utf-8")
    assert shown in fairask("verify", "k")
    certificate = Path("k", "certificate.json")
    made = json.loads(certificate.read_text("utf-8"))
    made["made_from"]["table"] += BREAK
    certificate.write_text(written(made), "utf-8")
    fairask("verify", "k", code=1)
    fairask(*audit, "--budget", 40, "--out", "a", code=None)
    fairask("new", pool, "--protected", sex, "--drop", f"{said},{paid}", "--to", "s", "--batch", 8)
    fairask("ask", "s", "-o", "b.csv", "--as", "ada")
    row = next(csv.DictReader(io.StringIO(Path("b.csv").read_text("utf-8"))))["row"]
    fairask("study", "flags", "s", "--row", row, "--text", f"why{BREAK}", "--as", "ada")
    assert "why\\r\\nFORGED" in fairask("study", "flags", "s")
    fairask("study", "gold", "s", "--mark", 0, "--label", 1, "--why", f"so{BREAK}")
    fairask("status", "s")
    fairask("study", "backup", "s", "--to", f"copy{BREAK}")
    fairask("export", "s", "-o", f"out{BREAK}")
    fairask("studio", "s", "--host", "a\x9b.example", "--no-open", code=2)


def test_colours_of_our_own_stay_and_those_of_data_are_shown() -> None:
    out = io.StringIO()
    screen = console(no_color=False)
    screen._force_terminal, screen.file = True, out  # type: ignore[assignment]
    screen.print("a\x1b[2Jb", style="bold", markup=False)
    screen.print(Text("c\x9bd", style="red"))
    assert "a\\x1b[2Jb" in out.getvalue()
    assert "c\\u009bd" in out.getvalue()
    assert isinstance(screen, Console)


def test_what_processes_beside_the_server_write_cannot_steer_a_terminal() -> None:
    code = (
        "import logging, warnings; from fairask_studio.pages.processes import begin_process;"
        "begin_process('fairask-test', nice=0); text = 'column a\\x1b[2J\\u202e';"
        "print(text); warnings.warn(text); logging.getLogger('any').error(text)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    for printed in (done.stdout, done.stderr):
        text = printed.decode("utf-8")
        assert "column a\\x1b[2J\\u202e" in text
        assert not OBEYED & {*text}


def test_what_is_shown_of_json_is_the_same_json() -> None:
    text = json.dumps([*STEERS, "\ud800", "x\u2028"], ensure_ascii=False)
    assert json.loads(visible(text)) == json.loads(text)
    assert not OBEYED & {*visible(text)}
