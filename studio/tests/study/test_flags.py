"""Flags: a person asks about a row, owners and reviewers answer, the person sees it, somebody resolves it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairask_studio import Study, StudyError
from studio.tests.study.test_commands import Run, run

__all__ = ["run"]

Make = Callable[..., Study]


def test_a_thread_is_asked_answered_resolved_and_opened_again(make: Make, target: str) -> None:
    study = make(target, overlap=2)
    (row,) = study.ask(1, "bob")
    flag = study.flag(row, " Is this a job? ", "bob")
    assert (flag.row, flag.who, flag.open, flag.waits) == (row, "bob", True, True)
    assert study.flag(row, "Or a trade?", "bob").id == flag.id  # the same thread
    other = study.flag(row, "Whose income?", "cyn")  # another person, another thread
    assert other.id != flag.id
    assert study.state().flags.news("bob") == 0
    answered = study.answer_flag(flag.id, "A trade.", "ada")
    assert (answered.open, answered.waits) == (True, False)
    assert study.state().flags.news("bob") == answered.comments[-1].event
    assert study.state().flags.news("cyn") == 0
    resolved = study.answer_flag(flag.id, "", "rev", resolve=True)
    assert (resolved.open, resolved.resolved_by, len(resolved.comments)) == (False, "rev", 3)
    with pytest.raises(StudyError, match="resolved already"):
        study.answer_flag(flag.id, "", "rev", resolve=True)
    assert study.answer_flag(flag.id, "For the record.", "ada").open is False
    assert study.answer_flag(flag.id, "I still do not see why.", "bob").open is True
    assert [one.id for one in study.state().flags.of_row(row)] == [flag.id, other.id]
    assert study.state().answered == 0  # a flag is no answer
    with Study.open(target) as again:
        assert again.state().flags == study.state().flags


def test_bad_flags_are_refused_and_nothing_is_written(make: Make, target: str) -> None:
    study = make(target)
    last = study.state().last
    for row, text, words in (
        (0, " ", "no words"),
        (0, "x" * 2001, "2,000 at most"),
        (200, "x", "no row 200"),
    ):
        with pytest.raises(StudyError, match=words):
            study.flag(row, text, "bob")
    with pytest.raises(StudyError, match="no flag has the number 7"):
        study.answer_flag(7, "x", "bob")
    assert study.state().last == last


def test_the_command_lists_asks_answers_and_resolves(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--classes", "bad,good")
    assert "No open flags" in run("study", "flags", "loans").output
    number = run("study", "flags", "loans", "--row", "3", "--text", "Why?", "--as", "bob").output.split("\t")[
        0
    ]
    assert "bob: Why?" in run("study", "flags", "loans").output
    assert "Open flags: 1 (fairask study flags loans)" in run("status", "loans").output
    assert "open" in run("study", "flags", "loans", "--answer", number, "--text", "So.").output
    assert "resolved by" in run("study", "flags", "loans", "--answer", number, "--resolve").output
    assert "No open flags" in run("study", "flags", "loans").output
    assert "So." in run("study", "flags", "loans", "--all").output
    assert "which flag" in run("study", "flags", "loans", "--resolve", fails=True).output
    assert (
        "Leave out one" in run("study", "flags", "loans", "--row", "3", "--answer", number, fails=True).output
    )
