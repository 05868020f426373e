"""Every view and dialog once: axe in light and dark, 200 % zoom, a phone. FAIRASK_LOOK keeps pictures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.browsing import EMPTY, LABELS, READY, VIEWS, browser, faultless, fits, new_page
from studio.tests.pages.serving import serving

__all__ = ["browser", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
Make = Callable[..., Study]


@pytest.mark.long
def test_every_view_and_dialog_is_for_everybody(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(overlap=2)
    study.change(guidelines="Repaid within **a year** is good.", question="Will they repay?")
    rows = study.ask(40, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada", notes=["hard to read"] * 3 + [""] * 37)
    others = study.ask(10, "bob")
    study.tell(others, ["good"] * len(others), "bob")
    study.refit(force=True)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        for view in VIEWS:
            page.goto(f"{url}/{view}")
            page.wait_for_selector(READY[view], timeout=60_000)
            faultless(page, view)
            fits(page, view)
            for name, act in DIALOGS.get(view, {}).items():
                act(page)
                faultless(page, f"{view}-{name}")
                page.keyboard.press("Escape")


def _open_row(page: Page) -> None:
    page.locator("#rows tbody tr").first.click()
    expect(page.locator("#row-history li").first).to_be_visible()


def _take_answers(page: Page) -> None:
    page.get_by_role("button", name="Take away the answers of ada").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def _give_token(page: Page) -> None:
    page.fill("#new-program [name=name]", "nightly")
    page.get_by_role("button", name="Give a token").click()
    expect(page.locator("#programs")).to_contain_text("nightly")


def _press(key: str, shown: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.keyboard.press(key)
        expect(page.locator(shown)).to_be_visible()

    return act


DIALOGS: dict[str, dict[str, Callable[[Page], None]]] = {
    "label": {"help": _press("?", "#help-box"), "flag": _press("f", "#flag-box")},
    "rows": {"side": _open_row},
    "people": {"token": _give_token, "confirm": _take_answers},
}


def test_views_without_labels_are_for_everybody(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        for view, shown in EMPTY.items():
            page.goto(f"{url}/{view}")
            page.wait_for_selector(shown)
            faultless(page, f"empty-{view}")
