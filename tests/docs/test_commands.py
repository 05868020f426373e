"""Every command that a page names starts: its module can be imported and takes its options."""

import argparse
import importlib
import re
import runpy
import shlex
import sys

import pytest

from tests.docs.test_pages import PAGES, ROOT, name

pytest.importorskip("typer")

import typer

from fairask.cli._app import app

#: Pages of the past: their commands are those of old versions.
OLD = {"CHANGELOG.md", "docs/develop/changes.md"}
TEXTS = {name(page): page.read_text("utf-8") for page in PAGES if name(page) not in OLD}


def programs():
    """``python -m benchmarks.X ...`` and ``python -m paper ...`` of all pages, each once."""
    found = {
        " ".join(words.split())
        for text in TEXTS.values()
        for words in re.findall(r"`python -m ((?:benchmarks\.|paper)[^`]*)`", text)
    }
    assert len(found) > 40
    return sorted(found)


def test_no_page_names_a_benchmark_by_its_file():
    """A file of benchmarks/ does not find its neighbours unless it runs as a module."""
    for page, text in TEXTS.items():
        assert not re.search(r"python3? benchmarks/", text), page


@pytest.mark.slow
def test_benchmarks_of_all_pages_start_and_take_their_options(monkeypatch):
    class Parsed(Exception):
        """The options were taken: nothing of the benchmark runs."""

    parse = argparse.ArgumentParser.parse_args

    def stop(parser, *rest, **options):
        parse(parser, *rest, **options)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.syspath_prepend(str(ROOT))
    for command in programs():
        module, *options = [word for word in shlex.split(command) if not re.match(r"^\[|.*\]$", word)]
        source = (ROOT / module.replace(".", "/")).with_suffix(".py")
        source = source if source.exists() else source.with_suffix("") / "__main__.py"
        assert source.exists(), command
        if command == "paper":  # the program as a whole
            continue
        if "import argparse" not in source.read_text("utf-8"):
            assert not options, command
            importlib.import_module(module)
            continue
        monkeypatch.setattr(sys, "argv", [str(source), *options])
        try:
            with pytest.raises(Parsed):
                runpy.run_module(module, run_name="__main__", alter_sys=False)
        except SystemExit as end:
            raise AssertionError(f"{command}: {end}") from end


def shell_lines(text):
    """Commands in blocks without a language or of a shell, and in the running text."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.S | re.M)
    lines = [line.split(" #")[0] for block in blocks for line in block.splitlines()]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [*lines, *(" ".join(found.split()) for found in re.findall(r"`(fairask [^`]+)`", prose))]


def test_commands_of_fairask_use_options_that_exist():
    known = typer.main.get_command(app)
    seen = 0
    for page, text in TEXTS.items():
        for line in shell_lines(text):
            found = re.match(r"(?:docker compose run --rm )?fairask ([a-z]+)\b(.*)", line.strip())
            if not found:
                continue
            command, rest = known.commands.get(found[1]), found[2]
            assert command is not None, f"{page}: {line}"
            if isinstance(command, typer.core.TyperGroup):
                word = (rest.split() or [""])[0]
                command, rest = command.commands.get(word, command), rest.replace(word, "", 1)
            options = {
                o
                for p in command.params
                for o in (*p.opts, *p.secondary_opts)
                if p.param_type_name == "argument" or not p.hidden
            }
            options |= {"--help", "--debug"}
            for option in re.findall(r"(?<![\w-])(--[a-z][\w-]*)", rest):
                assert option in options, f"{page}: {line}"
                seen += 1
    assert seen > 60
