"""Pages of the documentation: their links lead somewhere, and their Python runs."""

import importlib.util
import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Written by the build or by benchmarks; Sphinx checks their links.
GENERATED = ("_build", "api", "gallery")
PAGES = sorted(
    page
    for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    if page.relative_to(ROOT).parts[1:2] not in [(g,) for g in GENERATED]
)
#: Code that runs before a page's own: what the page's text supposes the reader to have.
SETUP = {
    "docs/certificates.md": """
import numpy as np
rng = np.random.default_rng(0)
y, sex = rng.integers(0, 2, 4000), rng.choice(["men", "women"], 4000)
approved = pred = np.where(rng.random(4000) < 0.9, y, 1 - y)
groups, look_up = sex, lambda rows: y[rows]
""",
    "docs/study.md": """
import numpy as np, pyarrow as pa
from pyarrow.csv import write_csv
rng = np.random.default_rng(0)
table = {"sex": rng.choice(["f", "m"], 200), "income": rng.normal(size=200).round(3)}
write_csv(pa.table(table), "loans.csv")
look_up = lambda row: "good" if row["income"] > 0 else "bad"
""",
    "docs/scale.md": """
import numpy as np, pathlib, pyarrow as pa
from pyarrow.parquet import write_table
rng = np.random.default_rng(0)
pathlib.Path("people").mkdir()
n = 70_000  # more than the sample
table = {"id": range(n), "sex": rng.choice(["f", "m"], n), "repaid": rng.integers(0, 2, n)}
table["income"] = rng.normal(size=n)
write_table(pa.table(table), "people/1.parquet")
""",
}
#: A place that a test has not, and what stands in for it.
STAND_INS = {"s3://bucket/people/": "people/"}
#: Pages whose code is run by tests of their own, or needs what a test has not.
ELSEWHERE = {
    "docs/strategies/README.md": "library/tests/strategies/test_docs.py runs it",
    "docs/datasets.md": "needs tables that are not in the package",
    "docs/architecture.md": "has no program",
    "docs/studio.md": "studio/tests/pages/test_label.py runs it",
    "docs/connect.md": "studio/tests/connect runs it against stand-ins for Argilla and Prodigy",
}


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_to_a_file_and_a_heading(page):
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if "concepts/img" in str(found):  # drawn by the build; its script must be there
            script = found.stem.partition("-")[0] + ".py"
            assert (DOCS / "concepts" / "pictures" / script).exists(), target
            continue
        if DOCS / "gallery" in found.parents:  # written by the build from an example
            found = (ROOT / "examples" / found.relative_to(DOCS / "gallery")).with_suffix(".py")
        assert found.exists(), f"{name(page)} links to {target}"
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"{name(page)} links to {target}"


#: Written by a program, a map of the code, and includes of other pages.
NOT_PROSE = ("docs/results", "docs/architecture.md", "docs/develop/")


@pytest.mark.parametrize("page", [p for p in PAGES if not name(p).startswith(NOT_PROSE)], ids=name)
def test_a_page_begins_with_what_the_reader_gets_and_has_no_long_paragraph(page):
    text = re.sub(r"\A---\n.*?^---\n", "", page.read_text("utf-8"), flags=re.S | re.M)
    first = text.split("\n\n")[1]
    assert re.match(r"[\w*`]", first), f"{name(page)} begins with {first[:40]!r}, not with a sentence"
    prose = re.sub(r"^(```|::::).*?^\1", "", text, flags=re.S | re.M)
    for paragraph in re.split(r"\n\s*\n|\n(?=(?:[-*]|\d+\.) )", prose):
        lines = [line for line in paragraph.strip().splitlines() if not line.startswith(("|", "    "))]
        assert len(lines) <= 7, f"{name(page)}: {len(lines)} lines from {lines[0]!r}"


def test_no_two_pages_have_one_name():
    texts = [page.read_text("utf-8") for page in PAGES if page.parent != ROOT]
    titles = [found[1] for text in texts if (found := re.search(r"^# (.+)$", text, re.M))]
    titles += [path.read_text("utf-8").split("\n")[1] for path in (ROOT / "examples").rglob("plot_*.py")]
    assert sorted(titles) == sorted(set(titles))


WITH_CODE = [page for page in PAGES if blocks(page) and name(page) not in ELSEWHERE]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairask.errors.FairaskWarning")  # advice to users is no fault of a page
@pytest.mark.usefixtures("few_trees")  # whether the code runs is the subject, not the model
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    # A page whose model comes from commands is run by tests/docs/test_start.py.
    for code in [SETUP.get(name(page), ""), *(code for code in blocks(page) if "load_model(" not in code)]:
        for place, local in STAND_INS.items():
            code = code.replace(place, local)
        exec(compile(code, name(page), "exec"), space)


@pytest.mark.parametrize("page", ELSEWHERE)
def test_every_exception_is_still_a_page(page):
    assert (ROOT / page).exists()


def test_every_strategy_has_an_example():
    from fairask.strategies import STRATEGIES

    shown = " ".join(path.read_text("utf-8") for path in (ROOT / "examples").rglob("plot_*.py"))
    assert not [s for s in STRATEGIES if f'strategy="{s}"' not in shown]


WHEELS = ("library", "studio")


def test_the_page_on_installing_lists_every_extra():
    wheels = [tomllib.loads((ROOT / wheel / "pyproject.toml").read_text("utf-8")) for wheel in WHEELS]
    extras = [extra for wheel in wheels for extra in wheel["project"]["optional-dependencies"]]
    listed = re.findall(r"^\| `(\w+)` \| \S", (DOCS / "start/install.md").read_text("utf-8"), re.M)
    assert sorted(listed) == sorted(extras)


def test_the_page_on_studies_lists_every_kind_of_event():
    from fairask_studio.events import Happening

    cells = re.findall(r"^\| (`[^|]*) \|", (DOCS / "study.md").read_text("utf-8"), re.M)
    listed = {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}
    assert not Happening.kinds.keys() - listed


def test_no_page_names_a_package_registry():
    hosts = re.compile(r"py" + r"pi\.org|pythonhosted|registry\.npm", re.I)
    for page in [*PAGES, *ROOT.glob(".github/**/*.yml"), ROOT / "Dockerfile", ROOT / "constraints.txt"]:
        assert not hosts.search(page.read_text("utf-8")), name(page)


def test_every_name_of_the_reference_is_there():
    sections = runpy.run_path(str(DOCS / "_ext" / "api_pages.py"))["SECTIONS"]
    for module in (importlib.import_module(name) for names in sections.values() for name in names):
        assert not [public for public in module.__all__ if not hasattr(module, public)], module.__name__


def test_a_path_of_python_on_a_page_leads_to_something():
    for page in PAGES:
        if name(page) == "CHANGELOG.md":
            continue
        for path in set(
            re.findall(r"\bfairask(?:_studio)?(?:\.[a-z]\w*)*\.[A-Za-z]\w*", page.read_text("utf-8"))
        ):
            if path in ("fairask.commands", "fairask.service"):  # an entry point, a unit of systemd
                continue
            module, _, attribute = path.rpartition(".")
            found = importlib.import_module(module)
            assert hasattr(found, attribute) or importlib.util.find_spec(path), f"{name(page)}: {path}"
