"""Files that other machines read: workflows, the Action, containers, the conda recipe, the citation."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fairask
import fairask_studio

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "library" / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(path):
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_a_workflow_has_least_rights_limits_and_pinned_actions(path):
    flow = load(path)
    assert flow["permissions"] == {"contents": "read"}
    for job in flow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step and step["uses"] != "./":
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+)", step["uses"])


def test_every_supported_python_is_tested():
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert (
        load(ROOT / ".github/workflows/tests.yml")["jobs"]["check"]["strategy"]["matrix"]["python"] == named
    )


def test_a_release_is_published_without_a_secret():
    flow = load(ROOT / ".github/workflows/release.yml")
    assert flow["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_the_action_passes_its_inputs_by_the_environment_only():
    action = load(ROOT / "action.yml")
    assert action["runs"]["using"] == "composite"
    used = set()
    for step in action["runs"]["steps"]:
        # An expression inside a script would let an input run as code.
        assert "${{" not in step["run"]
        used |= set(re.findall(r"inputs\.(\w+)", " ".join(step["env"].values())))
    assert used == set(action["inputs"])


def test_no_file_of_the_repository_runs_in_place_of_pythons_own(tmp_path):
    install = load(ROOT / "action.yml")["runs"]["steps"][0]["run"]
    for name in ("venv.py", "pip.py"):
        (tmp_path / name).write_text("raise SystemExit('the repository ran')")
    modules = re.findall(r'" ((?:-\w )*-m \w+)', install)
    assert len(modules) == 2
    for module in modules:
        done = subprocess.run([sys.executable, *module.split(), "--help"], cwd=tmp_path, capture_output=True)
        assert (done.returncode, b"usage" in done.stdout.lower()) == (0, True), done.stderr


def test_the_guide_lists_the_inputs_of_the_action():
    inputs = load(ROOT / "action.yml")["inputs"]
    guide = (ROOT / "docs/guides/gate.md").read_text("utf-8")
    assert [name for name in inputs if f"`{name}`" not in guide] == []


def instructions():
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_container_runs_without_rights_and_says_if_it_is_well():
    lines = instructions()
    words = [word for word, _ in lines]
    assert words[0] == "FROM"
    assert "USER" in words
    assert "HEALTHCHECK" in words
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert next(rest for word, rest in lines if word == "USER") not in ("root", "0")
    for word, rest in lines:
        if word == "FROM":
            assert re.match(r"python:3\.\d+-slim", rest), "a base image has a version"
        if word == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
        assert word not in ("ADD", "MAINTAINER")
        if "pip install" in rest:
            assert "--no-cache-dir" in rest


def test_what_the_container_copies_is_not_ignored():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        s
        for word, rest in instructions()
        if word == "COPY" and "--from" not in rest
        for s in rest.split()[:-1]
    }
    assert copied <= kept


def test_the_compose_file_waits_for_a_healthy_database_and_holds_no_password():
    compose = load(ROOT / "compose.yaml")
    database, studio = compose["services"]["database"], compose["services"]["studio"]
    assert studio["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in database
    assert all(str(port).startswith("127.0.0.1:") for port in studio["ports"])
    assert "POSTGRES_PASSWORD" not in database["environment"]
    assert ".postgres-password" in (ROOT / ".gitignore").read_text()


def test_the_devcontainer_is_json_and_uses_the_makefile():
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    target = settings["postCreateCommand"].split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.M)


def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    text = (ROOT / "conda.recipe/meta.yaml").read_text("utf-8")
    assert f'set version = "{PROJECT["version"]}"' in text
    recipe = load_recipe(text)
    assert recipe["requirements"]["run"][1:] == [re.sub(r"(>=)", r" \1", d) for d in PROJECT["dependencies"]]
    assert recipe["build"]["entry_points"] == [f"fairask = {PROJECT['scripts']['fairask']}"]


def load_recipe(text):
    return yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", re.sub(r"\{%.*?%\}", "", text)))


def test_one_version_everywhere():
    citation = load(ROOT / "CITATION.cff")
    studio = tomllib.loads((ROOT / "studio" / "pyproject.toml").read_text("utf-8"))["project"]
    assert fairask.__version__ == PROJECT["version"] == str(citation["version"])
    assert fairask_studio.__version__ == studio["version"] == PROJECT["version"]
    assert f"fairask[cli]=={PROJECT['version']}" in studio["dependencies"]
