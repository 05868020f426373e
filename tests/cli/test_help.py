"""Every command shows an example that its own options accept; a word and an installation are explained."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from fairask.cli import doctor
from fairask.cli._app import app
from fairask.report.terms import TERMS, Term, explain

GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
COMMANDS = [name for name, command in GROUP.commands.items() if not isinstance(command, TyperGroup)]


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), prog_name="fairask")
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_in_the_help_is_accepted(name: str) -> None:
    assert isinstance(GROUP, TyperGroup)
    command = GROUP.commands[name]
    assert command.epilog, f"fairask {name} --help shows no example"
    program, first, *rest = shlex.split(command.epilog.removeprefix("Example: "))
    assert (program, first) == ("fairask", name)
    command.make_context(name, rest)  # raises where an option or an argument is not known or missing


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_is_explained_by_each_of_its_names(term: Term) -> None:
    for name in (term.name, *term.also):
        assert explain(name.upper().replace(" ", "-")) is term


def test_explain_prints_one_word_or_all() -> None:
    assert "largest difference" in run("explain", "gap")
    assert set(json.loads(run("explain", "--json"))) == {term.name for term in TERMS}


def test_the_doctor_names_what_an_extra_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_dask(name: str) -> str:
        if name == "dask":
            raise PackageNotFoundError(name)
        return "0.1" if name == "pyarrow" else "99"

    monkeypatch.setattr(doctor, "version", without_dask)
    lacks = doctor.missing("dask")
    assert lacks[0] == "dask"
    assert any(lack.startswith("pyarrow>=15 (found 0.1)") for lack in lacks)
    shown = run("doctor")
    assert "pip install 'fairask[dask]'" in shown
    states = {f["what"]: f["state"] for f in json.loads(run("doctor", "--json"))["findings"]}
    assert states["[dask]"] == "missing"
    assert states["[fairlearn]"] == "ok"
