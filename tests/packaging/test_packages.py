"""Wheel and sdist are complete, and the wheel works in an environment that has nothing else."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def run(*command, cwd, code=0):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return out


@pytest.fixture(scope="module")
def wheel(dist):
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """An environment with the wheel and the libraries of the core, and no extra."""
    venv = tmp_path_factory.mktemp("bare") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=venv.parent)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "-q", "--no-compile"]
    run(*pip, "--disable-pip-version-check", "-c", ROOT / "constraints.txt", wheel, cwd=venv.parent)
    return venv / "bin"


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "fairask/py.typed" in names
    assert {re.sub(r"-.*\.dist-info", "", name.split("/")[0]) for name in names} == {"fairask"}
    tracked = run("git", "ls-files", "src/fairask", cwd=ROOT).stdout.split("\n")
    missing = {path.removeprefix("src/") for path in tracked if path} - set(names)
    assert not missing


def test_the_sdist_can_be_tested_and_its_docs_built(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "constraints.txt", "Makefile", "docs/conf.py", "tests/conftest.py"}
    assert needed | {"examples/GALLERY_HEADER.rst"} <= names
    assert not [name for name in names if re.match(r"docs/(_build|api|gallery)/", name)]


def test_twine_finds_nothing_wrong(dist):
    pytest.importorskip("twine")
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir(), cwd=dist)


def test_the_wheel_alone_learns(bare, tmp_path):
    code = (
        "from fairask import FairActiveLearner; from fairask.datasets import load; d = load('german');"
        "f = FairActiveLearner(d.X, d.groups, random_state=0); q = f.ask(); "
        "f.tell(q.indices, d.y[q.indices]); print(len(f.model_.predict(d.X, sensitive_features=d.groups)))"
    )
    assert run(bare / "python", "-c", code, cwd=tmp_path).stdout.strip() == "1000"


@pytest.mark.parametrize("command", [["fairask"], ["python", "-m", "fairask"]], ids=" ".join)
def test_the_version_is_told_without_extras(bare, tmp_path, command):
    import fairask

    done = run(bare / command[0], *command[1:], "--version", cwd=tmp_path)
    assert done.stdout.strip() == f"fairask {fairask.__version__}"


def test_a_command_without_its_extra_names_it(bare, tmp_path):
    done = run(bare / "fairask", "demo", cwd=tmp_path, code=None)
    assert done.returncode != 0
    assert "fairask[cli]" in done.stderr
    assert "Traceback" not in done.stderr
