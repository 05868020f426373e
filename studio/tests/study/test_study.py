"""A study asks, remembers and replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from fairask import FairActiveLearner
from fairask.tables import read_table
from fairask_studio import Study, StudyError
from fairask_studio.errors import NotYoursError
from fairask_studio.estimates import model_digest
from fairask_studio.files import read_labels, write_rows
from fairask_studio.study import Receipt
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]
LABELS = truth(people_table())


def label(study: Study, n: int, who: str = "ada") -> list[int]:
    rows = study.ask(n, who)
    study.tell(rows, [LABELS[row] for row in rows], who)
    return rows


def test_what_was_told_is_there_when_the_study_is_opened_again(make: Make, target: str) -> None:
    study = make(target)
    rows = label(study, 10)
    with Study.open(target) as again:
        learner = again.learner()
        assert learner.labelled_indices_.tolist() == rows
        assert learner.labels_.tolist() == [LABELS[row] for row in rows]
        assert again.status()["labels"] == 10


def test_a_study_draws_what_a_learner_with_its_seed_would(make: Make, target: str) -> None:
    study = make(target)
    learner = FairActiveLearner(
        study.learner().pool.X,
        study.table.column("sex").to_pylist(),
        classes=("bad", "good"),
        blind=True,
        random_state=3,
    )
    for _ in range(3):
        query = learner.ask(10)
        assert study.ask(10) == query.indices.tolist()
        learner.tell(query.indices, [LABELS[row] for row in query.indices])
        study.tell(query.indices.tolist(), [LABELS[row] for row in query.indices])
    np.testing.assert_array_equal(study.learner().propensities_, learner.propensities_)
    np.testing.assert_array_equal(study.learner().risk_weights_, learner.risk_weights_)


def test_the_replayed_model_is_the_model_that_was_fitted(make: Make, target: str) -> None:
    study = make(target)
    for _ in range(3):
        label(study, 10)
        assert study.refit() is not None
    with Study.open(target) as again:
        history = again.state().history
        assert [entry["labels"] for entry in history] == [10, 20, 30]
        for entry in history:
            assert model_digest(again.learner(at=entry["seen"])) == entry["digest"]
        assert history[-1]["estimate"]["accuracy"]["low"] < history[-1]["estimate"]["accuracy"]["high"]


def test_propensities_stay_exact_while_rows_are_out(make: Make) -> None:
    study = make(strategy="passive")
    first = study.ask(10, "ada")
    study.tell(first[:4], [LABELS[row] for row in first[:4]], "ada")
    second = study.ask(5, "bob")  # six rows are still with ada
    entries = study.state().log.entries
    assert not set(first) & set(second)
    assert [entry.pool_size for entry in entries] == list(range(200, 185, -1))
    np.testing.assert_allclose([e.propensity for e in entries], 1 / np.arange(200, 185, -1), rtol=1e-12)


def test_telling_again_changes_nothing(make: Make, target: str) -> None:
    study = make(target)
    rows = study.ask(4)
    labels = [LABELS[row] for row in rows]
    assert study.tell(rows[:2], labels[:2]) == Receipt(2, 0, 0)
    assert study.tell(rows[::-1], labels[::-1]) == Receipt(2, 2, 0)
    before = study.state().last
    assert study.tell(rows, labels) == Receipt(0, 4, 0)
    assert study.state().last == before


def test_another_label_is_refused_or_corrects(make: Make, target: str) -> None:
    study = make(target)
    (row,) = study.ask(1)
    study.tell([row], ["bad"])
    with pytest.raises(StudyError, match=f"row {row} was told as 'bad' before"):
        study.tell([row], ["good"])
    assert study.tell([row], ["good"], correct=True) == Receipt(0, 0, 1)
    assert study.learner().labels_.tolist() == ["good"]
    study.correct(row, "bad")
    assert study.learner().labels_.tolist() == ["bad"]


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([0, 0], ["bad", "bad"], "more than once"),
        ([500], ["bad"], "no row 500"),
        ([0], ["ugly"], "not one of the classes"),
    ],
)
def test_wrong_labels_are_refused_whole(make: Make, rows: list[int], labels: list[str], message: str) -> None:
    study = make()
    good = study.ask(1)
    before = study.state().last
    with pytest.raises(StudyError, match=message):
        study.tell([*good, *rows], ["bad", *labels])
    never = next(row for row in range(200) if row not in good)
    with pytest.raises(NotYoursError, match="never asked for"):
        study.tell([*good, never], ["bad", "bad"])
    assert study.state().last == before
    assert study.store.pending("owner") == good


def test_a_skipped_row_leaves_the_weights_and_gives_its_label_back_to_the_budget(make: Make) -> None:
    study = make(budget=10)
    rows = study.ask(10)
    study.skip(rows[:3], notes=["torn"] * 3)
    study.tell(rows[3:], [LABELS[row] for row in rows[3:]])
    assert study.status()["skipped"] == 3
    more = study.ask(10)
    assert len(more) == 3
    assert not set(more) & set(rows)
    assert len(study.learner().risk_weights_) == 7


def test_an_answer_can_be_withdrawn_and_given_again(make: Make, target: str) -> None:
    study = make(target)
    (row,) = study.ask(1, "ada")
    study.tell([row], ["bad"], "ada")
    study.withdraw(row, "ada")
    assert study.status()["labels"] == 0
    assert study.store.pending("ada") == [row]
    study.skip([row], "ada")
    study.withdraw(row, "ada")
    study.tell([row], ["good"], "ada")
    assert study.learner().labels_.tolist() == ["good"]
    with pytest.raises(StudyError, match="'bob' has not answered"):
        study.withdraw(row, "bob")


def test_the_log_cannot_be_rewritten(make: Make, target: str) -> None:
    study = make(target)
    for statement in ("UPDATE events SET who = 'eve'", "DELETE FROM events"):
        with pytest.raises(DatabaseError, match="append-only"), study.store.database.write() as connection:
            connection.execute(text(statement))


def test_the_budget_ends_the_asking(make: Make) -> None:
    study = make(budget=12)
    assert len(study.ask(10)) == 10
    assert len(study.ask(10)) == 2
    assert study.ask(10) == []


def test_a_pool_that_was_changed_is_refused(make: Make, tmp_path: Path) -> None:
    study = make()
    file = Path(study.target) / "pool.parquet"
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(StudyError, match="the pool was changed"):
        Study.open(study.target)


def test_nothing_is_left_behind_when_a_study_cannot_be_made(make: Make, tmp_path: Path) -> None:
    for wrong, message in [
        ({"metric": "tpr"}, "metric='tpr' is unknown"),
        ({"budget": 1000}, "more than the pool's 200 rows"),
        ({"classes": ("a", "a")}, "two different names"),
        ({"strategy": "fair"}, "strategy='fair' is unknown"),
        ({"tolerence": 0.1}, "did you mean 'tolerance'"),
        ({"words": {"incom": {}}}, "did you mean 'income'"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_not_overwritten(make: Make, target: str) -> None:
    make(target)
    with pytest.raises(StudyError, match="holds a study"):
        make(target)


def test_no_study_no_opening(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no study in"):
        Study.open(tmp_path)
    with pytest.raises(StudyError, match="must begin with postgresql://"):
        Study.open("mysql://localhost/x")
    assert list(tmp_path.iterdir()) == []


def test_words_may_change_while_people_label(make: Make, target: str) -> None:
    study = make(target)
    study.change(question="Paid back?", columns={"income": {"title": "Income", "unit": "k"}})
    with Study.open(target) as again:
        assert again.config.question == "Paid back?"
        assert next(c for c in again.config.columns if c.name == "income").unit == "k"
    with pytest.raises(StudyError, match="did you mean 'income'"):
        study.change(columns={"incom": {"title": "x"}})


def test_a_rule_ends_a_study_before_its_budget_and_can_be_taken_back(make: Make, tmp_path: Path) -> None:
    study = make(str(tmp_path / "s"), stopping="plateau:1:0.99")
    for _ in range(3):
        label(study, 10)
        study.refit()
    reason = study.state().stop_reason
    assert reason == "error has moved by at most 0.99 in 1 rounds"
    assert study.status()["stop_reason"] == reason
    assert study.ask(10) == []
    with pytest.raises(StudyError, match="did you mean 'plateau'"):
        study.change(stop="platou")
    with pytest.raises(StudyError, match="by its budget or by plateau"):
        study.change(stop="certified")
    study.change(stop="", who="ada")
    assert len(study.ask(10)) == 10


def test_a_pool_with_columns_named_as_ours_keeps_labels_on_their_rows(make: Make, tmp_path: Path) -> None:
    n = 30
    table = read_table(
        {"row": list(range(n - 1, -1, -1)), "note": ["seen"] * n, "age": [20.5 + i for i in range(n)],
         "sex": ["f", "m"] * (n // 2)}
    )  # fmt: skip
    study = make(str(tmp_path / "s"), table=table, budget=30)
    assert {c.name: c.role for c in study.config.columns}["row"] == "shown", "it only names rows"
    rows = study.ask(10)
    file = tmp_path / "batch.csv"
    write_rows(file, [(row, study.row(row)) for row in rows], study.config)
    header, *lines = file.read_text("utf-8").splitlines()
    assert header.split(",")[:5] == ["row", "label", "note", "row (pool)", "note (pool)"]
    filled = [line.replace(",,,", ",good,mine,", 1) for line in lines]
    file.write_text("\n".join([header, *filled]), "utf-8")
    told = read_labels(file)
    assert (told.rows, set(told.notes)) == (rows, {"mine"})
    file.write_text("row,label,row\n1,good,2\n", "utf-8")
    with pytest.raises(StudyError, match="2 columns 'row'"):
        read_labels(file)


@pytest.mark.parametrize(
    "wrong", [{"profile": "papr"}, {"metric": "foo"}, {"strategy": "foo"}, {"tolerance": 3.0}]
)
def test_settings_that_make_no_sense_are_the_user_s_error_and_leave_nothing(
    make: Make, tmp_path: Path, wrong: dict[str, object]
) -> None:
    with pytest.raises(StudyError):
        make(str(tmp_path / "s"), **wrong)
    assert not (tmp_path / "s").exists()
