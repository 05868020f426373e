"""A real browser for the tests, and what they look at in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from studio.tests.study.conftest import people_table, truth

__all__ = [
    "EMPTY",
    "LABELS",
    "READY",
    "VIEWS",
    "StandIn",
    "browser",
    "cut_off",
    "faultless",
    "fits",
    "look",
    "new_page",
    "serious",
    "shown_row",
    "violations",
]

VIEWS = ["label", "overview", "rows", "model", "certificate", "people", "settings"]
LABELS = truth(people_table())
#: What is there when a view has loaded.
READY = {
    "label": "#card[data-ready] .body",
    "overview": "#curves svg",
    "rows": "#rows tbody tr",
    "model": "#details:not([aria-busy]) .panel",
    "certificate": "#start",
    "people": "#people table",
    "settings": "main form",
}
#: What is there when a view has loaded that has nothing to show, or is no view.
EMPTY = {
    "label": "#card:has-text('Choosing the next rows')",
    "overview": "main:has-text('so that nothing is assumed')",
    "rows": "main:has-text('No such rows yet')",
    "model": "main:has-text('The first model is trained when')",
    "certificate": "main:has-text('No certificate yet')",
    "people": "#people:has-text('Nobody yet')",
    "settings": READY["settings"],
    "signin": "#token",
    "nowhere": "main:has-text('There is no such page')",
}
_AXE = Axe().axe_script
_COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        reason = "chromium is not installed (Debian: apt-get install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    expect.set_options(timeout=60_000)  # a busy machine; waiting costs nothing where all is well
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=flags)
        yield launched
        launched.close()


class Faults(list[str]):
    """What a browser complained about; expected refusals are taken out."""

    def watch(self, page: Page) -> Page:
        page.on("console", lambda m: m.type == "error" and self.append(m.text))
        page.on("pageerror", lambda e: self.append(e.stack or str(e)))
        return page


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page of its own session; at the end none may have complained."""
    contexts: list[BrowserContext] = []
    faults = Faults()
    # The browser logs refusals (a wrong token, no such page) by itself, and a server that has stopped.
    logged = ["40[1349]", "422", "50[23]"]

    def build(fails: str | None = None, **options: Any) -> Page:
        logged.extend([fails] if fails else [])  # a status with which the test's stand-in answers
        options.setdefault("viewport", {"width": 1200, "height": 860})
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        return faults.watch(page)

    yield build
    for context in contexts:
        context.close()
    expected = re.compile(f"status of ({'|'.join(logged)})|ERR_CONNECTION_REFUSED")
    left = [fault for fault in faults if not expected.search(fault)]
    assert left == [], left


def shown_row(page: Page) -> str:
    """What the card shows, as text."""
    page.wait_for_selector("#card[data-ready] .body")
    return page.inner_text("#card")


class StandIn:
    """What answers the page's POST requests instead of the server, while ``handler`` is set.

    Make it before the page is opened: a browser that is told to intercept later lets some requests pass.
    """

    def __init__(self, page: Page, address: str = "**/api/answers") -> None:
        self.handler: Callable[[Route], None] | None = None
        page.route(address, self._handle)

    def _handle(self, route: Route) -> None:
        if self.handler is None or route.request.method != "POST":
            route.fallback()
        else:
            self.handler(route)

    def refuse(self, route: Route) -> None:
        """Refuse one answer, and let the next ones pass."""
        self.handler = None
        route.fulfill(status=409, json={"detail": "too late"})


def cut_off(page: Page) -> None:
    """Let a page reach nothing more until its tab is closed.

    A request that a StandIn holds back at that moment would reach the server: the browser lets it go.
    """
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); }")


def violations(page: Page, options: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """What axe finds wrong. What it finds right is long, and is left in the browser."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    run = "(options) => axe.run(document, options).then((found) => found.violations)"
    found: list[dict[str, Any]] = page.evaluate(run, {"resultTypes": ["violations"], **(options or {})})
    return found


def serious(found: list[dict[str, Any]]) -> list[str]:
    """Name the violations that keep people out."""
    return [violation["id"] for violation in found if violation["impact"] in ("serious", "critical")]


def faultless(page: Page, name: str) -> None:
    """Look at the page in light and dark; axe finds no serious fault. Dark differs in colours only."""
    for scheme, options in (("light", {}), ("dark", _COLOURS)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        found = violations(page, options)
        assert serious(found) == [], f"{name}, {scheme}: {found}"
        look(page, f"{name}-{scheme}")
    page.emulate_media(color_scheme="light")


def fits(page: Page, name: str) -> None:
    """See that nothing is cut off when the page is zoomed to 200 %, nor on a phone."""
    whole = page.viewport_size
    assert whole is not None
    for width, height in ((whole["width"] // 2, whole["height"] // 2), (390, 760)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} at {width} pixels"
        here = page.locator('nav [aria-current="page"]')
        if here.count():  # the tab of this page is in sight
            expect(here).to_be_in_viewport(ratio=0.9)
        look(page, f"{name}-{width}")
    page.set_viewport_size(whole)


def look(page: Page, name: str, *, full: bool = True) -> None:
    """Keep a picture of the page for whoever wants to look: FAIRASK_LOOK names the folder."""
    folder = os.environ.get("FAIRASK_LOOK")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=full)
