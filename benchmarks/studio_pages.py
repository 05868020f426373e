"""What the studio's pages cost a browser: bytes, requests, first view, script, and the time to the next card.

``python -m benchmarks.studio_pages [--visits 5]`` opens each view in a new browser at 4 Mbit/s with 20 ms
to the server (Chromium's ``Network.emulateNetworkConditions``) and prints the browser's figures: bytes and
requests, the first paint, the time until the view's content is there, and all script, packed and unpacked.
Then it answers rows by key on the label view and prints how long the next card takes to be there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.studio_load import machine, make_pool, quantiles
from fairask_studio.pages import create_app
from fairask_studio import Study
from studio.tests.pages.browsing import READY
from studio.tests.pages.serving import serving

_WATCH = """(selector) => {
  new MutationObserver((_, self) => {
    if (document.querySelector(selector)) { window.thereAt = performance.now(); self.disconnect(); }
  }).observe(document, { childList: true, subtree: true, attributes: true });
}"""
_FIGURES = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN, there: window.thereAt,
  script: performance.getEntriesByType("resource").filter((e) => e.name.endsWith(".js"))
    .reduce((sum, e) => sum + e.decodedBodySize, 0) })"""
_NEXT = """() => {
  window.took = [];
  let at = null;
  addEventListener("keydown", () => { at = performance.now(); }, true);
  const card = document.getElementById("card");
  let shown = card.innerText;
  new MutationObserver(() => {
    if (at === null || !card.innerText || card.innerText === shown) return;
    shown = card.innerText;
    const began = at;
    at = null;
    requestAnimationFrame(() => window.took.push(performance.now() - began));
  }).observe(card, { childList: true, subtree: true });
}"""


def opened(browser: Browser, ready: str) -> tuple[Page, list[tuple[str, float]]]:
    """Open a page at 4 Mbit/s; return it and the list of what comes over the network: its kind and bytes."""
    # The pages allow no script but their own, and the browser would refuse ours.
    page = browser.new_context(viewport={"width": 1200, "height": 860}, bypass_csp=True).new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(f"({_WATCH})({ready!r})")
    network, kinds = page.context.new_cdp_session(page), {}
    came: list[tuple[str, float]] = []
    network.on("Network.requestWillBeSent", lambda e: kinds.__setitem__(e["requestId"], e["type"]))
    network.on(
        "Network.loadingFinished",
        lambda e: came.append((kinds.get(e["requestId"], "?"), e["encodedDataLength"])),
    )
    network.send("Network.enable")
    slow = {"offline": False, "latency": 20, "downloadThroughput": 5e5, "uploadThroughput": 5e5}
    network.send("Network.emulateNetworkConditions", slow)
    return page, came


def visit(browser: Browser, url: str, view: str) -> dict[str, float]:
    """Return what a first visit of a view costs."""
    page, came = opened(browser, READY[view])
    page.goto(f"{url}/{view}")
    page.wait_for_selector(READY[view])
    page.wait_for_function("window.thereAt !== undefined")
    found: dict[str, float] = page.evaluate(_FIGURES)
    page.context.close()
    packed = sum(size for kind, size in came if kind == "Script")
    return {**found, "bytes": sum(size for _, size in came), "requests": len(came), "packed": packed}


def measure(browser: Browser, url: str, view: str, visits: int) -> None:
    """Print the costs of a view, each the least of several visits: other work only adds to it."""
    every = [visit(browser, url, view) for _ in range(visits)]
    least = {name: min(found[name] for found in every) for name in every[0]}
    print(
        f"{view:12}{least['bytes'] / 1000:7.1f} kB {least['requests']:4} requests   "
        f"paint {least['paint']:6.0f} ms   there {least['there']:6.0f} ms   "
        f"script {least['packed'] / 1000:5.1f} kB packed, {least['script'] / 1000:5.1f} kB",
        flush=True,
    )


def next_cards(browser: Browser, url: str, answers: int) -> None:
    """Print the time from a key to the next card."""
    page, _ = opened(browser, READY["label"])
    page.goto(f"{url}/label")
    page.wait_for_selector(READY["label"])
    page.evaluate(_NEXT)
    for number in range(1, answers + 1):
        page.keyboard.press("12"[number % 2])
        page.wait_for_function(f"window.took.length >= {number}")
        page.wait_for_timeout(500)  # somebody reads
    print(f"next card   {quantiles([ms / 1000 for ms in page.evaluate('window.took')])}", flush=True)
    page.context.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--visits", type=int, default=5)
    given = parser.parse_args()
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pool = make_pool(1000)
        with Study.create(f"{folder}/study", pool, protected="sex", budget=500, random_state=0) as study:
            rows = study.ask(100, "ada")
            first, second = list(pool)[:2]
            study.tell(rows, [str(int(pool[first][row] > pool[second][row])) for row in rows], "ada")
            study.refit(force=True)
            study.draw(given.answers + 20)
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            with serving(create_app(study, train=False)) as url:
                visit(browser, url, "settings")  # the browser's own beginning
                for view in READY:
                    measure(browser, url, view, given.visits)
                next_cards(browser, url, given.answers)
            browser.close()
    print(machine())


if __name__ == "__main__":
    main()
