"""People who work together, in a real browser: reasons to skip, flags, a reviewer, practice and gold rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fairask_studio import Study
from fairask_studio.pages import create_app
from studio.tests.pages.browsing import browser, faultless, new_page, shown_row
from studio.tests.pages.serving import serving

__all__ = ["browser", "new_page"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
Make = Callable[..., Study]


@pytest.mark.long
def test_a_row_is_flagged_answered_by_a_reviewer_and_skipped_for_a_reason(
    make: Make, new_page: Callable[..., Page]
) -> None:
    study = make()
    study.draw(10)
    study.people.add("ada", "owner")
    study.people.add("bob")
    study.people.add("rev", "reviewer")
    study.change(skip_reasons=["cannot be told from what is shown", "wrong language"], guidelines="Look.")
    with serving(create_app(study, train=False)) as url:
        bob = new_page(viewport={"width": 390, "height": 844})
        bob.goto(f"{url}/?code={study.people.invite('bob')}")
        bob.click("#guide-close")
        first = shown_row(bob)
        row = int(str(bob.get_attribute("#card", "data-ready")))
        bob.keyboard.press("f")
        expect(bob.locator("#flag-text")).to_be_focused()
        bob.keyboard.type("Is a smith s 1 a trade?")  # letters and digits that are keys elsewhere
        faultless(bob, "flag-dialog-390")
        bob.click("#flag-form .primary")
        expect(bob.locator("#flag-box")).to_be_hidden()
        expect(bob.locator("#threads")).to_contain_text("waits for an answer")
        expect(bob.locator("#said")).to_contain_text("still yours to answer")
        assert shown_row(bob) == first

        # A reviewer finds the flag on the overview, and sees nothing of the owners'.
        rev = new_page()
        rev.goto(f"{url}/?code={study.people.invite('rev')}")
        expect(rev.locator("#flags")).to_contain_text("Is a smith s 1 a trade?")
        expect(rev.locator("nav a")).to_have_text(["Label", "Overview", "Rows", "People"])
        faultless(rev, "reviewer-overview")
        rev.click(f"#flags li a >> text=Row {row}")
        thread = rev.locator("#row-flags .thread")
        expect(thread).to_contain_text("waits for an answer")
        assert rev.locator("#import").count() == 0
        thread.locator("textarea").fill("Yes, it is.\nBut not a clerk.")
        faultless(rev, "reviewer-thread")
        thread.get_by_role("button", name="Answer", exact=True).click()
        expect(thread).to_contain_text("But not a clerk.")
        expect(rev.locator("#row-title")).to_have_text("bob was answered: Is a smith s 1 a trade?")
        thread.get_by_role("button", name="Resolve without an answer").click()
        expect(rev.locator("#side")).to_be_hidden()  # the Inbox is empty
        expect(rev.locator("#views [aria-pressed=true]")).to_have_text("Inbox 0")
        rev.get_by_role("button", name="Drawn").click()
        rev.click("#fold summary")
        rev.select_option("#filter [name=flag]", "resolved")
        expect(rev.locator("#page")).to_have_text("1 to 1 of 1")

        # The annotator skips the row for a reason, and is told of the answer.
        bob.keyboard.press("s")
        expect(bob.locator("#skip-box .reason").first).to_be_focused()
        faultless(bob, "skip-dialog-390")
        bob.keyboard.press("Escape")
        expect(bob.locator("#skip-box")).to_be_hidden()
        assert study.state().skips["bob"] == 0
        bob.keyboard.press("s")
        bob.keyboard.press("2")
        expect(bob.locator("#strip li").first).to_contain_text("skipped")
        expect(bob.locator("#threads details[open]")).to_contain_text("But not a clerk.")
        second = shown_row(bob)
        assert second != first
        bob.keyboard.press("s")
        bob.fill("#skip-other", "torn 1")
        bob.keyboard.press("Enter")
        expect(bob.locator("#strip li")).to_have_count(2)
        faultless(bob, "label-thread-390")
        assert {a.reason for given in study.state().answers.values() for a in given.values()} == {
            "wrong language",
            "torn 1",
        }
        rev.goto(f"{url}/overview")
        expect(rev.locator("#people")).to_contain_text("wrong language")
        rev.get_by_role("link", name="wrong language").click()
        expect(rev.locator("#page")).to_have_text("1 to 1 of 1")
        rev.goto(f"{url}/people")
        expect(rev.locator("#people")).to_contain_text("bob")
        rev.locator("#people summary").click()
        expect(rev.locator("#people")).to_contain_text("torn 1 (1)")
        faultless(rev, "reviewer-people")


@pytest.mark.long
def test_examples_practice_and_gold_rows_from_marking_to_the_warning(
    make: Make, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    study = make(gold_every=2, gold_least=90, question="Will this person repay the whole loan in time?")
    study.draw(30)
    study.people.add("ada", "owner")
    study.people.add("bob")
    rows = study.lease("ada", 2)
    study.tell(rows, ["good", "bad"], "ada")
    spare = [row for row in range(200) if row not in study.state().log.position][:20]
    file = tmp_path / "gold.csv"
    lines = [f"{row},good,," for row in spare[1:]]
    why = "Income is enough. " * 100
    file.write_text("\n".join(["row,gold,use,explanation", f"{spare[0]},good,practice,{why}", *lines]))
    with serving(create_app(study, train=False)) as url:
        # The owner makes a labelled row a worked example, and brings the other known rows in by a file.
        ada = new_page()
        ada.goto(f"{url}/?code={study.people.invite('ada')}")
        expect(ada.locator("#headline")).not_to_have_text("Looking…")
        ada.goto(f"{url}/rows#{rows[0]}")
        ada.click("#row-known summary")
        expect(ada.locator("#known-form [name=label]")).to_have_value("good")
        ada.fill("#known-why", "A **clear** case.")
        ada.get_by_role("button", name="Save").click()
        expect(ada.locator("#row-known summary")).to_have_text("Known answer: good (example)")
        faultless(ada, "rows-known")
        ada.goto(f"{url}/settings")
        expect(ada.locator("#known")).to_contain_text("A **clear** case.")
        ada.set_input_files("#known-file [name=file]", file)
        ada.check("#known-file [name=unchecked]")
        ada.get_by_role("button", name="Import").click()
        expect(ada.locator("#known-said")).to_have_text("20 rows are marked; 21 in all.")
        faultless(ada, "settings-known")

        # The annotator reads the example, practises, and cannot tell gold rows from others.
        bob = new_page(viewport={"width": 390, "height": 844})
        bob.goto(f"{url}/?code={study.people.invite('bob')}")
        expect(bob.locator("#examples")).to_contain_text("clear case.")
        faultless(bob, "examples-390")
        bob.click("#guide-close")
        expect(bob.locator("#practice")).to_contain_text("Practice: the last row")
        shown_row(bob)
        bob.keyboard.press("1")
        expect(bob.locator("#verdict-title")).to_have_text("You said bad; the answer is good.")
        expect(bob.locator("#verdict-why")).to_have_text(why.strip())
        expect(bob.locator("#go-on")).to_be_focused()
        for part in ("#verdict-title", "#go-on", "#answers"):  # however long the explanation is
            expect(bob.locator(part)).to_be_in_viewport(ratio=1)
        question = bob.locator("#question")
        assert question.evaluate("node => node.scrollHeight <= node.clientHeight + 1")  # it is not cut
        faultless(bob, "practice-390")
        bob.keyboard.press("Enter")
        expect(bob.locator("#practice")).to_be_hidden()
        number = 0
        while study.state().known.count("bob") < 10:
            number += 1
            shown_row(bob)
            bob.keyboard.press("1")
            expect(bob.locator("#progress")).to_contain_text(f"{number} by you")
        assert study.state().by["bob"] == number - 10
        assert 18 <= number <= 24

        # The owner is warned, and takes away what was answered in some time.
        ada.goto(f"{url}/overview")
        expect(ada.locator("#wrong")).to_contain_text("bob was right on 0 of 10 gold rows")
        ada.goto(f"{url}/people")
        expect(ada.locator("#people")).to_contain_text(": too few")
        faultless(ada, "people-gold")
        ada.get_by_role("button", name="Take away answers of bob").click()
        said = ada.locator("dialog [role=status]")
        expect(said).to_contain_text("of them labels")
        ada.fill("dialog [name=until]", "2020-01-01T10:00")
        expect(said).to_have_text("No answer of that time.")
        ada.fill("dialog [name=since]", "2021-01-01T10:00")
        expect(said).to_contain_text("before it begins")
        ada.fill("dialog [name=until]", "2999-01-01T10:00")
        expect(said).to_contain_text("of them labels")
        faultless(ada, "people-range")
        ada.get_by_role("button", name="Take them away").click()
        expect(ada.locator("#taken")).to_contain_text("from 1 Jan 2021, 10:00 until 1 Jan 2999, 10:00")
        assert study.state().by["bob"] == 0
        ada.get_by_role("button", name="Give them back").click()
        expect(ada.locator("#taken-panel")).to_be_hidden()


def test_the_inbox_is_settled_by_keys_alone(make: Make, new_page: Callable[..., Page]) -> None:
    study = make(overlap=2)
    study.draw(4)
    study.people.add("ada", "owner")
    study.people.add("bob")
    first, second, third = rows = study.lease("bob", 3)
    study.flag(first, "DM or euros?", "bob")
    study.tell(rows[1:], ["good", "good"], "bob", notes=["", "looks wrong"])
    study.tell([second], ["bad"], "cyn")
    with serving(create_app(study, train=False)) as url:
        ada = new_page()
        ada.goto(f"{url}/rows?code={study.people.invite('ada')}")
        ada.goto(f"{url}/rows")
        for name in ("Inbox 3", "Answered 2", "Drawn 4 of 200"):
            expect(ada.locator("#views")).to_contain_text(name)
        expect(ada.get_by_role("button", name="Skipped")).to_be_hidden()
        expect(ada.locator("#fold")).not_to_have_attribute("open", "")
        ada.keyboard.press("j")
        title, place = ada.locator("#row-title"), ada.locator("#place")
        expect(title).to_have_text("bob asks: DM or euros?")
        expect(place).to_have_text("1 of 3")
        expect(ada.locator("#side")).not_to_contain_text("Nobody has labelled")
        ada.keyboard.press("a")
        ada.keyboard.type("DM, 1 or 2.")
        ada.keyboard.press("Enter")
        expect(title).to_have_text("bob: good, cyn: bad")
        expect(place).to_have_text("1 of 2")
        ada.keyboard.press("2")
        expect(title).to_have_text("bob's note: looks wrong")
        faultless(ada, "rows-note")
        ada.keyboard.press("1")
        expect(ada.locator("#side")).to_be_hidden()
        expect(ada.locator("#empty")).to_contain_text("Nothing waits for a decision")
        ada.goto(f"{url}/people")  # she cannot shut herself out by a slip
        expect(ada.locator("#people")).to_contain_text("owner (you)")
        expect(ada.get_by_role("button", name="Remove ada")).to_have_count(0)
        expect(ada.get_by_role("button", name="Remove bob")).to_have_count(1)
    assert [flag.resolved_by for flag in study.state().flags.of_row(first)] == ["ada"]
    assert {row: study.config.class_name(code) for row, code in study.state().decided.items()} == {
        second: "good",
        third: "bad",
    }
