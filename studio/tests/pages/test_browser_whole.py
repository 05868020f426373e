"""The whole path in a real browser: from a file of comments to a certified model, two people, a restart.

The owner walks it on a phone, by touch alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fairask_studio import Study
from fairask_studio.integrity import verify_certificate
from fairask_studio.pages.home import create_home
from studio.tests.pages.browsing import StandIn, browser, faultless, fits, look, new_page, shown_row
from studio.tests.pages.serving import serving
from studio.tests.pages.test_home import CSV

__all__ = ["browser", "new_page"]

pytestmark = pytest.mark.slow
PHONE = {"width": 390, "height": 844}
#: Keeps what was pressed by anything but a finger.
_MICE = """window.mice = []; addEventListener("pointerdown",
  (event) => event.pointerType === "touch" || window.mice.push(event.target.outerHTML), true);"""


def _owner(new_page: Callable[..., Page]) -> Page:
    page = new_page(accept_downloads=True, viewport=PHONE, has_touch=True, is_mobile=True)
    page.add_init_script(_MICE)
    return page


def _fits(page: Page, name: str) -> None:
    assert page.evaluate("window.mice") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
    page.set_viewport_size({"width": 1200, "height": 860})
    fits(page, name)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]


def _said(words: str) -> str:
    """The right answer: bad words make a complaint."""
    return "2" if re.search("was (slow|rude|late|lost|closed)", words) else "1"


def _label(study: Study, rows: list[int], who: str) -> None:
    study.tell(rows, [["no", "yes"][int(_said(str(study.row(row)["comment"]))) - 1] for row in rows], who)


@pytest.mark.long
def test_from_a_file_to_a_certified_model(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    studies = tmp_path / "studies"
    studies.mkdir()
    (tmp_path / "comments.csv").write_text(CSV)
    app = create_home(studies)
    with serving(app) as url:
        owner = _owner(new_page)
        forecast = StandIn(owner, "**/forecast")  # simulate itself is not for a test of the page
        owner.goto(f"{url}/?code={app.state.access.invite()}")
        expect(owner.locator("main")).to_contain_text("No studies yet")
        look(owner, "home-empty")
        owner.get_by_role("link", name="New study").first.tap()
        owner.set_input_files("#file", str(tmp_path / "comments.csv"))
        expect(owner.locator("#file-said")).to_contain_text("160 rows, 5 columns")
        owner.fill("#question", "Is this a complaint?")
        owner.select_option("#labels", "complaint")
        expect(owner.locator("#forecast")).to_contain_text("Mark a protected column")
        said = {"state": "done", "rows": 150, "words": "With 60 labels FARE is within 0.1."}
        forecast.handler = lambda route: route.fulfill(status=201, json=said)
        owner.tap("input[value=sex]")
        expect(owner.locator("#forecast")).to_contain_text("On the 150 rows with a label: with 60 labels")
        owner.select_option("select[data-column=score]", "drop")
        owner.select_option("select[data-column=rated]", "drop")
        expect(owner.locator("#card")).to_contain_text("The office was")
        expect(owner.locator("#card")).not_to_contain_text("score")
        expect(owner.locator("#card")).not_to_contain_text("complaint")
        owner.fill("#tolerance", "30")
        expect(owner.locator("#tolerance-words")).to_contain_text("at least 50 of 100")
        owner.fill("#budget", "60")
        faultless(owner, "new")
        _fits(owner, "new")
        owner.get_by_role("button", name="Make the study").tap()
        expect(owner).to_have_url(f"{url}/s/comments/overview")
        expect(owner.locator("#headline")).to_contain_text("No labels yet", timeout=180_000)

        owner.get_by_role("link", name="People", exact=True).tap()
        links = {}
        for name, role in (("ada", "owner"), ("bob", "annotator"), ("cyn", "annotator")):
            owner.fill("#new-person [name=name]", name)
            owner.select_option("#new-person [name=role]", role)
            owner.get_by_role("button", name="Invite").tap()
            field = owner.get_by_role("textbox", name=f"Link for {name}", exact=True)
            expect(field).to_have_value(re.compile("code="), timeout=60_000)
            links[name] = field.input_value()
        expect(owner.locator(".qr img")).to_be_visible()
        faultless(owner, "invited")

        laptop = new_page()
        phone = new_page(viewport={"width": 390, "height": 760}, has_touch=True, is_mobile=True)
        for page, name in ((laptop, "bob"), (phone, "cyn")):
            page.goto(links[name])
            expect(page).to_have_url(f"{url}/s/comments/label", timeout=60_000)
        for number in range(1, 9):
            for page in (laptop, phone):
                words = shown_row(page)
                if page is laptop:
                    page.keyboard.press(_said(words))
                else:
                    # Of two taps within half a second only one counts, and a test is quicker than people.
                    page.wait_for_timeout(600)
                    page.tap(f"#answers .answer >> nth={int(_said(words)) - 1}")
                expect(page.locator("#progress")).to_contain_text(f"{number} by you", timeout=60_000)
        look(phone, "whole-phone")
        laptop.close()
        phone.close()

    with Study.open(studies / "comments") as study:  # nothing was lost when the server ended
        assert study.status()["labels"] == 16
        for who in ("bob", "cyn", "ada"):  # two of them still hold rows, on a phone ten
            _label(study, study.lease(who, 10) if who != "ada" else study.ask(60, who), who)
        study.refit()

    app = create_home(studies)
    with serving(app) as url:
        owner = _owner(new_page)
        owner.goto(f"{url}/?code={app.state.access.invite()}")
        expect(owner.locator("main")).to_contain_text("60 of 60 labels", timeout=60_000)
        faultless(owner, "home")
        _fits(owner, "home")
        expect(owner.locator("#studies").get_by_role("button")).to_have_count(
            0
        )  # a card has one link, and a menu
        owner.get_by_label("More for comments").tap()
        faultless(owner, "home-more")
        _fits(owner, "home-more")
        owner.get_by_role("button", name="Delete comments").tap()
        faultless(owner, "home-delete")
        owner.get_by_role("button", name="Cancel").tap()
        owner.get_by_role("link", name="comments").tap()
        expect(owner.locator("#next")).to_be_visible(timeout=60_000)
        look(owner, "whole-overview")
        owner.get_by_role("link", name="Certificate", exact=True).first.tap()  # whatever the model is worth
        expect(owner.locator("#start")).to_be_visible()
        if not owner.locator("#audit-size").is_visible():
            owner.locator("#start summary").first.tap()
        owner.fill("#audit-size", "90")
        owner.get_by_role("button", name="Start the audit").tap()
        expect(owner.locator("main")).to_contain_text("of at most 90 rows", timeout=60_000)
        with Study.open(studies / "comments") as study:
            while (audit := study.state().audit) is not None and not audit.done:
                _label(study, study.ask(90, "ada"), "ada")
        owner.get_by_role("button", name="Issue the certificate").tap(timeout=60_000)
        expect(owner.locator(".verdict h2")).to_contain_text("Certified: the gap is at most", timeout=60_000)
        look(owner, "whole-certificate")
        files = {}
        for name, words in (
            ("model.skops", "Download this model"),
            ("certificate.json", "certificate.json"),
        ):
            with owner.expect_download(timeout=120_000) as taken:
                owner.get_by_role("link", name=words).tap()
            files[name] = tmp_path / name
            taken.value.save_as(files[name])
        assert owner.evaluate("window.mice") == []
    pool = studies / "comments" / "pool.parquet"
    assert verify_certificate(str(files["certificate.json"]), str(files["model.skops"]), str(pool)).sound
