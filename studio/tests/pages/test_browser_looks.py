"""Every view and dialog once: axe in light and dark, 200 % zoom, a phone. FAIRASK_LOOK keeps pictures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from playwright.sync_api import Page, expect

from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.watch import add_month
from studio.tests.pages.browsing import EMPTY, LABELS, READY, VIEWS, browser, faultless, fits, new_page
from studio.tests.pages.serving import serving
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.test_certified import certified
from studio.tests.study.test_crew import harsh_study

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
    page.get_by_role("button", name="Take away answers of ada").click()
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


def test_who_errs_and_second_opinions_are_for_everybody(make: Make, new_page: Callable[..., Page]) -> None:
    study, _ = harsh_study(make)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/people")
        expect(page.locator("#suspects li")).to_contain_text("ann says 'bad' to ")
        expect(page.locator("#errors tr", has_text="ann").first.locator(".bad-word")).to_have_count(1)
        page.locator("#suspects summary").click()
        faultless(page, "people-errors")
        fits(page, "people-errors")
        page.fill("#again [name=rows]", "10")
        page.get_by_role("button", name="Ask other people about these rows").click()
        expect(page.locator("#said")).to_contain_text("rows are asked again")
    assert study.state().again


@pytest.mark.filterwarnings("ignore::fairask.errors.FairaskWarning")
def test_a_refuted_model_is_offered_nowhere_and_its_gap_is_the_audits(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make(tolerance=0.05)
    rows = study.ask(60)
    study.tell(rows, [LABELS[row] for row in rows], "owner")
    study.refit()
    study.start_audit(60)
    wrong = {"bad": "good", "good": "bad"}
    said = [wrong[v] if sex == "f" else v for v, sex in zip(LABELS, people_table()["sex"], strict=True)]
    while rows := study.ask(60):
        study.tell(rows, [said[row] for row in rows], "owner")
    assert study.certify()["verdict"] == "refuted"
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/certificate")
        expect(page.locator(".verdict h2")).to_contain_text("Refuted: the gap is at least")
        expect(page.locator("main .primary:visible")).to_have_count(1)
        expect(page.get_by_role("link", name="Download this model")).to_have_count(0)
        page.goto(f"{url}/overview")
        expect(page.locator(".tile").nth(0)).to_contain_text("of 60, and 60 for audits")
        expect(page.locator(".tile").nth(2)).to_contain_text("by the audit; at least ")
        expect(page.locator("#curves .bad-words").last).to_contain_text("at least ")
        expect(page.locator("#beside")).to_contain_text("No: the audit says")
        expect(page.locator("#safety")).to_be_hidden()
        next_step = page.locator("#next a").inner_text()
        busy = {"detail": "The studio is busy. Try again."}
        page.route("**/api/model/details", lambda route: route.fulfill(status=503, json=busy), times=1)
        page.goto(f"{url}/model")
        expect(page.locator("#model .primary")).to_have_text(next_step)  # one action, the same on all pages
        expect(page.get_by_role("link", name="Download the model")).to_have_count(0)
        errors = page.get_by_role("table", name="Errors by group")
        expect(errors).to_contain_text("is “bad”, said “good”")
        expect(errors).not_to_contain_text("is “good”, said “bad”")  # the audit measured these


def test_rows_that_the_server_did_not_give_are_asked_for_again_and_are_low_on_a_phone(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = certified(make)
    with serving(create_app(study, train=False)) as url:
        page = new_page(viewport={"width": 390, "height": 844})
        busy = {"detail": "The study is busy."}
        page.route("**/api/rows?*", lambda route: route.fulfill(status=503, json=busy), times=1)
        page.goto(f"{url}/rows?view=answered")
        expect(page.locator("#rows tbody tr").first).to_be_visible()
        expect(page.locator("#alert")).to_be_hidden()
        heights = page.evaluate(
            "[...document.querySelectorAll('#rows tbody tr')].map((row) => row.offsetHeight)"
        )
        assert max(heights) <= 150, heights
        faultless(page, "rows-phone")


def test_a_certificate_and_its_months_say_one_thing_on_all_pages(
    make: Make, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    study = certified(make)
    month = f"{date.today():%Y-%m}"
    new = people_table(300)
    pyarrow.csv.write_csv(pa.table({**new, "truth": truth(new)}), tmp_path / "new.csv")
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/overview")
        expect(page.locator("#watched")).to_contain_text(f"fairask study watch {study.target} TABLE --month ")
        faultless(page, "overview-watch")
        add_month(study, str(tmp_path / "new.csv"), month, tmp_path / "sheet.csv", labels=40)
        expect(page.locator("#watched")).to_contain_text(f"--tell watch-{month}.csv")
        watch = study.state().watch
        assert watch is not None
        said = {"verdict": "refuted", "headline": f"Refuted: the gap is above 99 points since about {month}."}
        study.watched({**watch, "standing": {**watch["standing"], **said}}, watch)
        expect(page.locator("#headline")).to_contain_text("Do not use this model")
        expect(page.locator("#steps li").last).to_have_text("Certificateno longer certified")
        faultless(page, "overview-watched")
        fits(page, "overview-watched")
        page.goto(f"{url}/certificate")
        expect(page.locator(".verdict h2")).to_have_text("No longer certified")
        expect(page.locator(".verdict").first).to_contain_text(said["headline"])
        expect(page.get_by_role("link", name="Download this model")).to_have_count(0)
        faultless(page, "certificate-watched")
