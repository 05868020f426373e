"""Every question on the page "Which certificate do I need" leads to a command that runs."""

import shlex

import pytest

from tests.docs.test_pages import DOCS, blocks

pytest.importorskip("typer")

from typer.testing import CliRunner

from fairask.cli._app import app
from tests.docs.test_start import commands

PAGE = "guides/which-certificate.md"


@pytest.mark.slow
def test_the_commands_of_the_page_run_in_its_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(DOCS / PAGE)[0], PAGE, "exec"), {})
    found = {}
    for command in commands(PAGE):
        few = ["--runs", "20"] if "--plan" in command or "--truth" in command else []
        done = CliRunner().invoke(app, [*shlex.split(command)[1:], *few], prog_name="fairask")
        assert done.exit_code in (0, 3), command + "\n" + done.output  # 3: labels are awaited
        found[command] = done.output
    assert len(found) == 10
    (exact,) = [text for command, text in found.items() if "four-fifths" in command]
    assert "computed on the whole pool" in exact
    (half,) = [text for command, text in found.items() if "stated_sex" in command]
    rows = [line.lstrip("> ").split() for line in half.splitlines() if "%" in line and line[:9].strip("> ")]
    chances = {row[1] for row in rows if row[0].replace(",", "").isdigit()}
    assert chances == {"0%"}, "the page says that no budget leads to a certificate"
