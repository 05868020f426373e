"""Many people, one queue: nobody gets another's row, and time runs out fairly."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from fairask_studio import Study, StudyError
from fairask_studio.errors import NotYoursError

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]


def test_no_two_people_hold_the_same_row(make: Make, target: str) -> None:
    study = make(target)
    study.draw(20)
    ada, bob = study.lease("ada", 6), study.lease("bob", 6)
    assert len({*ada, *bob}) == 12
    assert study.lease("ada", 6) == ada  # a reload shows the same rows


def test_a_lease_ends_and_the_row_goes_to_somebody_else(make: Make, target: str) -> None:
    study = make(target)
    study.draw(2)
    (row, _) = study.lease("ada", 2, seconds=0.05)
    time.sleep(0.06)
    assert study.lease("bob", 1) == [row]
    with pytest.raises(NotYoursError, match="somebody else"):
        study.tell([row], ["bad"], "ada")
    study.tell([row], ["good"], "bob")
    with pytest.raises(NotYoursError, match="answered already"):
        study.tell([row], ["bad"], "ada")


def test_a_late_answer_counts_while_nobody_else_has_the_row(make: Make, target: str) -> None:
    study = make(target)
    study.draw(1)
    (row,) = study.lease("ada", 1, seconds=0.01)
    time.sleep(0.02)
    study.tell([row], ["bad"], "ada")
    assert study.status()["labels"] == 1


def test_rows_given_back_are_free_again(make: Make) -> None:
    study = make()
    study.draw(3)
    rows = study.lease("ada", 3)
    study.store.release("ada")
    assert study.lease("bob", 3) == rows


def test_overlap_gives_a_row_to_several_people_and_their_majority_counts(make: Make, target: str) -> None:
    study = make(target, overlap=3)
    study.draw(1)
    for who, answer in [("ada", "bad"), ("bob", "good"), ("cyn", "good")]:
        (row,) = study.lease(who, 1)
        study.tell([row], [answer], who)
        assert study.lease(who, 1) == []  # never the same row twice
    assert study.lease("dan", 1) == []
    assert study.learner().labels_.tolist() == ["good"]
    agreement = study.status()["agreement"]
    assert agreement["rows"] == 1
    assert agreement["share"] == pytest.approx(1 / 3)
    study.correct(row, "bad", "owner")
    assert study.learner().labels_.tolist() == ["bad"]


def test_a_row_is_skipped_when_all_who_were_asked_skip_it(make: Make) -> None:
    study = make(overlap=2)
    study.draw(1)
    (row,) = study.lease("ada", 1)
    study.skip([row], "ada")
    assert study.status()["skipped"] == 0
    study.skip(study.lease("bob", 1), "bob")
    assert study.status()["skipped"] == 1


def test_threads_share_the_queue_without_a_row_handed_out_twice(make: Make, target: str) -> None:
    study = make(target, budget=60)
    study.draw(60)
    seen: list[int] = []
    errors: list[BaseException] = []

    def work(who: str) -> None:
        try:
            while rows := study.lease(who, 1):
                seen.extend(rows)
                study.tell(rows, ["good"], who)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"p{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(Counter(seen).values()) == [1] * 60
    assert study.status()["labels"] == 60


def test_two_processes_that_draw_at_once_draw_one_batch(make: Make, target: str) -> None:
    study = make(target)
    with Study.open(target) as other:
        snapshot = other.learner()
        other.learner = lambda at=None: snapshot  # type: ignore[method-assign]  # it has not seen the next batch
        assert study.draw(10) is not None
        assert other.draw(10) is None
    assert study.state().batches == 1
    assert len(study.state().log.entries) == 10


@pytest.mark.parametrize("who", ["", " ada", "a" * 65, "a\nb"])
def test_a_name_must_be_one(make: Make, who: str) -> None:
    study = make()
    with pytest.raises(StudyError, match="cannot be a person's name"):
        study.lease(who)
