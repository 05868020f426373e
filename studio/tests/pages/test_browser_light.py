"""What a first visit costs at 4 Mbit/s, by the browser's own figures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.browsing import LABELS, browser, new_page
from studio.tests.pages.serving import serving

__all__ = ["browser", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
SCRIPT = """() => performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
  .map((e) => ({ name: new URL(e.name).pathname, bytes: e.transferSize, end: e.responseEnd }))"""


def test_a_first_visit_is_under_40_kb_and_a_second_fetches_no_file(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    study = make()
    rows = study.ask(60, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    with serving(create_app(study, train=False)) as url:
        for view, ready in (
            ("overview", "#curves svg"),
            ("label", "#card"),
            ("model", "#model .panel"),
            ("rows", "#rows tbody tr"),
        ):
            page = new_page()
            network = page.context.new_cdp_session(page)
            network.send("Network.enable")
            network.send(
                "Network.emulateNetworkConditions",
                {"offline": False, "latency": 20, "downloadThroughput": 5e5, "uploadThroughput": 5e5},
            )
            page.goto(f"{url}/{view}")
            page.wait_for_selector(ready)
            first = page.evaluate(SCRIPT)
            print(view, len(first), "requests,", sum(e["bytes"] for e in first), "bytes")
            assert sum(e["bytes"] for e in first) < 40_000
            assert len(first) < 30
            page.reload()
            page.wait_for_selector(ready)
            again = [e for e in page.evaluate(SCRIPT) if e["name"].startswith("/static/") and e["bytes"]]
            assert again == []
