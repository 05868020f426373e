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
    for part in ("library", "studio"):
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT / part, cwd=out)
    return out


@pytest.fixture(scope="module")
def wheel(dist):
    return next(dist.glob("fairask-*.whl"))


def environment(folder, *wheels):
    """A new environment with these wheels and what they need."""
    venv = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=folder)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "-q", "--no-compile"]
    run(*pip, "--disable-pip-version-check", "-c", ROOT / "constraints.txt", *wheels, cwd=folder)
    return venv / "bin"


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """An environment with the library and the libraries of its core, and no extra."""
    return environment(tmp_path_factory.mktemp("bare"), wheel)


@pytest.mark.parametrize(("part", "package"), [("library", "fairask"), ("studio", "fairask_studio")])
def test_a_wheel_holds_its_package_with_its_data_and_nothing_else(dist, part, package):
    names = zipfile.ZipFile(next(dist.glob(f"{package}-*.whl"))).namelist()
    assert f"{package}/py.typed" in names
    assert {re.sub(r"-.*\.dist-info", "", name.split("/")[0]) for name in names} == {package}
    tracked = run("git", "ls-files", f"{part}/src/{package}", cwd=ROOT).stdout.split("\n")
    missing = {path.removeprefix(f"{part}/src/") for path in tracked if path} - set(names)
    assert not missing


@pytest.mark.parametrize("package", ["fairask", "fairask_studio"])
def test_an_sdist_holds_its_tests(dist, package):
    with tarfile.open(next(dist.glob(f"{package}-*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/__init__.py"} <= names


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


def test_the_library_alone_knows_no_studio_and_says_what_to_install(dist, tmp_path):
    library = environment(tmp_path, f"{next(dist.glob('fairask-*.whl'))}[cli]")
    code = "import fairask, importlib.util as u; print(u.find_spec('fairask_studio'))"
    assert run(library / "python", "-c", code, cwd=tmp_path).stdout.strip() == "None"
    done = run(library / "fairask", "new", "loans.csv", cwd=tmp_path, code=2)
    assert "'fairask new' belongs to the studio" in done.stderr
    assert "pip install ./studio" in done.stderr


def test_the_studio_makes_a_study_that_is_asked_and_told(dist, tmp_path):
    studio = environment(tmp_path, next(dist.glob("fairask-*.whl")), next(dist.glob("fairask_studio-*.whl")))
    rows = [f"{i % 2},{i % 7},{'ab'[i % 3 > 0]}" for i in range(200)]
    (tmp_path / "rows.csv").write_text("\n".join(["debt,age,sex", *rows]))
    fairask = studio / "fairask"
    run(fairask, "new", "rows.csv", "--protected", "sex", "--classes", "no,yes", "--to", "s", cwd=tmp_path)
    run(fairask, "ask", "s", "-n", "4", "-o", "batch.csv", cwd=tmp_path)
    head, *lines = (tmp_path / "batch.csv").read_text().splitlines()
    place = head.split(",").index("label")
    filled = [line.split(",") for line in lines]
    for line in filled:
        line[place] = "yes"
    (tmp_path / "batch.csv").write_text("\n".join([head, *(",".join(line) for line in filled)]) + "\n")
    assert "4 new labels" in run(fairask, "tell", "s", "batch.csv", cwd=tmp_path).stdout
