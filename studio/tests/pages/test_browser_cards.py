"""Cards of texts and images in a real browser, on a laptop and on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from fairask_studio import Study
from fairask_studio.events import SKIP
from fairask_studio.pages import create_app
from studio.tests.pages.browsing import browser, look, new_page, serious, shown_row, violations
from studio.tests.pages.serving import serving
from studio.tests.pages.test_cards import comments, host, with_media

__all__ = ["browser", "host", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]


def test_a_card_is_set_by_its_content(
    make: Callable[..., Study], new_page: Callable[..., Page], host: str
) -> None:
    study = with_media(make(table=comments(host), budget=20, batch_size=20, question="Is this a complaint?"))
    study.draw(20)
    with serving(create_app(study, train=False, media=[host])) as url:
        page = new_page(color_scheme="dark")
        page.goto(f"{url}/label")
        seen: set[str] = set()
        given, skipped = 0, 0
        while not seen >= {"letter", "arabic", "refused"}:
            words = shown_row(page)
            if "First I waited" in words and "letter" not in seen:
                seen.add("letter")
                _check_letter(page)
            elif "انتظرت" in words and "arabic" not in seen:
                seen.add("arabic")
                assert (
                    page.evaluate("getComputedStyle(document.querySelector('.prose p')).direction") == "rtl"
                )
                look(page, "card-arabic")
            if page.locator("figure .missing").count():
                seen.add("refused")
                expect(page.locator("figure .missing")).to_contain_text("is no PNG, JPEG, GIF or WebP")
                expect(page.locator("#answers .answer:enabled")).to_have_count(0)
                page.keyboard.press("1")  # nobody judges what they cannot see
                page.get_by_role("button", name="Skip: picture missing").click()
                skipped += 1
                expect(page.locator("#progress")).to_contain_text(f"{skipped} skipped")
            else:
                page.keyboard.press("1")
                given += 1
                expect(page.locator("#progress")).to_contain_text(f"{given} by you")
        reasons = {
            a.reason for given in study.state().answers.values() for a in given.values() if a.code == SKIP
        }
        assert reasons == {"picture missing"}


def test_quotes_within_quotes_without_end_are_shown_and_answered(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    letters = [">" * 3000 + f" {word} more" for word in ("no", "some")]
    table = {"letter": letters * 12, "size": [1, 2, 3] * 8, "sex": ["f", "m"] * 12}
    study = make(table=table, budget=10)
    study.change(columns={"letter": {"display": "markdown"}}, who="ada")
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        assert " more" in shown_row(page)  # the script ended before, and nobody could answer or skip
        page.keyboard.press("1")
        expect(page.locator("#progress")).to_contain_text("1 by you")


def _check_letter(page: Page) -> None:
    text = page.locator(".prose").first
    assert text.locator("p").count() == 2  # paragraphs are kept
    expect(text).to_contain_text("<b>my name</b>")
    assert page.locator("#card .fields, #card .prose").first.get_attribute("class") == "prose"  # text first
    expect(page.locator(".prose strong")).to_have_text("must")
    expect(page.locator("#card .fields")).to_contain_text("1,234,5")
    expect(page.locator("#card .fields")).to_contain_text("1987")
    expect(page.locator("#card .fields")).to_contain_text("Mar 2024")
    for width in (1200, 390, 600):  # 600: 200 % zoom of a laptop
        page.set_viewport_size({"width": width, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Nothing is set one letter per line: a cell of more than 12 letters has some width.
        narrow = (
            "[...document.querySelectorAll('#card dt, #card dd, #card p')]"
            ".filter((e) => e.innerText.length > 12 && e.clientWidth < 90).length"
        )
        assert page.evaluate(narrow) == 0
        look(page, f"card-letter-{width}")
    assert text.bounding_box()["width"] <= 700  # type: ignore[index]
    page.set_viewport_size({"width": 1200, "height": 860})
    assert serious(violations(page)) == []
    page.get_by_role("button", name="Enlarge: photo").click()
    _check_zoom(page)
    page.keyboard.press("Escape")
    expect(page.locator("dialog.zoom")).to_have_count(0)


def _check_zoom(page: Page) -> None:
    box, image = page.locator("dialog.zoom"), page.locator("dialog.zoom img")
    expect(image).to_be_visible()
    expect(image).to_have_js_property("complete", True)

    def place() -> tuple[float, float, float]:
        found = image.bounding_box()
        assert found is not None
        return found["width"], found["x"], found["y"]

    whole = place()[0]
    page.keyboard.press("+")
    expect(box).to_have_attribute("data-size", "1.50")
    assert place()[0] == pytest.approx(1.5 * whole, rel=0.01)
    page.mouse.move(600, 430)
    page.mouse.wheel(0, -600)
    expect(box).not_to_have_attribute("data-size", "1.50")
    before = place()
    page.mouse.down()
    page.mouse.move(520, 380)
    page.mouse.up()
    assert place() != before  # it is moved
    assert serious(violations(page)) == []
    page.get_by_role("button", name="As large as the window").click()
    expect(box).to_have_attribute("data-size", "1.00")
