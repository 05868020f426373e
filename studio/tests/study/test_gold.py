"""Rows whose answer is known: marked, asked, counted, and never labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.errors import NotYoursError
from fairask_studio.files import read_known
from fairask_studio.gold import (
    GOLD,
    KnownRow,
    gold_ahead,
    gold_figures,
)
from fairask_studio.integrity import verify
from fairask_studio.state import State
from studio.tests.study.test_commands import Run, run

pytestmark = pytest.mark.usefixtures("few_trees")

__all__ = ["run"]

Make = Callable[..., Study]


def gold_due(state: State, who: str) -> KnownRow | None:
    """The gold row that comes next, if one does."""
    found = gold_ahead(state, who, (), 1).get(0)
    return None if found is None else found[0]


def test_gold_rows_come_once_in_so_many_answers_and_no_label_is_made(make: Make, target: str) -> None:
    study = make(target, gold_every=5, budget=60)
    study.mark_known([KnownRow(row, 1, GOLD) for row in range(150, 170)], "ada")
    study.draw(40)
    asked: list[int] = []
    for number in range(40):
        gold = gold_due(study.state(), "bob")
        if gold is not None:
            assert gold_due(study.state(), "bob") == gold  # the same one until it is answered
            asked.append(number)
            study.answer_known(gold.row, number % 2, "bob")
        else:
            study.tell(study.lease("bob", 1), ["good"], "bob")
    assert [place // 5 for place in asked] == list(range(8))  # one in each five, and
    assert len({place % 5 for place in asked}) > 1  # not always at the same place
    state = study.state()
    assert (state.answered, state.by["bob"], state.known.count("bob")) == (32, 32, 8)
    assert len(study.learner().labelled_indices_) == 32
    right = sum(place % 2 for place in asked)
    found = gold_figures(state, "bob")
    assert found is not None
    assert (found["right"], found["asked"], found["below"]) == (right, 8, False)
    assert found["low"] < right / 8 < found["high"]
    assert gold_figures(state, "cyn") is None
    assert verify(target).sound
    with Study.open(target) as again:
        assert again.state().known == state.known


def test_rows_marked_late_do_not_come_in_a_row(make: Make) -> None:
    study = make(gold_every=4, budget=60)
    study.draw(40)
    study.tell(study.lease("bob", 21), ["good"] * 21, "bob")
    study.mark_known([KnownRow(row, 1, GOLD) for row in range(150, 160)])
    asked = 0
    for _ in range(16):
        gold = gold_due(study.state(), "bob")
        if gold is None:
            study.tell(study.lease("bob", 1), ["good"], "bob")
        else:
            study.answer_known(gold.row, 1, "bob")
            asked += 1
    assert 4 <= asked <= 6  # one in each four, and the one that was due when they were marked


def test_a_gold_row_may_be_corrected_taken_back_and_unmarked(make: Make, target: str) -> None:
    study = make(target, gold_every=2, budget=60)
    study.mark_known([KnownRow(150, 1, GOLD), KnownRow(151, 1, GOLD)], "ada")
    study.draw(5)
    while (gold := gold_due(study.state(), "bob")) is None:
        study.tell(study.lease("bob", 1), ["good"], "bob")
    with pytest.raises(NotYoursError, match="was not given to you"):
        study.answer_known(3, 1, "bob")
    study.answer_known(gold.row, 0, "bob")
    with pytest.raises(StudyError, match="--correct"):
        study.answer_known(gold.row, 1, "bob")
    study.answer_known(gold.row, 1, "bob", correct=True)
    last = study.state().last
    study.answer_known(gold.row, 1, "bob")  # saying the same again changes nothing
    assert study.state().last == last
    found = gold_figures(study.state(), "bob")
    assert found is not None
    assert (found["right"], found["asked"]) == (1, 1)
    study.answer_known(gold.row, None, "bob")
    assert gold_figures(study.state(), "bob") is None
    assert gold_due(study.state(), "bob") == gold
    study.answer_known(gold.row, -1, "bob")
    found = gold_figures(study.state(), "bob")
    assert found is not None
    assert (found["asked"], found["skipped"]) == (0, 1)
    assert study.unmark_known([gold.row]) == 1
    assert gold_figures(study.state(), "bob") is None
    with pytest.raises(StudyError, match="has no known answer"):
        study.unmark_known([gold.row])
    with Study.open(target) as again:
        assert again.state().known == study.state().known


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ([], "no row to mark"),
        ([KnownRow(200, 1, GOLD)], "no row 200"),
        ([KnownRow(1, 2, GOLD)], "not one of"),
        ([KnownRow(1, 1, "silver")], "silver"),
        ([KnownRow(1, 1, GOLD, "x" * 2001)], "2,000 at most"),
        ([KnownRow(1, 1, GOLD), KnownRow(1, 0, GOLD)], "more than once"),
    ],
)
def test_bad_marks_are_refused_and_nothing_is_written(make: Make, known: list[KnownRow], words: str) -> None:
    study = make()
    last = study.state().last
    with pytest.raises(StudyError, match=words):
        study.mark_known(known)
    for settings in ({"gold_every": 1}, {"gold_every": -1}, {"gold_least": 101}, {"gold_every": 2000}):
        with pytest.raises(StudyError, match="gold_"):
            study.change(question="Changed?", **settings)
    assert (study.state().last, study.config.gold_every) == (last, 20)


def test_known_answers_come_from_a_file_that_is_compared_with_the_pool(make: Make, tmp_path: Path) -> None:
    study = make()
    job, other = study.row(7)["job"], study.row(8)["job"]
    file = tmp_path / "gold.csv"
    file.write_text(
        f"row,job,gold,use,explanation\n7,{job},GOOD,practice,Enough\n8,{other},bad,,\n9,smith,,,\n"
    )
    assert read_known(study, file) == [KnownRow(7, 1, "practice", "Enough"), KnownRow(8, 0, GOLD, "")]
    for text, words in (
        ("row,gold\n7,perhaps\n", "perhaps"),
        ("row,gold\nseven,good\n", "not a row number"),
        ("row,gold\n700,good\n", "no row 700"),
        ("row,gold\n7,\n", "no known answer"),
        ("row,label\n7,good\n", "no column 'gold'"),
        ("row,job,gold\n7,sailor,good\n", "not those of the table"),
    ):
        file.write_text(text)
        with pytest.raises(UserError, match=words):
            read_known(study, file, unchecked="job" not in text and "label" not in text)
    file.write_text("row,gold\n7,good\n")
    with pytest.raises(UserError, match="--unchecked"):  # nothing tells whether the row numbers are right
        read_known(study, file)
    assert read_known(study, file, unchecked=True) == [KnownRow(7, 1, GOLD, "")]


def test_the_command_marks_lists_and_unmarks(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--classes", "bad,good")
    assert "No row has a known answer" in run("study", "gold", "loans").output
    Path("gold.csv").write_text("row,gold,explanation\n3,good,Because\n4,bad,\n")
    assert "3\tgold\tgood\tBecause" in run("study", "gold", "loans", "gold.csv", "--unchecked").output
    marked = run(
        "study", "gold", "loans", "--mark", "5", "--label", "bad", "--use", "example", "--why", "So"
    ).output
    assert "5\texample\tbad\tSo" in marked
    assert "4\tgold" not in run("study", "gold", "loans", "--remove", "4").output
    assert "which row" in run("study", "gold", "loans", "--label", "bad", fails=True).output
    assert "exclude" in run("study", "gold", "loans", "gold.csv", "--mark", "3", fails=True).output
    limits = run("study", "limits", "loans", "--gold-every", "10", "--gold-least", "70").output
    assert "one gold row in 10 answers, a warning below 70 % right" in limits
