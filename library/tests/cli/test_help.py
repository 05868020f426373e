"""Every command shows an example that its own options accept, and an installation is explained."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from fairask import installation
from fairask.cli._app import SECTIONS, app, plugins
from fairask.cli._errors import EXTRAS

GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
COMMANDS = [
    (name,) if not isinstance(command, TyperGroup) else (name, part)
    for name, command in GROUP.commands.items()
    for part in (command.commands if isinstance(command, TyperGroup) else [""])
]


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), prog_name="fairask")
    assert result.exit_code == 0, result.output
    return result.output


def test_every_command_is_in_one_group_of_the_help() -> None:
    assert isinstance(GROUP, TyperGroup)
    sections = [*SECTIONS.values(), *(part for plugin in plugins() for part in plugin.SECTIONS.values())]
    assert sorted(GROUP.commands) == sorted(name for commands in sections for name in commands)
    shown = run("-h").splitlines()
    for commands in sections:
        for name, words in commands.items():
            assert f"  {name:<8}  {words}" in shown
    assert len(shown) < 60


@pytest.mark.parametrize("words", [(), *COMMANDS, ("connect",), ("datasets",)], ids=" ".join)
def test_help_fits_80_columns_cuts_nothing_and_has_words_for_values(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*words, "-h")
    assert shown == run(*words, "--help")
    # What is cut ends in dots after a small letter; an argument that repeats has capitals.
    assert not re.search(r"[a-z,;]\.\.\.$|…", shown, re.M)
    assert not re.search(r"<\w+[\[>]|list\[", shown), "a type of Python is no word"
    assert all(
        len(line) <= 80 for line in shown.splitlines() if "fairask connect labelstudio https" not in line
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_example_in_the_help_is_accepted(words: tuple[str, ...]) -> None:
    command: Any = GROUP
    for name in words:
        command = command.commands[name]
    assert command.epilog, f"fairask {' '.join(words)} --help shows no example"
    for line in command.epilog.removeprefix("Example: ").splitlines():
        program, *rest = shlex.split(line)
        assert (program, *rest[: len(words)]) == ("fairask", *words)
        command.make_context(words[-1], rest[len(words) :])  # raises where an option is not known or missing
        assert f"\n  {line}\n" in run(*words, "--help")


def test_the_doctor_names_what_an_extra_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ibis(name: str) -> str:
        if name == "ibis-framework":
            raise PackageNotFoundError(name)
        return "0.1" if name == "pyarrow" else "99"

    monkeypatch.setattr(installation, "version", without_ibis)
    lacks = installation.missing("ibis")
    assert any(lack.startswith("ibis-framework") for lack in lacks)
    assert any(lack.startswith("pyarrow>=15 (found 0.1)") for lack in lacks)
    shown = run("doctor")
    assert "pip install 'fairask[ibis]'" in shown
    states = {f["what"]: f["state"] for f in json.loads(run("doctor", "--json"))["findings"]}
    assert states["[ibis]"] == "missing"
    assert states["[fairlearn]"] == "ok"


def test_the_doctor_and_the_remedies_know_every_extra() -> None:
    folder = Path(__file__).parents[2]
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    assert extras <= set(installation.PURPOSES)
    found = [f["what"] for f in json.loads(run("doctor", "--json"))["findings"] if f["what"].startswith("[")]
    assert {f"[{extra}]" for extra in extras} <= set(found) <= {f"[{e}]" for e in installation.PURPOSES}
    # matplotlib comes with several extras, and no module is called parquet.
    ours = {extra for extra in EXTRAS.values() if not extra.startswith("fairask-studio")}
    assert ours == extras - {"plot", "parquet"}
