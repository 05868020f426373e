"""What comes late, or never: the script of a form, the images and recordings of a card."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, Route, expect

from fairask_studio import Study
from fairask_studio.events import SKIP, Document
from fairask_studio.pages import create_app
from fairask_studio.pages.home import create_home
from fairask_studio.pages.people import people_figures
from studio.tests.pages.browsing import browser, look, new_page, serious, shown_row, violations
from studio.tests.pages.serving import serving
from studio.tests.pages.test_cards import PNG, calls, comments, with_media
from studio.tests.pages.test_home import CSV

__all__ = ["browser", "new_page"]


def _held(page: Page, what: str, times: int | None = None) -> list[Route]:
    """Hold back what a page asks for; whoever calls lets it go."""
    held: list[Route] = []
    page.route(f"**/{what}", lambda route: held.append(route), times=times)
    return held


def test_a_file_chosen_before_the_script_ran_is_taken(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    (tmp_path / "comments.csv").write_text(CSV)
    app = create_home(tmp_path)
    with serving(app) as url:
        page = new_page()
        page.goto(f"{url}/?code={app.state.access.invite()}")
        held = _held(page, "new.js")
        page.goto(f"{url}/new", wait_until="commit")
        page.set_input_files("#file", str(tmp_path / "comments.csv"))
        page.wait_for_timeout(2000)
        expect(page.locator("#make")).to_be_hidden()
        held[0].continue_()
        expect(page.locator("#file-said")).to_contain_text("160 rows, 5 columns")
        expect(page.locator("#make")).to_be_visible()


def test_people_sign_in_without_a_script(make: Callable[..., Study], new_page: Callable[..., Page]) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/signin", wait_until="commit")
        page.fill("#token", "wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#refused")).to_have_text("this token is unknown")
        assert page.url == f"{url}/signin"
        page.fill("#token", token)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{url}/overview")
        expect(page.locator(".who .name")).to_have_text("ada")


def test_without_any_script_the_forms_work_and_the_other_pages_say_what_is_missing(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    (tmp_path / "comments.csv").write_text(CSV)
    studies = tmp_path / "studies"
    studies.mkdir()
    app = create_home(studies, train=False)
    with serving(app) as url:
        page = new_page("410", java_script_enabled=False)
        page.goto(f"{url}/?code={app.state.access.invite()}")
        page.goto(f"{url}/new")
        expect(page.locator("#folder")).to_be_hidden()  # a folder is sent by the script
        page.set_input_files("#file", str(tmp_path / "comments.csv"))
        page.get_by_role("button", name="Read the file").click()
        expect(page.locator("#file-said")).to_contain_text("160 rows, 5 columns")
        expect(page.locator("#card .fields")).to_contain_text("The office was")
        page.get_by_role("button", name="Make the study").click()
        expect(page.locator("#question")).to_be_focused()  # the browser itself asks for it
        page.fill("#question", "Is this a complaint?")
        page.get_by_role("button", name="Make the study").click()
        expect(page.locator("#protected-wrong")).to_contain_text("Mark at least one column")
        page.check("input[value=sex]")
        look(page, "new-no-script")
        page.get_by_role("button", name="Make the study").click()
        expect(page).to_have_url(f"{url}/s/comments/overview", timeout=60_000)
        expect(page.locator(".alert:visible")).to_contain_text("This page needs its script")
        with Study.open(studies / "comments") as study:
            token = study.people.add("ada", "owner")
            study.people.add("bob")
            code = study.people.invite("bob")
        there = f"{url}/s/comments"
        page.goto(f"{there}/?code={code}")  # the owner of the home page is signed in here
        page.get_by_role("button", name="and go on as bob").click()
        expect(page).to_have_url(f"{there}/label")
        expect(page.locator(".alert:visible")).to_contain_text("Allow scripts for this address")
        expect(page.locator("main")).to_be_hidden()  # no answer that would not be sent
        look(page, "label-no-script")
        page.context.clear_cookies()
        page.goto(f"{there}/?code={code}")
        expect(page.locator("#became")).to_contain_text("used already")
        page.locator("summary").click()
        page.fill("#token", "wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#refused")).to_have_text("this token is unknown")
        page.fill("#token", token)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{there}/overview")


def test_a_folder_of_images_is_sent_from_the_browser(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    folder = tmp_path / "insects"
    for place in ("meadow", "wood"):
        (folder / "photos" / place).mkdir(parents=True)
        for i in range(12):
            (folder / "photos" / place / f"{i}.png").write_bytes(PNG)
    (folder / ".hidden").write_bytes(b"no table")
    app = create_home(tmp_path / "studies", train=False)
    with serving(app) as url:
        page = new_page()
        page.goto(f"{url}/?code={app.state.access.invite()}")
        page.goto(f"{url}/new")
        page.set_input_files("#folder", str(folder))
        expect(page.locator("#file-said")).to_contain_text("24 rows, 2 columns")
        expect(page.locator("#card img")).to_have_js_property("naturalWidth", 1)
        page.check("input[value=folder]")
        expect(page.locator("#learns")).to_contain_text("no other column is left to learn from")
        # With a table there is something to learn from, and its rows name the files.
        lines = [f"photos/{place}/{i}.png,{i % 5},{place}" for place in ("meadow", "wood") for i in range(12)]
        (folder / "insects.csv").write_text("\n".join(["photo,legs,place", *lines]))
        page.goto(f"{url}/new")
        page.set_input_files("#folder", str(folder))
        expect(page.locator("#file-said")).to_contain_text("insects.csv: 24 rows, 3 columns")
        expect(page.locator("#card img")).to_have_js_property("naturalWidth", 1)
        page.check("input[value=place]")
        page.fill("#question", "Is it an insect?")
        expect(page.locator("#learns")).to_contain_text("legs.")
        page.get_by_role("button", name="Make the study").click()
        expect(page).to_have_url(f"{url}/s/insects/overview", timeout=60_000)
        with Study.open(tmp_path / "studies" / "insects") as study:
            study.draw(10)
        page.goto(f"{url}/s/insects/label")
        shown_row(page)
        expect(page.locator("#card img")).to_have_js_property("naturalWidth", 1)


def test_forms_that_need_their_script_wait_for_it(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    study = make()
    study.people.add("ada", "owner")
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        held = _held(page, "people.js")
        page.goto(f"{url}/people?code={study.people.invite('ada')}", wait_until="commit")
        invite = page.get_by_role("button", name="Invite", include_hidden=True)
        expect(invite).to_be_visible()
        assert invite.evaluate("button => button.closest('[inert]') !== null")  # a click does nothing
        held[0].continue_()
        page.wait_for_selector("#people table")
        page.fill("#new-person [name=name]", "bob")
        invite.click()
        expect(page.locator("#invited")).to_contain_text("bob")
        assert page.url == f"{url}/people"
        # Nobody else reaches localhost: the page says so until it knows a public address.
        expect(page.locator("#alone")).to_contain_text("Nobody else can open a link yet")
        page.fill("#address [name=address]", "https://label.example.org")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#alone")).to_be_hidden()
        page.fill("#new-person [name=name]", "cyn\ndan, eve\nbob")
        invite.click()
        expect(page.locator("#invited tbody tr")).to_have_count(3)
        expect(page.locator("#invited tbody")).to_contain_text("https://label.example.org/?code=")
        expect(page.locator("#invited .refused")).to_contain_text("bob")
        page.get_by_label("Role of cyn").select_option("reviewer")
        expect(page.locator("#said")).to_have_text("cyn is reviewer from now on.")
        assert {p.name: p.role for p in study.people.all()}["cyn"] == "reviewer"


def test_reading_begins_when_all_images_are_there(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    table = comments()
    del table["scan"]
    study = with_media(make(table=table, budget=20, batch_size=20))
    study.draw(20)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        held = _held(page, "photo")
        page.goto(f"{url}/label")
        page.wait_for_selector("#card .body")
        expect(page.locator("#told")).to_have_text("Its picture is loading…")
        page.wait_for_timeout(2000)
        page.keyboard.press("1")
        expect(page.locator("#answers .answer:enabled")).to_have_count(0)
        assert page.get_attribute("#card", "data-ready") is None
        assert len(held) == 1  # pictures of later rows do not keep this one waiting
        for route in held:
            route.continue_()
        shown_row(page)
        expect(page.locator("#answers .answer:enabled")).to_have_count(2)
        page.keyboard.press("1")
        expect(page.locator("#progress")).to_contain_text("1 by you")
        assert study.status()["labels"] == 1
        page.goto(f"{url}/model")  # before there is one, too
        expect(page.locator("main")).to_contain_text("The model cannot see the images")


def test_a_picture_that_is_missing_can_be_skipped_on_a_phone(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    table = comments()
    del table["scan"]
    study = make(table=table, budget=20, batch_size=20)  # without the files
    study.draw(20)
    with serving(create_app(study, train=False)) as url:
        page = new_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
        page.goto(f"{url}/label")
        expect(page.locator("#told")).to_contain_text("A picture of this row cannot be shown.")
        expect(page.locator("#answers .answer:enabled")).to_have_count(0)
        before = page.locator("#answers").bounding_box()
        for name in ("Try again", "Skip: picture missing"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        page.wait_for_selector("#card[data-ready]")
        page.get_by_role("button", name="Skip: picture missing").tap()
        expect(page.locator("#strip")).to_contain_text("skipped")
        assert page.locator("#answers").bounding_box() == before  # the line above them is higher


def test_a_recording_is_judged_when_it_can_be_played_and_skipped_when_it_cannot(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    study = calls(make)
    study.draw(20)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        held = _held(page, "call")
        page.goto(f"{url}/label")
        expect(page.locator("#told")).to_have_text("Its sound is loading…")
        page.keyboard.press("1")
        expect(page.locator("#answers .answer:enabled")).to_have_count(0)
        for route in held:
            route.continue_()
        page.unroute("**/call")
        given, lacking = 0, 0
        while lacking < 2 and given < 20:
            shown_row(page)
            if page.locator("figure .missing").count():
                lacking += 1
                expect(page.locator("#told")).to_contain_text("A sound of this row cannot be played.")
                page.keyboard.press("1")  # nobody judges what they cannot hear
                page.get_by_role("button", name="Try again").click()
                shown_row(page)
                page.get_by_role("button", name="Skip: sound missing").click()
            else:
                if not given - lacking:
                    _check_player(page)
                page.keyboard.press("1")
            given += 1
            skipped = f", {lacking} skipped" if lacking else ""
            expect(page.locator("#progress")).to_contain_text(f"{given - lacking} by you{skipped}")
        answers = [a for by in study.state().answers.values() for a in by.values()]
        assert {a.reason for a in answers if a.code == SKIP} == {"sound missing"}


def _check_player(page: Page) -> None:
    player = page.locator("#card audio")
    page.keyboard.press("p")
    expect(player).to_have_js_property("paused", False)
    expect(player).not_to_have_js_property("currentTime", 0)  # a busy machine begins late
    page.keyboard.press("P")
    expect(player).to_have_js_property("paused", True)
    page.keyboard.press("ArrowLeft")
    expect(player).to_have_js_property("currentTime", 0)
    assert serious(violations(page)) == []
    look(page, "card-audio")


def test_no_row_waits_for_the_answers_to_questions(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        held = _held(page, "flags/mine")
        page.goto(f"{url}/label")
        shown_row(page)
        assert len(held) == 1
        page.evaluate("dispatchEvent(new Event('outbox'))")  # as when another tab has sent something
        held[0].continue_()
        expect(page.locator("#answers .answer:enabled")).to_have_count(2)


def test_the_button_that_invites_stays_where_it_is_when_the_people_come(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    with serving(create_app(make(), train=False)) as url:
        page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        held = _held(page, "api/people/figures", times=1)
        with page.expect_request("**/api/people/figures", timeout=60_000):
            page.goto(f"{url}/people")
        page.wait_for_selector("#new-person:not([inert])")
        invite, role = page.get_by_role("button", name="Invite"), page.locator("#new-person [name=role]")
        expect(page.locator("#first-owner")).to_be_visible()
        expect(role).to_have_value("owner")
        before = invite.bounding_box()
        role.select_option("annotator")
        held[0].continue_()
        expect(page.locator("#people")).to_contain_text("Nobody yet")
        assert invite.bounding_box() == before
        expect(role).to_have_value("annotator")  # what was chosen stays; the server refuses it with a reason
        page.fill("#new-person [name=name]", "ada")
        invite.tap()
        expect(page.locator("#alert")).to_contain_text("the first person must be an owner")
        role.select_option("owner")
        invite.tap()
        expect(page.locator("#invited")).to_contain_text("ada")
        expect(page.locator("#first-owner")).to_be_hidden()
        expect(role).to_have_value("annotator")


def test_what_stands_below_late_content_appears_with_it(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    late = {  # what is held, and what stands below it
        "people": ("api/people/figures", "#new-program button"),
        "settings": ("api/rows/0", "#budget button"),
        "rows": ("api/rows?*", ".pages"),
        "settings#known-title": ("api/known", "#export-title"),
    }
    with serving(create_app(study, train=False)) as url:
        page = new_page("500", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        page.goto(f"{url}/signin")
        page.fill("#token", token)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{url}/overview")
        for view, (what, below) in late.items():
            held = _held(page, what, times=1)
            with page.expect_request(f"**/{what}", timeout=60_000):
                page.goto(f"{url}/{view}")
            page.wait_for_selector("form:not([inert])", state="attached")
            expect(page.locator(below)).to_be_hidden()
            held[0].fulfill(status=500) if view == "settings" else held[0].continue_()  # it need not come
            if view == "rows":
                expect(page.locator("#empty")).to_be_visible()  # one page of rows has no other
            else:
                expect(page.locator(below)).to_be_visible()
        expect(page.locator("#known-title")).to_be_in_viewport()


def test_rows_that_come_late_do_not_move_under_somebody_who_has_begun_to_read(
    make: Callable[..., Study], new_page: Callable[..., Page]
) -> None:
    study = make()
    rows = study.ask(5, "ada")
    study.tell(rows[:3], ["good"] * 3, "ada")
    held: list[Route] = []
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.route("**/api/rows?*", lambda route: held.append(route) if told else route.fallback())
        told = False
        page.goto(f"{url}/rows?view=answered")
        expect(page.locator("#page")).to_have_text("1 to 3 of 3")
        told = True
        study.tell(rows[3:], ["bad"] * 2, "ada")
        while not held:
            page.wait_for_timeout(50)
        more = page.get_by_role("button", name=f"Open row {rows[0]}")
        more.focus()
        told = False
        with page.expect_response("**/api/rows?*", timeout=60_000):
            held[0].continue_()
        page.wait_for_timeout(300)
        expect(page.locator("#page")).to_have_text("1 to 3 of 3")
        expect(more).to_be_focused()
        page.locator("h1").click()
        study.skip(study.ask(1, "ada"), "ada")
        expect(page.locator("#page")).to_have_text("1 to 5 of 5")


def test_what_a_busy_server_left_out_is_asked_for_again(
    make: Callable[..., Study], new_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(study: Study) -> list[Document]:
        time.sleep(1.5)
        return people_figures(study)

    monkeypatch.setattr("fairask_studio.pages.people.people_figures", slowly)
    monkeypatch.setattr("fairask_studio.pages.desk._SLOW", 1.0)  # the status is quick
    monkeypatch.setattr("fairask_studio.pages.desk._TIMES", 1e12)
    study = make()
    rows = study.ask(5, "ada")
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/people")
        expect(page.locator("#people")).to_contain_text("Nobody yet")
        with page.expect_response(_is_late, timeout=60_000):
            study.tell(rows, ["good"] * 5, "ada")
        expect(page.locator("#people")).to_contain_text("Nobody yet")
        monkeypatch.setattr("fairask_studio.pages.desk._TIMES", 0.0)  # nothing else happens
        expect(page.locator("#people td").filter(has_text="ada")).to_be_visible()


def _is_late(response: Response) -> bool:
    return "people/figures" in response.url and "x-late" in response.headers
