"""What the site runs in a browser: the planner, against the library, and folds on a phone."""

import os
import re
import shutil

import numpy as np
import pytest

from fairask.audit import plan_audit
from tests.docs.test_pages import DOCS, ROOT

STATIC = DOCS / "_static"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, tmp_path):
    """The form of the page, as a file without a server."""
    (form,) = re.findall(r"```\{raw\} html\n(.*?)```", (DOCS / "guides/planner.md").read_text("utf-8"), re.S)
    file = tmp_path / "planner.html"
    file.write_text(
        "<!doctype html><meta charset=utf-8>" + form.replace("../_static", STATIC.as_uri()), "utf-8"
    )
    opened = browser.new_page()
    failed = []
    opened.on("pageerror", lambda error: failed.append(error))
    opened.goto(file.as_uri())
    yield opened
    assert not failed
    opened.close()


def chances(page):
    return [
        int(found)
        for found in re.findall(r"about (\d+) of 100 .* and (\d+) if", page.inner_text("output"))[0]
    ]


@pytest.mark.slow
def test_more_labels_certify_more_often_and_fewer_groups_apart_less(page):
    few = chances(page)
    page.fill("[name=budget]", "1600")
    many = chances(page)
    assert many[1] > few[1]
    assert many[0] >= many[1]
    page.fill("[name=tolerance]", "0.05")
    assert chances(page)[0] < many[0]


@pytest.mark.slow
@pytest.mark.parametrize(("field", "value", "words"), [
    ("smallest", "60", "from 2 to 50"), ("groups", "9", "from 2 to 4"),
    ("tolerance", "2", "from 0.04 to 0.25"), ("budget", "", "from 20"),
    ("rows", "20000.5", "a whole number from 500 to 1,000,000,000"), ("budget", "20000", "all 20,000 rows"),
])  # fmt: skip
def test_a_number_that_cannot_be_is_named_with_its_limits(page, field, value, words):
    page.fill(f"[name={field}]", value)
    assert words in page.inner_text("output")


@pytest.mark.slow
def test_the_smallest_group_is_no_larger_than_an_equal_share(page):
    page.fill("[name=groups]", "3")
    page.fill("[name=smallest]", "45")
    assert "at most 33 %" in page.inner_text("output")


@pytest.mark.slow
@pytest.mark.parametrize("budget", [300, 600, 1200])
def test_the_chance_is_near_what_the_library_simulates(page, budget):
    """Assumed as the library does: label 1 in 75 % of the accepted rows and 10 % of the others."""
    n = 20_000
    pool = np.arange(n)
    accepted, group = pool % 2, np.where(pool < 0.7 * n, "a", "b")
    (row,) = plan_audit(accepted, group, budgets=[budget], n_audits=300).rows
    page.fill("[name=budget]", str(budget))
    assert chances(page) == pytest.approx([100 * row.certify_alike, 100 * row.certify_half], abs=18)


def test_the_logo_is_the_same_everywhere():
    studio = ROOT / "studio/src/fairask_studio/pages/static/icon.svg"
    assert studio.read_bytes() == (STATIC / "mark.svg").read_bytes()


def test_llms_txt_links_to_pages_that_are_built():
    links = re.findall(r"\]\(([^)]+)\.html\)", (DOCS / "llms.txt").read_text("utf-8"))
    assert len(links) > 10
    written = {"api/index", "gallery/index"}
    assert [link for link in links if link not in written and not (DOCS / f"{link}.md").exists()] == []


FOLDABLE = """<!doctype html><article class="bd-article"><section id="page"><h1>Page</h1>
<section id="one"><h2>One</h2><p style="height:3000px"></p></section>
<section id="two"><h2>Two</h2><h3 id="deep">Deep</h3><p style="height:3000px"></p></section>
</section></article>"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "anchor", "opened"), [(390, "", []), (390, "#deep", ["two"]), (1440, "", None)]
)
def test_a_long_page_is_folded_on_a_phone_and_a_link_opens_its_section(
    browser, tmp_path, width, anchor, opened
):
    file = tmp_path / "long.html"
    file.write_text(FOLDABLE + f"<script src='{(STATIC / 'folds.js').as_uri()}'></script>", "utf-8")
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(file.as_uri() + anchor)
    folds = page.evaluate("[...document.querySelectorAll('details')].map(f => [f.parentElement.id, f.open])")
    if opened is None:
        assert folds == []
    else:
        assert [name for name, _ in folds] == ["one", "two"]
        assert [name for name, is_open in folds if is_open] == opened
    page.close()
