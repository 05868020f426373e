"""The studio in a real browser: keyboard, phone, two people, charts that move, no faults for axe."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.pages.demo import Robot
from studio.tests.pages.browsing import (
    LABELS,
    StandIn,
    browser,
    new_page,
    serious,
    shown_row,
    violations,
)
from studio.tests.pages.serving import serving
from studio.tests.study.conftest import people_table
from studio.tests.study.test_files import HOSTILE

__all__ = ["browser", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
Make = Callable[..., Study]


def test_labelling_with_the_keyboard_alone(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        first = shown_row(page)
        page.keyboard.press("2")
        expect(page.locator("#card")).not_to_have_text(first)
        second = shown_row(page)
        page.keyboard.press("1")
        expect(page.locator("#strip li")).to_have_count(2)
        expect(page.locator("#progress")).to_contain_text("2 of 60")
        assert sorted(study.learner().labels_.tolist()) == ["bad", "good"]

        page.keyboard.press("u")  # the second row comes back
        expect(page.locator("#strip li")).to_have_count(1)
        expect(page.locator("#progress")).to_contain_text("1 of 60")
        assert shown_row(page) == second

        page.keyboard.press("n")
        page.keyboard.type("torn page s")  # letters that are keys elsewhere
        page.keyboard.press("Escape")
        page.keyboard.press("s")
        expect(page.locator("#strip li").first).to_contain_text("skipped")
        expect(page.locator("#progress")).to_contain_text("1 of 60, batch 1, 1 by you, 1 skipped")
        assert [a.note for given in study.state().answers.values() for a in given.values()] == [
            "",
            "torn page s",
        ]

        page.keyboard.press("w")  # look again at the first answer, and correct it
        expect(page.locator("#correcting")).to_contain_text("You said: good")
        assert shown_row(page) == first
        page.keyboard.press("1")
        expect(page.locator("#correcting")).to_be_hidden()
        expect(page.locator("#told")).to_contain_text("Saved: bad.")
        assert study.learner().labels_.tolist() == ["bad"]

        page.keyboard.press("?")
        expect(page.locator("#help-box")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#help-box")).to_be_hidden()
        page.reload()
        expect(page.locator("#strip li")).to_have_count(2)


def test_everything_can_be_reached_by_tab(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw()
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        shown_row(page)
        reached = set()
        for _ in range(20):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.innerText || document.activeElement.ariaLabel"))
        words = " ".join(str(word) for word in reached)
        for action in ("Skip to the content", "bad", "good", "Skip", "Note", "Help"):
            assert action in words


def test_the_end_of_the_budget_is_said(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(budget=3, batch_size=3)
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        for number in range(1, 4):
            shown_row(page)
            page.keyboard.press("1")
            expect(page.locator("#strip li")).to_have_count(number)
        expect(page.locator("#card")).to_contain_text("Done. Thank you!")


def test_two_people_sign_in_and_never_get_the_same_row(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    owner = study.people.add("ada", "owner")
    tokens = {"bob": study.people.add("bob"), "cyn": study.people.add("cyn")}
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        page.goto(f"{url}/overview")
        expect(page).to_have_url(f"{url}/signin")
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#refused")).to_have_text("this token is unknown")
        page.fill("#token", owner)
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{url}/overview")

        pages = []
        for token in tokens.values():
            pages.append(new_page())
            pages[-1].goto(url)
            pages[-1].fill("#token", token)
            pages[-1].keyboard.press("Enter")
            expect(pages[-1]).to_have_url(f"{url}/label")
            assert pages[-1].locator("nav").count() == 0  # nothing but labelling for them
        for number in range(1, 6):
            for each in pages:
                shown_row(each)
                each.keyboard.press("1")
                expect(each.locator("#progress")).to_contain_text(f"{number} by you")
        answers = study.state().answers
        assert len(answers) == 10
        assert all(len(given) == 1 for given in answers.values())
        expect(page.locator("#people")).to_contain_text("cyn")  # the owner saw it without a reload
        pages[0].click("#signout")
        expect(pages[0]).to_have_url(f"{url}/signin")


def test_the_charts_move_while_labels_arrive(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(budget=120)
    with serving(create_app(study, robot=Robot(study, LABELS, seconds=0.02))) as url:
        page = new_page()
        page.goto(f"{url}/overview")
        page.wait_for_selector("#curves svg", timeout=60_000)
        expect(page.locator("#curves")).to_have_attribute("data-points", re.compile("[1-9]"))
        points = int(str(page.get_attribute("#curves", "data-points")))
        labels = int(page.inner_text(".tile .value >> nth=0"))
        expect(page.locator("#curves")).not_to_have_attribute("data-points", str(points))
        assert int(page.inner_text(".tile .value >> nth=0")) > labels
        page.click("#robot")
        expect(page.locator("#robot")).to_have_text("Resume the robot")


@pytest.mark.filterwarnings("ignore::fairask.errors.FairaskWarning")
def test_rows_and_the_model_move_without_a_reload(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    with serving(create_app(study, train=False)) as url:
        rows_page, model_page = new_page(), new_page()
        rows_page.goto(f"{url}/rows")
        model_page.goto(f"{url}/model")
        expect(model_page.locator("main")).to_contain_text("No model yet")
        rows = study.ask(40, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        study.refit()
        expect(rows_page.locator("#page")).to_have_text("1 to 40 of 40")
        expect(rows_page.locator("#filter-who")).to_contain_text("ada")
        expect(model_page.locator("main")).to_contain_text("Rates by group")
        said = study.status()["safety"]
        assert said.startswith("Infeasible with these 40 labels")
        expect(model_page.locator("main")).to_contain_text(said)
        overview = new_page()
        overview.goto(f"{url}/overview")
        expect(overview.locator("#safety")).to_have_text(said)
        rows_page.get_by_role("button", name=f"Open row {rows[0]}").focus()
        more = study.ask(5, "ada")
        study.tell(more, [LABELS[row] for row in more], "ada")
        rows_page.wait_for_timeout(2500)
        expect(rows_page.locator("#page")).to_have_text("1 to 40 of 40")  # nothing moves under a reader
        rows_page.locator("h1").click()
        study.skip(study.ask(1, "ada"), "ada")
        expect(rows_page.locator("#page")).to_have_text("1 to 46 of 46")


@pytest.fixture(scope="module")
def report(few_trees: None, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report, as the browser downloads it."""
    folder = tmp_path_factory.mktemp("report")
    with Study.create(folder / "study", people_table(), protected="sex", classes=("bad", "good"), budget=60,
                      batch_size=10, random_state=3) as study:  # fmt: skip
        rows = study.ask(40, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        study.refit()
        with serving(create_app(study, train=False)) as url, browser.new_context() as context:
            page = context.new_page()
            page.goto(f"{url}/overview")
            with page.expect_download(timeout=60_000) as download:
                page.get_by_role("link", name="Report").click()
            download.value.save_as(folder / "report.html")
    return folder / "report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_opens_from_disk_on_a_phone_and_for_everybody(
    report: Path, new_page: Callable[..., Page], scheme: str
) -> None:
    asked: list[str] = []
    page = new_page(color_scheme=scheme, viewport={"width": 375, "height": 740})
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    expect(page.get_by_role("heading", level=1)).to_contain_text("Which class is this?")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    found = violations(page, {"preload": False})
    assert serious(found) == [], found


def test_a_row_is_answered_on_a_phone_without_scrolling(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw()
    with serving(create_app(study)) as url:
        page = new_page(viewport={"width": 375, "height": 740}, has_touch=True, is_mobile=True)
        page.goto(f"{url}/label")
        before = shown_row(page)
        page.tap("#answers .answer >> nth=1")
        expect(page.locator("#card")).not_to_have_text(before)
        box = page.locator("#answers .answer").first.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["y"] + box["height"] <= 740  # no scrolling to answer


@pytest.mark.parametrize("phone", [False, True], ids=["laptop", "phone"])
def test_the_dock_never_moves(make: Make, new_page: Callable[..., Page], phone: bool) -> None:
    table = people_table()
    table["letter"] = ["A word or two. " * (1 + 40 * (i % 5)) for i in range(200)]
    study = make(table=table, guidelines="Look. " * 400)
    study.draw(30)
    small = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with serving(create_app(study, train=False)) as url:
        page = new_page(**(small if phone else {}))
        press = page.tap if phone else page.click
        page.goto(f"{url}/label")
        places = set()
        shown_row(page)
        expect(page.locator("#guide")).to_be_visible()  # over the row: nobody judges it unseen
        expect(page.locator("#answers .answer:enabled")).to_have_count(0)
        press("#guide-close")
        for number in range(12):
            shown_row(page)
            places.add(
                str([page.locator(name).bounding_box() for name in ("#answers", "#skip", "#undo", "#note")])
            )
            if number == 2:
                press("#guide-open")
                expect(page.locator("#guide")).to_be_visible()
                press("#guide-close")
                shown_row(page)
            press("#answers .answer >> nth=1")
            expect(page.locator("#told")).to_contain_text("Saved: good. Undo")
            expect(page.locator("#progress")).to_contain_text(f"{number + 1} by you")
            colours = page.locator("#answers .answer").evaluate_all(
                "all => all.map((b) => getComputedStyle(b).borderColor)"
            )
            assert colours[0] == colours[1]  # the last answer does not look chosen
        assert len(places) == 1
        box = page.locator("#dock").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= page.viewport_size["height"]  # type: ignore[index]
        press("#told button")  # Undo
        expect(page.locator("#progress")).to_contain_text("11 by you")
        expect(page.locator("#told")).to_have_text("")


def test_empty_views_say_what_comes(make: Make, new_page: Callable[..., Page]) -> None:
    with serving(create_app(make(), train=False)) as url:
        page = new_page()
        for view, words in {
            "label": "Choosing the next rows",
            "overview": "so that nothing is assumed",
            "rows": "No such rows yet",
            "model": "No model yet",
            "certificate": "certif",
            "nowhere": "There is no such page",
        }.items():
            page.goto(f"{url}/{view}")
            expect(page.locator("main")).to_contain_text(words)


def test_an_audit_is_started_labelled_and_certified(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(budget=40)
    rows = study.ask(40, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/certificate")
        expect(page.locator("main")).to_contain_text("No certificate yet")
        if not page.locator("#audit-size").is_visible():
            page.click("text=Audit it anyway")
        page.fill("#audit-size", "60")
        page.wait_for_timeout(2500)  # the page looks again by itself
        expect(page.locator("#audit-size")).to_have_value("60")
        page.click("text=Start the audit")
        expect(page.locator("main")).to_contain_text("0 of at most 60 rows are answered")
        rows = study.ask(60, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        expect(page.locator("main")).to_contain_text("60 of at most 60 rows")
        page.get_by_role("button", name="Issue the certificate").click()
        expect(page.locator(".verdict h2")).to_have_text(
            re.compile("Cannot tell yet|Certified: the|Refuted: the")
        )
        expect(page.locator("#start")).to_contain_text("Labels to spend")  # the audit is over
        page.goto(f"{url}/overview")
        expect(page.locator("#feed")).to_contain_text("ended the audit")


def test_a_refused_answer_is_said_and_the_next_one_counts(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        server = StandIn(page)
        page.goto(f"{url}/label")
        shown_row(page)
        server.handler = server.refuse
        with page.expect_response("**/api/next"):
            page.keyboard.press("1")
            read = shown_row(page)
        expect(page.locator("#alert")).to_have_text("too late")
        assert study.status()["labels"] == 0
        assert shown_row(page) == read  # the refused row comes back later, not under the reader's eyes
        page.keyboard.press("1")
        expect(page.locator("#alert")).to_be_hidden()
        expect(page.locator("#progress")).to_contain_text("1 of 60")


@pytest.mark.parametrize("away", ["server", "database"])
def test_an_answer_survives_what_is_out_of_reach(
    make: Make, new_page: Callable[..., Page], away: str
) -> None:
    def refuse(route: Route) -> None:
        if away == "server":
            route.abort("connectionrefused")
        else:
            words = "The database cannot be reached. Try again in a moment."
            route.fulfill(status=503, json={"detail": words})

    study = make()
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        server = StandIn(page)
        page.goto(f"{url}/label")
        shown_row(page)
        server.handler = refuse
        page.keyboard.press("2")
        expect(page.locator("#alert")).to_have_text(f"The {away} cannot be reached. Trying again…")
        assert study.status()["labels"] == 0
        server.handler = None
        expect(page.locator("#progress")).to_contain_text("1 of 60")
        expect(page.locator("#alert")).to_be_hidden()
        assert study.learner().labels_.tolist() == ["good"]


def test_a_hostile_pool_is_shown_as_text(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(table=HOSTILE, budget=40, batch_size=40, classes=("<b>no</b>", "yes"))
    study.draw()  # nobody waits for the trainer
    with serving(create_app(study)) as url:
        page = new_page()
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(f"{url}/label")
        seen = ""
        for number in range(1, 9):
            seen += shown_row(page)
            page.keyboard.press("1")
            expect(page.locator("#strip li")).to_have_count(min(number, 5))
        assert "<script>alert(1)</script>" in seen
        assert page.locator("#card script, #answers b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200
        # Leaving with an answer still under way asks first, and the handler above would say no.
        expect(page.locator("#progress")).to_contain_text("8 of 40")
        page.goto(f"{url}/rows?state=labelled")
        expect(page.locator("#rows tbody tr").first).to_contain_text("<b>no</b>")
        assert dialogs == []
