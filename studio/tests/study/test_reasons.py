"""Why rows are skipped: reasons of the study's own, or a person's words, counted and kept."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from fairask_studio import Study, StudyError
from studio.tests.study.test_commands import Run, run

__all__ = ["run"]

Make = Callable[..., Study]


def test_reasons_are_kept_counted_and_exported(make: Make, target: str, tmp_path: Path) -> None:
    study = make(target)
    study.change(skip_reasons=["wrong language", "torn page"], who="ada")
    rows = study.ask(5, "bob")
    study.skip(rows[:2], "bob", reason="wrong language")
    study.skip(rows[2:3], "bob", reason="upside down")  # words of one's own
    study.skip(rows[3:4], "bob")
    found = {"wrong language": 2, "upside down": 1, "": 1}
    assert {one["reason"]: one["skips"] for one in study.status()["skip_reasons"]} == found
    taken = study.reopen("bob", skips=True)
    assert study.status()["skip_reasons"] == []
    study.restore(int(taken.event or 0))
    with Study.open(target) as again:  # by replay
        assert again.config.skip_reasons == ("wrong language", "torn page")
        assert {one["reason"]: one["skips"] for one in again.status()["skip_reasons"]} == found
    study.export(tmp_path / "out")
    with (tmp_path / "out" / "labels.csv").open(newline="") as file:
        said = {int(line["row"]): line["reason"] for line in csv.DictReader(file)}
    assert [said[row] for row in rows] == ["wrong language", "wrong language", "upside down", "", ""]
    study.tell(rows[:1], ["good"], "bob", correct=True)  # a label needs no reason to skip
    assert {one["reason"]: one["skips"] for one in study.status()["skip_reasons"]}["wrong language"] == 1


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (["a"] * 2, "twice"),
        ([""], "empty"),
        ([" a"], "printable"),
        (["a\nb"], "printable"),
        (["a" * 121], "120"),
        ([str(i) for i in range(10)], "9 at most"),
    ],
)
def test_bad_reasons_are_refused_and_nothing_is_written(make: Make, reasons: list[str], words: str) -> None:
    study = make()
    last = study.state().last
    with pytest.raises(StudyError, match=words):
        study.change(question="Changed?", skip_reasons=reasons)
    assert (study.state().last, study.config.skip_reasons) == (last, ())
    (row,) = study.ask(1)
    last = study.state().last
    if reasons[0] not in ("a", "", "0"):
        with pytest.raises(StudyError, match="cannot be a reason"):
            study.skip([row], reason=reasons[0])
        assert study.state().last == last


def test_the_commands_set_reasons_and_count_them(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--classes", "bad,good")
    assert "not asked" in run("study", "reasons", "loans").output
    assert "unclear, torn" in run("study", "reasons", "loans", "--set", "unclear", "--set", "torn").output
    run("ask", "loans", "-n", "2", "-o", "batch.csv")
    with Path("batch.csv").open(newline="") as file:
        rows = [row["row"] for row in csv.DictReader(file)]
    run("study", "skip", "loans", *rows, "--reason", "torn")
    assert "2  torn" in run("study", "reasons", "loans").output
    assert "exclude" in run("study", "reasons", "loans", "--set", "x", "--none", fails=True).output
    assert "not asked" in run("study", "reasons", "loans", "--none").output
