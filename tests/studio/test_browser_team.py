"""People who work together, in a real browser: reasons to skip, flags, a reviewer, practice and gold rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from fairask.studio import create_app
from fairask.study import Study
from tests.studio.browsing import browser, look, new_page, shown_row
from tests.studio.serving import serving

__all__ = ["browser", "new_page"]

pytestmark = pytest.mark.slow
Make = Callable[..., Study]


def faultless(page: Page, name: str) -> None:
    """Look at the page in light and dark; axe finds no serious fault in either."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = Axe().run(page).response["violations"]
        assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == [], f"{name}: {found}"
        look(page, f"{name}-{scheme}")
    page.emulate_media(color_scheme="light")


def test_a_row_is_flagged_answered_by_a_reviewer_and_skipped_for_a_reason(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    study.people.add("ada", "owner")
    study.people.add("bob")
    study.people.add("rev", "reviewer")
    study.change(skip_reasons=["cannot be told from what is shown", "wrong language"], guidelines="Look.")
    with serving(create_app(study, train=False)) as url:
        bob = new_page(viewport={"width": 390, "height": 844})
        bob.goto(f"{url}/?code={study.people.invite('bob')}")
        bob.click("#guide-close")
        first = shown_row(bob)
        row = int(str(bob.get_attribute("#card", "data-ready")))
        bob.keyboard.press("f")
        expect(bob.locator("#flag-text")).to_be_focused()
        bob.keyboard.type("Is a smith s 1 a trade?")  # letters and digits that are keys elsewhere
        faultless(bob, "flag-dialog-390")
        bob.click("#flag-form .primary")
        expect(bob.locator("#flag-box")).to_be_hidden()
        expect(bob.locator("#threads")).to_contain_text("waits for an answer")
        expect(bob.locator("#said")).to_contain_text("still yours to answer")
        assert shown_row(bob) == first

        # A reviewer finds the flag on the overview, and sees nothing of the owners'.
        rev = new_page()
        rev.goto(f"{url}/?code={study.people.invite('rev')}")
        expect(rev.locator("#flags")).to_contain_text("Is a smith s 1 a trade?")
        expect(rev.locator("nav a")).to_have_text(["Label", "Overview", "Rows", "People"])
        faultless(rev, "reviewer-overview")
        rev.click(f"#flags li a >> text=Row {row}")
        thread = rev.locator("#row-flags .thread")
        expect(thread).to_contain_text("waits for an answer")
        assert rev.locator("#import").count() == 0
        thread.locator("textarea").fill("Yes, it is.\nBut not a clerk.")
        faultless(rev, "reviewer-thread")
        thread.get_by_role("button", name="Answer").click()
        expect(thread).to_contain_text("But not a clerk.")
        thread.get_by_role("button", name="Resolve").click()
        expect(rev.locator("#row-flags .thread")).to_contain_text("resolved by rev")
        rev.select_option("#filter [name=flag]", "resolved")
        expect(rev.locator("#page")).to_have_text("1 to 1 of 1")

        # The annotator skips the row for a reason, and is told of the answer.
        bob.keyboard.press("s")
        expect(bob.locator("#skip-box .reason").first).to_be_focused()
        faultless(bob, "skip-dialog-390")
        bob.keyboard.press("Escape")
        expect(bob.locator("#skip-box")).to_be_hidden()
        assert study.state().skips["bob"] == 0
        bob.keyboard.press("s")
        bob.keyboard.press("2")
        expect(bob.locator("#strip li").first).to_contain_text("skipped")
        expect(bob.locator("#threads details[open]")).to_contain_text("But not a clerk.")
        second = shown_row(bob)
        assert second != first
        bob.keyboard.press("s")
        bob.fill("#skip-other", "torn 1")
        bob.keyboard.press("Enter")
        expect(bob.locator("#strip li")).to_have_count(2)
        faultless(bob, "label-thread-390")
        assert {a.reason for given in study.state().answers.values() for a in given.values()} == {
            "wrong language",
            "torn 1",
        }
        rev.goto(f"{url}/overview")
        expect(rev.locator("#people")).to_contain_text("wrong language")
        rev.get_by_role("link", name="wrong language").click()
        expect(rev.locator("#page")).to_have_text("1 to 1 of 1")
        rev.goto(f"{url}/people")
        expect(rev.locator("#people")).to_contain_text("bob")
        rev.locator("#people summary").click()
        expect(rev.locator("#people")).to_contain_text("torn 1 1")
        faultless(rev, "reviewer-people")
