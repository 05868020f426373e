"""What people do by accident, in a real browser: double clicks, notes, undo, ended sessions, closed tabs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, Dialog, Page, Route, expect
from sqlalchemy import text

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.browsing import StandIn, browser, cut_off, new_page, shown_row
from studio.tests.pages.serving import serving

__all__ = ["browser", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
Make = Callable[..., Study]


def test_ten_double_clicks_are_ten_labels(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(budget=60)
    study.draw(40)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        for number in range(1, 11):
            shown_row(page)
            page.dblclick("#answers .answer >> nth=1", delay=20)
            expect(page.locator("#progress")).to_contain_text(f"{number} by you")
        shown_row(page)
        assert study.status()["labels"] == 10


def test_a_note_stays_with_the_row_it_was_typed_for(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        shown_row(page)
        page.keyboard.press("1")
        expect(page.locator("#strip li button")).to_have_count(1)
        shown_row(page)
        page.keyboard.press("n")
        page.keyboard.type("about the second")
        page.keyboard.press("Escape")
        page.keyboard.press("q")  # the first row again: it has no place for a note
        expect(page.locator("#correcting")).to_be_visible()
        expect(page.locator("#note")).to_be_disabled()
        expect(page.locator("#note-box")).to_be_hidden()
        shown_row(page)
        page.keyboard.press("2")
        expect(page.locator("#correcting")).to_be_hidden()
        expect(page.locator("#note-text")).to_have_value("about the second")
        shown_row(page)
        page.keyboard.press("1")
        expect(page.locator("#progress")).to_contain_text("2 by you")
        notes = [a.note for given in study.state().answers.values() for a in given.values()]
        assert notes == ["", "about the second"]


def test_undo_takes_back_the_row_that_is_open(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        first = shown_row(page)
        for number in (1, 2):
            shown_row(page)
            page.keyboard.press("1")
            expect(page.locator("#progress")).to_contain_text(f"{number} by you")
        older, newest = list(study.state().answers)
        page.keyboard.press("w")
        expect(page.locator("#correcting")).to_be_visible()
        page.keyboard.press("u")
        expect(page.locator("#progress")).to_contain_text("1 by you")
        assert {row for row, given in study.state().answers.items() if given} == {newest}
        assert shown_row(page) == first
        assert older != newest


def test_what_was_saved_is_said_for_four_seconds(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.clock.install()
        page.goto(f"{url}/label")
        shown_row(page)
        page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 5)
        page.keyboard.press("2")
        said = page.locator("#told")
        expect(said).to_have_text("Saved: good. UndoU")
        page.clock.run_for(3900)
        expect(said).to_be_visible()
        expect(said).to_have_text("Saved: good. UndoU")
        page.clock.run_for(200)
        expect(said).to_have_text("")


def test_in_a_tie_no_answer_is_shown_as_the_label_until_somebody_decides(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make(overlap=2)
    study.draw(1)
    for who, label in {"ada": "good", "bob": "bad"}.items():
        study.tell(study.lease(who, 1), [label], who)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/rows")
        expect(page.locator("#views [aria-pressed=true]")).to_have_text("Inbox 1")
        expect(page.locator("#rows tbody")).to_contain_text("ada: good, bob: bad")
        page.goto(f"{url}/rows?view=drawn")
        page.get_by_role("button", name="Open row").click()
        expect(page.locator("#row-answers button")).to_have_count(2)
        expect(page.locator("#row-answers button[aria-pressed=true]")).to_have_count(0)
        expect(page.locator("#rows tbody")).to_contain_text("a tie")
        page.locator("#row-answers button").last.click()
        expect(page.locator("#row-history")).to_contain_text("decided: good")
        expect(page.locator("#row-answers button[aria-pressed=true]")).to_have_text(re.compile("^good"))
    assert len(study.state().decided) == 1


def test_an_answer_after_the_session_ended_is_sent_after_signing_in(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    study.people.add("ada", "owner")
    token = study.people.add("bob")
    with serving(create_app(study, train=False)) as url:
        page = new_page()

        def sign_in() -> None:
            page.fill("#token", token)
            page.keyboard.press("Enter")
            expect(page).to_have_url(f"{url}/label")

        page.goto(url)
        sign_in()
        shown_row(page)
        with study.store.database.write() as connection:
            connection.execute(text("DELETE FROM sessions"))
        study.people._known.clear()
        page.keyboard.press("n")
        page.keyboard.type("twelve hours later")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        expect(page).to_have_url(f"{url}/signin?ended")
        assert study.status()["labels"] == 0
        sign_in()
        expect(page.locator("#progress")).to_contain_text("1 by you")
        (given,) = (a for row in study.state().answers.values() for a in row.values())
        assert (given.code, given.note) == (1, "twelve hours later")
        assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('outbox')).length") == 0


def test_closing_the_tab_offline_warns_and_loses_nothing(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        asked: list[str] = []

        def leave(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.accept()

        page.on("dialog", leave)
        server = StandIn(page, "**/api/**")
        page.goto(f"{url}/label")
        shown_row(page)
        server.handler = lambda route: route.abort("connectionrefused")
        page.click("#answers .answer >> nth=0")
        expect(page.locator("#alert")).to_contain_text("Trying again")
        page.reload(wait_until="commit")
        assert asked == ["beforeunload"]
        server.handler = None  # the page that was loaded again sends what the browser kept
        expect(page.locator("#progress")).to_contain_text("1 by you")
        assert study.status()["labels"] == 1


def test_two_answers_given_offline_are_kept_when_the_tab_is_closed(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make(batch_size=30)
    study.draw(30)
    with serving(create_app(study, train=False)) as url:
        page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        page.goto(f"{url}/label")
        shown_row(page)
        assert study.status()["held"] == 10  # a phone holds rows to go on without a connection
        cut_off(page)
        for number, words in enumerate(("1 answer waits to be sent", "2 answers wait to be sent")):
            shown_row(page)
            page.tap(f"#answers .answer >> nth={number}")
            expect(page.locator("#told")).to_have_text(words)
        third = shown_row(page)
        page.tap("#answers .answer >> nth=0")
        expect(page.locator("#told")).to_have_text("3 answers wait to be sent")
        shown_row(page)
        page.tap("#undo")  # it has not left the browser
        expect(page.locator("#told")).to_have_text("2 answers wait to be sent")
        assert shown_row(page) == third
        context = page.context
        page.close()
        assert study.status()["labels"] == 0
        page = context.new_page()
        page.goto(f"{url}/label")
        expect(page.locator("#progress")).to_contain_text("2 by you")
        assert sorted(study.learner().labels_.tolist()) == ["bad", "good"]
        assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('outbox')).length") == 0


def test_what_stands_between_may_answer_for_the_studio_and_no_answer_is_lost(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    said = [
        (502, "<h1>Bad Gateway</h1>"),
        (403, "<h1>Who are you?</h1>"),
        (200, "<h1>Welcome to this WLAN</h1>"),
    ]
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        server = StandIn(page)
        page.goto(f"{url}/label")
        shown_row(page)

        def between(route: Route) -> None:
            status, body = said.pop(0)
            server.handler = between if said else None
            route.fulfill(status=status, body=body, content_type="text/html")

        server.handler = between
        page.keyboard.press("2")
        expect(page.locator("#told")).to_have_text("1 answer waits to be sent")
        expect(page.locator("#alert")).to_have_text("The server answered 502. Trying again…")
        expect(page.locator("#told")).to_contain_text("Saved: good.")
        expect(page.locator("#alert")).to_be_hidden()
        assert said == []
        assert study.learner().labels_.tolist() == ["good"]


@pytest.mark.parametrize("reloaded", [False, True], ids=["at once", "by the next page"])
def test_an_answer_on_which_the_server_always_fails_is_kept_and_those_behind_it_are_sent(
    make: Make, new_page: Callable[..., Page], reloaded: bool
) -> None:
    study = make(batch_size=30)
    study.draw(30)
    failing, tries = [-1], [0]

    def fail(route: Route) -> None:
        if (route.request.post_data_json or {}).get("row") == failing[0]:
            tries[0] += 1
            route.fulfill(status=500, body="Internal Server Error")
        else:
            route.fallback()

    with serving(create_app(study, train=False)) as url:
        page = new_page("500", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        page.route("**/api/answers", fail)
        page.goto(f"{url}/label")
        shown_row(page)
        failing[0] = bad = int(page.get_attribute("#card", "data-ready") or "")
        if reloaded:
            cut_off(page)
        for number in range(1, 4):
            shown_row(page)
            page.tap(f"#answers .answer >> nth={number % 2}")
            expect(page.locator("#told")).to_have_text(re.compile(f"^({number} answers? wait|Saved: )"))
        if reloaded:
            context = page.context
            page.close()
            page = context.new_page()
            page.route("**/api/answers", fail)
            page.goto(f"{url}/label")
        words = f"1 answer could not be saved: row {bad}, good. The server answered 500. It is kept in this"
        expect(page.locator("#aside")).to_contain_text(words)
        expect(page.locator("#aside")).to_contain_text("tell an owner")
        expect(page.locator("#progress")).to_contain_text("2 by you")
        expect(page.locator("#alert")).to_be_hidden()
        assert tries[0] == 5
        assert bad not in study.state().answers
        shown_row(page)
        assert int(page.get_attribute("#card", "data-ready") or "") != bad  # it is not asked again
        page.tap("#answers .answer >> nth=0")  # the next answers do not wait for it
        expect(page.locator("#progress")).to_contain_text("3 by you")
        page.reload()
        expect(page.locator("#aside")).to_contain_text(words)
        shown_row(page)
        page.get_by_role("button", name="Try again now").tap()
        expect(page.locator("#said")).to_have_text("Still not saved.")
        expect(page.locator("#aside")).to_contain_text(words)
        failing[0] = -1
        page.get_by_role("button", name="Try again now").tap()
        expect(page.locator("#aside")).to_be_hidden()
        expect(page.locator("#progress")).to_contain_text("4 by you")
        assert {a.code for a in study.state().answers[bad].values()} == {1}
        assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('outbox')).length") == 0


def test_a_page_from_before_signing_in_again_keeps_its_answer(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    study.people.add("ada", "owner")
    token = study.people.add("bob")
    with serving(create_app(study, train=False)) as url:
        old = new_page()

        def sign_in(page: Page) -> None:
            page.fill("#token", token)
            page.keyboard.press("Enter")
            shown_row(page)

        old.goto(url)
        sign_in(old)
        new = old.context.new_page()
        new.goto(f"{url}/label")
        new.click("#signout")
        sign_in(new)
        old.keyboard.press("2")
        expect(old.locator("#progress")).to_contain_text("1 by you")
        assert study.learner().labels_.tolist() == ["good"]
        # What one tab has answered, the other does not ask for again.
        shown_row(old)
        assert shown_row(new) == shown_row(old)
        old.keyboard.press("1")
        expect(old.locator("#progress")).to_contain_text("2 by you")
        expect(new.locator("#progress")).to_contain_text("2 by you")
        assert shown_row(new) == shown_row(old)


def test_a_late_reply_does_not_bring_back_a_row_that_was_answered_meanwhile(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        one = new_page()
        sends = StandIn(one)
        one.goto(f"{url}/label")
        shown_row(one)
        two = one.context.new_page()
        asks = StandIn(two, "**/api/next")
        two.goto(f"{url}/label")
        row = shown_row(two)
        two.wait_for_load_state("networkidle")
        held: list[Route] = []
        late: list[tuple[Route, APIResponse]] = []

        def ask(route: Route) -> None:
            asks.handler = None
            late.append((route, route.fetch()))

        sends.handler, asks.handler = held.append, ask
        one.keyboard.press("1")  # the other tab is told at once, and asks before the server has the answer
        while not (held and late):
            one.wait_for_timeout(50)
        sends.handler = None
        held[0].continue_()
        expect(two.locator("#progress")).to_contain_text("1 by you")
        route, reply = late[0]
        with two.expect_request("**/api/next", timeout=60_000):  # it is asked for again
            route.fulfill(response=reply)
        expect(two.locator("#progress")).to_contain_text("1 by you")
        assert shown_row(two) == shown_row(one) != row


def test_what_is_corrected_or_taken_back_offline_is_kept_when_the_tab_is_closed(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        first = shown_row(page)
        page.keyboard.press("1")
        expect(page.locator("#progress")).to_contain_text("1 by you")
        page.keyboard.press("q")
        expect(page.locator("#correcting")).to_be_visible()
        assert shown_row(page) == first
        cut_off(page)
        page.keyboard.press("2")
        expect(page.locator("#told")).to_have_text("1 answer waits to be sent")
        second = shown_row(page)
        assert second != first
        context = page.context
        page.close()
        page = context.new_page()
        page.goto(f"{url}/label")
        expect(page.locator("#strip li").first).to_contain_text("good")
        assert study.learner().labels_.tolist() == ["good"]

        # An answer that is being sent, and may have arrived, is taken back at once, and given otherwise.
        server = StandIn(page)
        assert shown_row(page) == second
        server.handler = lambda route: route.abort("connectionrefused")
        page.keyboard.press("1")
        expect(page.locator("#told")).to_have_text("1 answer waits to be sent")
        shown_row(page)
        page.keyboard.press("u")
        expect(page.locator("#told")).to_have_text("What you took back waits to be sent")
        assert shown_row(page) == second
        page.keyboard.press("2")
        expect(page.locator("#told")).to_have_text("1 answer waits to be sent")
        server.handler = None
        expect(page.locator("#progress")).to_contain_text("2 by you")
        assert study.learner().labels_.tolist() == ["good", "good"]


def test_an_answer_that_the_studio_has_is_taken_back_though_another_waits_in_its_place(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        offline = [False]
        page.route(
            "**/api/**", lambda route: route.abort("connectionrefused") if offline[0] else route.fallback()
        )
        page.goto(f"{url}/label")
        rows = [shown_row(page)]
        page.keyboard.press("1")
        expect(page.locator("#progress")).to_contain_text("1 by you")
        rows.append(shown_row(page))
        page.keyboard.press("1")
        expect(page.locator("#progress")).to_contain_text("2 by you")
        shown_row(page)
        offline[0] = True
        for row in reversed(rows):  # the second one is on its way, the first one waits for it
            page.keyboard.press("u")
            assert shown_row(page) == row
        page.keyboard.press("2")
        expect(page.locator("#told")).to_have_text("1 answer waits to be sent")
        shown_row(page)
        page.keyboard.press("u")
        assert shown_row(page) == rows[0]
        offline[0] = False
        expect(page.locator("#progress")).to_contain_text("0 by you")
        assert study.status()["labels"] == 0
        page.keyboard.press("2")
        expect(page.locator("#told")).to_contain_text("Saved: good.")
        assert study.learner().labels_.tolist() == ["good"]


def test_the_end_notices_new_rows(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(budget=20, batch_size=20)
    rows = study.ask(20, "ada")
    study.tell(rows, ["good", "bad"] * 10, "ada")
    study.refit()
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.goto(f"{url}/label")
        expect(page.locator("#card")).to_contain_text("Done. Thank you!")
        study.start_audit(10, "ada")
        study.draw()
        expect(page.locator("#card .fields")).to_be_visible()


def test_a_tab_that_nobody_looks_at_lets_its_rows_go(make: Make, new_page: Callable[..., Page]) -> None:
    study = make()
    study.draw(10)
    with serving(create_app(study, train=False)) as url:
        page = new_page()
        page.clock.install()
        asked: list[str] = []
        ended: list[str] = []
        page.goto(f"{url}/label")
        page.wait_for_selector("#card .fields")
        page.on("request", lambda sent: sent.url.endswith("/next") and asked.append(sent.url))
        for end in ("requestfinished", "requestfailed"):
            page.on(end, lambda sent: sent.url.endswith("/next") and ended.append(sent.url))
        for _ in range(9):
            page.clock.run_for(61_000)
            page.wait_for_timeout(100)
        assert asked  # while somebody may still be reading
        page.clock.run_for(120_000)
        page.wait_for_timeout(300)
        while len(ended) < len(asked):
            page.wait_for_timeout(300)
        asked.clear()
        for _ in range(5):
            page.clock.run_for(61_000)
        page.wait_for_timeout(300)
        assert asked == []
        with page.expect_request("**/next", timeout=60_000):
            page.mouse.move(5, 5)
        assert len(asked) == 1
