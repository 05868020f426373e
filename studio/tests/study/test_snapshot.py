"""A snapshot is what the events say, or it is not used."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select, update

from fairask_studio import State, Study
from fairask_studio import snapshot as module
from fairask_studio.flags import answer_flag, flag_row
from fairask_studio.known import KnownRow, answer_known, mark_known
from fairask_studio.reopening import AnswerFilter, give_back, reopen
from fairask_studio.snapshot import keep_snapshot, read_state
from fairask_studio.store._schema import snapshots
from fairask_studio.whole import verify
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]
LABELS = truth(people_table())


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH", 1)


def live(study: Study) -> None:
    """Everything that a state holds."""
    study.draw(30)
    for who, count in (("ada", 12), ("bob", 10)):
        rows = study.lease(who, count)
        study.tell(rows, [LABELS[row] for row in rows], who, notes=["", "é"] * (count // 2))
    study.skip(study.lease("cyn", 2), "cyn", reason="torn page")
    flag = flag_row(study, rows[0], "Why?", "bob")
    answer_flag(study, flag.id, "", "ada", resolve=True)
    study.withdraw(rows[0], "bob")
    study.tell([rows[1]], ["bad" if LABELS[rows[1]] == "good" else "good"], "bob", correct=True)
    study.correct(rows[2], "good", "owner")
    first = reopen(study, AnswerFilter("cyn", skips=True)).event
    reopen(study, AnswerFilter("ada", until="2999-01-01"))
    assert first is not None
    give_back(study, first)
    study.change(question="Why?", columns={"income": {"title": "Pay"}}, stop="plateau", most_skips=7)
    study.change(skip_reasons=["torn page"], gold_every=2)
    mark_known(study, [KnownRow(150, 1, "gold", "so"), KnownRow(151, 0, "practice")], "ada")
    answer_known(study, 151, 1, "eve")
    study.refit(force=True)


def same(a: State, b: State) -> bool:
    left, right = vars(a), vars(b)
    assert left.keys() == right.keys()
    for name in left.keys() - {"answers"}:
        assert left[name] == right[name], name
    return {r: g for r, g in a.answers.items() if g} == {r: g for r, g in b.answers.items() if g}


def replayed(study: Study) -> State:
    with study.store.read() as turn:
        return State.replay(turn.each_event())


def test_a_state_read_from_a_snapshot_is_the_replayed_one(
    make: Make, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(target)
    live(study)
    assert study.store.snapshot_at() > 0
    keep_snapshot(study.store, study.state())
    assert study.store.snapshot_at() == study.state().last
    study.tell(rows := study.lease("dan", 2), [LABELS[row] for row in rows], "dan")
    right = replayed(study)
    before = study.learner(at=study.state().trained_to).labels_.tolist()
    with monkeypatch.context() as patch:
        patch.setattr(State, "replay", None)  # it is not needed
        with Study.open(target) as again:
            assert same(again.state(), right)
            assert again.learner(at=right.last).labels_.tolist() == study.learner().labels_.tolist()
    with study.store.read() as turn:
        assert read_state(turn, right.trained_to).last == right.trained_to  # before the snapshot: by replay
    assert study.learner(at=study.state().trained_to).labels_.tolist() == before
    assert verify(target).sound


def test_a_snapshot_that_is_changed_or_damaged_or_of_another_version_is_found_out(
    make: Make, target: str
) -> None:
    study = make(target)
    live(study)
    keep_snapshot(study.store, study.state())
    right = replayed(study)
    with study.store.database.write() as connection:
        whole = connection.execute(select(snapshots)).mappings().one()
        wrong = module._pack(_without_a_label(replayed(study)))
        connection.execute(update(snapshots).values(data=wrong))
    found = verify(target)
    assert "snapshot" in found.problems[0]
    for values in ({"data": whole["data"][:-100]}, {"format": "1 0.0.1"}, {"hash": "0" * 64}):
        with study.store.database.write() as connection:
            connection.execute(update(snapshots).values({**whole, **values}))
        with study.store.read() as turn:
            assert same(read_state(turn), right)
    study.store.repair()
    assert study.store.snapshot_at() == 0
    assert verify(target).sound


def _without_a_label(state: State) -> State:
    row = next(row for row, given in state.answers.items() if given)
    state.answers[row] = {}
    return state


def test_no_snapshot_is_written_during_an_audit(make: Make) -> None:
    study = make(budget=20)
    study.tell(rows := study.ask(20), [LABELS[row] for row in rows])
    study.refit()
    at = study.store.snapshot_at()
    study.start_audit(10)
    keep_snapshot(study.store, study.state())
    assert study.store.snapshot_at() == at
    with Study.open(study.target) as again:
        assert again.state().audit is not None
