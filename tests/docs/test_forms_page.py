"""The commands of the pages on forms and signatures run in their order."""

import shlex

import pytest

from tests.docs.test_pages import DOCS, blocks

pytest.importorskip("typer")

from typer.testing import CliRunner

from fairask.cli._app import app
from tests.docs.test_start import commands


def test_the_forms_of_the_page_are_made(tmp_path, monkeypatch):
    page = "guides/forms.md"
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(DOCS / page)[0], page, "exec"), {})
    made = []
    for command in commands(page):
        done = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="fairask")
        wanted = (0,) if "report" in command else (0, 1, 3)
        assert done.exit_code in wanted, command + "\n" + done.output
        made += [command] if "report" in command else []
    assert len(made) == 4
    assert len(list(tmp_path.rglob("*.html"))) == 4 + 3
