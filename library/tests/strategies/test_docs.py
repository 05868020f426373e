"""The pages list exactly the registry, and every setting."""

import dataclasses
import re
from pathlib import Path

import pytest

from fairask.strategies import STRATEGIES

pytestmark = pytest.mark.usefixtures("few_trees")

PAGES = Path(__file__).parents[3] / "docs" / "strategies"


def test_the_index_lists_exactly_the_registry():
    rows = re.findall(r"^\| `(\w+)` \|.*\[(\w+)\]\((\w+)\.md\) \|$", (PAGES / "README.md").read_text(), re.M)
    assert [row[0] for row in rows] == list(STRATEGIES)
    assert all(name == label == target for name, label, target in rows)


def test_there_is_one_page_for_each():
    assert {page.stem for page in PAGES.glob("*.md")} == {"README", *STRATEGIES}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_page_names_every_setting_with_its_default(name):
    text = (PAGES / f"{name}.md").read_text()
    assert text.startswith(f"# {name}\n")
    assert "**Source:**" in text
    assert "nown weaknesses" in text
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.M))
    for field in dataclasses.fields(STRATEGIES[name]):
        assert table[field.name].strip("`").replace('"', "'") == repr(field.default).replace('"', "'")


@pytest.mark.slow
def test_the_example_of_the_index_runs():
    (code,) = re.findall(r"```python\n(.*?)```", (PAGES / "README.md").read_text(), re.S)
    exec(compile(code, "README.md", "exec"), {"__name__": "example"})
