"""What a screen reader is told: roles and names in the accessibility tree, announcements, where focus is."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.browsing import EMPTY, LABELS, READY, VIEWS, StandIn, browser, new_page, shown_row
from studio.tests.pages.serving import serving

__all__ = ["browser", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
Make = Callable[..., Study]
_IGNORED = {"StaticText", "InlineTextBox", "none", "generic", "LineBreak"}


def tree(page: Page) -> list[dict[str, Any]]:
    """The accessibility tree as the browser hands it to a screen reader."""
    client = page.context.new_cdp_session(page)
    nodes = client.send("Accessibility.getFullAXTree")["nodes"]
    client.detach()
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        if node.get("ignored") or role in _IGNORED:
            continue
        properties = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
        name = node.get("name", {}).get("value", "")
        found.append({"role": role, "name": name, "value": node.get("value", {}).get("value"), **properties})
    return found


def named(page: Page, role: str) -> list[str]:
    return [node["name"] for node in tree(page) if node["role"] == role]


def listen(page: Page) -> None:
    """Keep what the live region says."""
    page.evaluate(
        """() => { window.heard = [];
          const region = document.getElementById("said");
          new MutationObserver(() => { if (region.textContent) window.heard.push(region.textContent); })
            .observe(region, { childList: true, characterData: true, subtree: true }); }"""
    )


def heard(page: Page, words: str) -> None:
    """Wait until the live region has said something that matches."""
    page.wait_for_function("(w) => window.heard.some((said) => new RegExp(w).test(said))", arg=words)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_the_label_view_as_a_tree(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(question="Did they repay?")
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        shown_row(page)
        nodes = tree(page)
        row = _row_of(page)
        assert row in study.state().log.position
        assert [n["name"] for n in nodes if n["role"] == "heading"] == [
            "Did they repay?", f"Row {row}", "Your last answers",
        ]  # fmt: skip
        assert {"banner", "navigation", "main"} <= {n["role"] for n in nodes}
        assert f"Row {row}" in named(page, "region")  # the card, by its heading
        snapshot = page.locator("#card").aria_snapshot()
        assert [f"term: {word}" in snapshot for word in ("income", "debt", "job", "sex")] == [True] * 3 + [
            False
        ]
        assert snapshot.count("definition") == 3
        buttons = {n["name"]: n for n in nodes if n["role"] == "button"}
        # Names without the key's letter, which is said as a shortcut instead.
        assert {"bad", "good", "Skip", "Undo", "Note", "Help"} <= set(buttons)
        assert [page.get_attribute(f"#{i}", "aria-keyshortcuts") for i in ("skip", "undo", "note")] == [
            *"SUN"
        ]
        assert buttons["Undo"]["disabled"] is True
        assert "disabled" not in buttons["good"]
        (bar,) = [n for n in nodes if n["role"] == "progressbar"]
        assert bar["name"] == "Labels of the budget"
        (status,) = [n for n in nodes if n["role"] == "status"]
        assert status["live"] == "polite"


def _row_of(page: Page) -> int:
    return int(page.inner_text("#card-title").removeprefix("Row "))


def test_each_action_is_announced_and_focus_follows(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        shown_row(page)
        listen(page)
        first = _row_of(page)
        page.get_by_role("button", name="good", exact=True).press("Enter")  # as a screen reader does
        heard(page, f"^Saved: row {first}, good\\. Now row \\d+\\.$")
        second = _row_of(page)
        assert focused(page) == "card"
        page.keyboard.press("Tab")  # from the row straight to the answers
        assert page.evaluate("document.activeElement.textContent.includes('bad')")

        shown_row(page)  # a row can be answered when it was shown for a moment
        page.keyboard.press("s")
        heard(page, f"^Saved: row {second}, skipped\\.")
        assert focused(page) == "card"
        page.keyboard.press("u")
        heard(page, f"^Took back row {second}\\.")
        assert (_row_of(page), focused(page)) == (second, "card")

        page.keyboard.press("n")
        assert focused(page) == "note-text"
        assert named(page, "textbox") == ["Note on this row, kept with your answer"]
        page.keyboard.press("Escape")
        assert focused(page) == "card"

        page.keyboard.press("q")
        heard(page, f"^Row {first} again\\. You said good\\.$")
        assert (_row_of(page), focused(page)) == (first, "card")
        shown_row(page)
        page.keyboard.press("1")
        heard(page, f"^Saved: row {first} is now bad\\.$")
        expect(page.locator("#correcting")).to_be_hidden()
        assert focused(page) == "card"

        page.get_by_role("button", name="Help").press("Enter")
        assert named(page, "dialog") == ["Keys"]
        page.keyboard.press("Escape")
        assert focused(page) == "help"


def test_the_end_and_a_fault_are_announced(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(budget=2, batch_size=2)
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        server = StandIn(page)
        page.goto(f"{url}/label")
        shown_row(page)
        listen(page)
        server.handler = server.refuse
        with page.expect_response("**/api/next"):
            page.keyboard.press("1")
        expect(page.get_by_role("alert")).to_have_text("too late")
        for number in (1, 2):
            shown_row(page)
            page.keyboard.press("1")
            expect(page.locator("#strip li")).to_have_count(number)
        heard(page, "^Done\\. Thank you! The budget is spent")
        said = page.evaluate("window.heard")
        assert sum("Saved" in words for words in said) == study.status()["labels"] == 2  # not for the refused
        assert sum("Done" in words for words in said) == 1
        assert "Done. Thank you!" in named(page, "heading")


def test_a_key_held_down_answers_once_and_keys_can_be_turned_off(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        shown_row(page)
        for _ in range(5):
            page.keyboard.down("1")  # without a release in between: repeats
        page.keyboard.up("1")
        expect(page.locator("#progress")).to_contain_text("1 of 60")
        page.keyboard.press("?")
        page.get_by_role("checkbox", name=re.compile("Keys act at once")).uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        page.reload()
        shown_row(page)
        page.keyboard.press("2")
        page.get_by_role("button", name="good", exact=True).click()
        expect(page.locator("#progress")).to_contain_text("2 of 60")
        assert study.status()["labels"] == 2


@pytest.mark.long
def test_every_view_has_one_first_heading_landmarks_and_a_way_past_the_menu(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    rows = study.ask(40, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    study.draw()
    with serving(create_app(study)) as url:
        page = new_page()
        for view, shown in {**EMPTY, **READY}.items():
            page.goto(f"{url}/{view}")
            page.wait_for_selector(shown)
            levels = [int(n["level"]) for n in tree(page) if n["role"] == "heading"]
            assert levels.count(1) == 1, view
            assert all(b - a <= 1 for a, b in pairwise(levels)), (view, levels)
            unnamed = [
                n for n in tree(page)
                if n["role"] in ("button", "link", "textbox", "combobox", "checkbox", "spinbutton", "table",
                                 "region", "navigation", "dialog", "progressbar", "image")
                and not n["name"]
            ]  # fmt: skip
            assert unnamed == [], view
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.textContent") == "Skip to the content", view
            page.keyboard.press("Enter")
            assert focused(page) == "main", view


def test_every_view_says_when_the_server_fails(make: Make, new_page: Callable[..., Page]) -> None:
    with serving(create_app(make())) as url:
        page = new_page()
        for view in VIEWS:
            page.route("**/api/**", lambda route: route.fulfill(status=409, json={"detail": "it broke"}))
            page.goto(f"{url}/{view}")
            expect(page.get_by_role("alert")).to_have_text("it broke")
            page.unroute("**/api/**")
            page.reload()
            expect(page.locator("#alert")).to_be_hidden()
