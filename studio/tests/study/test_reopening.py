"""Owners take answers away and give them back; limits on each person; leases of idle pages end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairask_studio import Study, StudyError
from fairask_studio.integrity import verify
from fairask_studio.store import transaction
from fairask_studio.study import Restored
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]


class Clock:
    """The database's clock, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_800_000_000.0
        monkeypatch.setattr(transaction, "clock", lambda connection: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def label(study: Study, who: str, count: int, label: str = "good") -> list[int]:
    rows = study.lease(who, count)
    study.tell(rows, [label] * len(rows), who)
    return rows


def sound(study: Study) -> None:
    found = verify(study.target)
    assert found.sound, found.problems


def test_one_who_skips_everything_is_undone_by_the_owner(make: Make, target: str) -> None:
    study = make(target)
    study.draw(12)
    kept = label(study, "ada", 4)
    study.skip(study.lease("bob", 8), "bob")
    assert study.status()["skipped"] == 8
    done = study.reopen(skips=True)
    assert (done.answers, done.labels) == (8, 0)
    status = study.status()
    assert (status["skipped"], status["open"], status["free"], status["labels"]) == (0, 8, 8, 4)
    assert len(label(study, "cyn", 8)) == 8
    assert study.status()["labels"] == 12
    assert all(row in study.state().answers for row in kept)
    sound(study)


def test_everything_of_one_person_in_some_time_is_taken_away_and_given_back(
    make: Make, target: str, clock: Clock
) -> None:
    study = make(target)
    study.draw(20)
    before = label(study, "bob", 3)
    clock.now += 100
    since = "2027-01-15T08:00:50Z"  # in between
    bad = label(study, "bob", 5, "bad")
    label(study, "ada", 2)
    before_all = {row: dict(given) for row, given in study.state().answers.items()}
    study.refit()
    entry = study.state().history[-1]
    with pytest.raises(StudyError, match="before it begins"):
        study.reopen("bob", since=since, until="2027-01-15T08:00:50Z")
    look = study.reopen("bob", since=since, look=True)
    assert (look.event, look.answers) == (None, 5)
    done = study.reopen("bob", since=since)
    assert done.labels == 5
    state = study.state()
    assert {row for row, given in state.answers.items() if "bob" in given} == set(before)
    assert state.by["bob"] == 3
    assert state.fit_is_due()  # the model has learned from labels that do not count
    assert study.refit()["labels"] == entry["labels"] - 5  # type: ignore[index]
    assert not study.state().fit_is_due()
    sound(study)
    taken = label(study, "ada", 2)  # two of the rows have another answer now
    assert set(taken) <= set(bad)
    assert done.event is not None
    assert study.restore(done.event, "owner") == Restored(3, 2)
    after = study.state().answers
    for row in bad:
        assert after[row].get("bob") == (None if row in taken else before_all[row]["bob"])
    sound(study)
    with Study.open(target) as again:
        assert again.state().answers == study.state().answers
    # The two that others answered are still there to give back, should those be taken away as well.
    study.reopen("ada")
    assert study.restore(done.event) == Restored(2, 0)
    with pytest.raises(StudyError, match="reopened nothing"):
        study.restore(done.event)
    sound(study)


def test_an_answer_given_back_takes_the_place_of_one_who_only_holds_the_row(make: Make) -> None:
    study = make(overlap=2)
    study.draw(1)
    (row,) = label(study, "bob", 1)
    done = study.reopen("bob")
    assert study.lease("ada", 1) == [row]
    assert study.lease("cyn", 1) == [row]
    assert done.event is not None
    assert study.restore(done.event) == Restored(1, 0)
    assert study.state().answers[row]["bob"].code == 1
    sound(study)


def test_rows_that_an_owner_decided_stay(make: Make) -> None:
    study = make()
    study.draw(2)
    first, _ = label(study, "bob", 2)
    study.correct(first, "bad", "owner")
    assert study.reopen("bob").answers == 1
    assert study.status()["labels"] == 1


def test_whose_answers_must_be_said(make: Make) -> None:
    study = make()
    with pytest.raises(StudyError, match="whose answers"):
        study.reopen(since="2026-11-15")
    with pytest.raises(StudyError, match="is not a time"):
        study.reopen("bob", since="yesterday")
    last = study.state().last
    assert study.reopen("nobody").event is None
    assert study.state().last == last


def test_labels_that_an_audit_counts_on_are_not_taken_away(make: Make) -> None:
    study = make(budget=40)
    for _ in range(4):
        study.draw(10)
        rows = study.lease("bob", 10)
        study.tell(rows, ["good" if row % 2 else "bad" for row in rows], "bob")
    study.refit()
    study.start_audit(10)
    with pytest.raises(StudyError, match="counts on 40 of these labels"):
        study.reopen("bob")
    assert study.status()["labels"] == 40
    study.draw(10)
    label(study, "cyn", 3)
    assert study.reopen("cyn").labels == 3  # the audit's own rows are asked for again
    sound(study)


def test_a_certificate_says_how_many_of_its_labels_were_taken_away(make: Make) -> None:
    study, known = make(budget=40), truth(people_table())

    def answer(who: str, count: int) -> None:
        study.draw(count)
        rows = study.lease(who, count)
        study.tell(rows, [known[row] for row in rows], who)

    answer("bob", 40)
    study.refit()
    study.start_audit(30)
    while not study.state().audit.done:  # type: ignore[union-attr]
        answer("ada", 30)
    study.certify()
    done = study.reopen("ada")
    assert study.status()["certificate"]["reopened"] == done.labels > 0
    assert done.event is not None
    study.restore(done.event)
    assert study.status()["certificate"]["reopened"] == 0


def test_skips_and_pace_are_limited_and_the_owner_is_warned(make: Make) -> None:
    study = make(most_skips=2, most_per_minute=3)
    study.draw(10)
    study.skip(study.lease("bob", 2), "bob")
    with pytest.raises(StudyError, match="skipped 2 rows"):
        study.check_skips("bob")
    with pytest.raises(StudyError, match="skipped 2 rows"):
        study.check_skips("bob")
    study.check_skips("ada")
    assert not study.is_too_fast("bob")
    label(study, "bob", 1)
    assert study.is_too_fast("bob")
    assert [(w["what"], w["name"], w["count"]) for w in study.status()["warnings"]] == [
        ("skips", "bob", 2),
        ("pace", "bob", 3),
    ]
    study.change(most_skips=0, most_per_minute=0)
    study.check_skips("bob")
    assert not study.is_too_fast("bob")
    with pytest.raises(StudyError, match="0 is no limit"):
        study.change(most_skips=-1)
    study.reopen("bob", skips=True)
    study.change(most_skips=2)
    study.check_skips("bob")  # reopened skips do not count


def test_a_page_that_is_left_open_does_not_hold_its_row_for_ever(
    make: Make, target: str, clock: Clock
) -> None:
    study = make(target, lease_seconds=100)
    study.draw(1)
    began = clock.now
    assert len(study.lease("ada")) == 1
    while study.lease("ada"):  # a page that renews every half minute
        clock.now += 30
    assert clock.now - began == pytest.approx(600, abs=31)
    assert len(study.lease("bob")) == 1  # others come first
    assert study.lease("ada") == []
    study.store.release("bob")
    clock.now += 101
    assert len(study.lease("ada")) == 1  # the row is not lost to the one who was away


def test_a_clock_that_is_put_back_does_not_lengthen_leases(make: Make, target: str, clock: Clock) -> None:
    study = make(target, lease_seconds=100)
    study.draw(2)
    first, _ = study.lease("ada", 2)
    last = study.store.events()[-1].at
    clock.now -= 3600
    assert study.lease("bob", 2) == []  # held, from now on for 100 s
    clock.now += 99
    assert study.lease("bob", 2) == []
    clock.now += 2
    assert study.lease("bob", 1) == [first]
    study.tell([first], ["good"], "bob")
    assert study.store.events()[-1].at >= last  # the log's times do not go back
