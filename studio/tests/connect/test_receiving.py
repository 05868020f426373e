"""Answers of other tools: only what was asked for, nothing twice, contradictions refused with words."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from fairask_studio import Study
from fairask_studio.integrity import verify
from fairask_studio.state import State
from fairask_studio.tools import OutsideAnswer


@pytest.fixture
def study(make: Callable[..., Study]) -> Study:
    made = make(overlap=2)
    made.draw(10)
    return made


def answer(study: Study, row: int, label: str | None = "good", **given: object) -> OutsideAnswer:
    base = OutsideAnswer("1", 1, row, "ada", label, study.row_codes([row]).get(row))
    return replace(base, **given)  # type: ignore[arg-type]


def drawn(study: Study) -> list[int]:
    return [entry.index for entry in study.state().log.entries]


def sound(study: Study) -> None:
    """The log replays to the same state, and the queue is what it says."""
    assert verify(study.target).problems == ()
    replayed = State.replay(study.store.events())
    assert replayed.answers == study.state().answers
    assert replayed.outside == study.state().outside


def test_an_answer_is_taken_once_corrected_and_withdrawn(study: Study) -> None:
    row = drawn(study)[0]
    first = answer(study, row)
    assert study.receive("tool", [first, first]).counts() == {
        "new": 1, "known": 1, "corrected": 0, "withdrawn": 0, "refused": 0,
    }  # fmt: skip
    assert study.state().answers[row]["ada"].link == "tool"
    assert study.receive("tool", [replace(first, version=3, label="bad")]).corrected == 1
    assert study.receive("tool", [replace(first, version=2)]).known == 1  # late: it was replaced since
    assert study.config.class_name(study.state().answers[row]["ada"].code) == "bad"
    assert study.receive("tool", [replace(first, version=4, label=None)]).corrected == 1  # skipped after all
    assert study.receive("tool", [replace(first, gone=True)]).withdrawn == 1
    late = [first, replace(first, version=9), replace(first, gone=True)]
    assert study.receive("tool", late).known == 3
    assert study.state().answers[row] == {}
    assert study.receive("tool", [answer(study, row, ref="2", who="bob")]).new == 1  # room for others
    sound(study)


def test_what_cannot_be_is_refused_with_words_and_listed_once(study: Study) -> None:
    row, other, third = drawn(study)[:3]
    undrawn = next(i for i in range(200) if i not in drawn(study))
    wrong = [
        answer(study, undrawn, check=study.row_codes([row])[row]),
        answer(study, row, ref="2", check=study.row_codes([other])[other]),
        answer(study, row, ref="3", check=None),
        answer(study, row, ref="4", label="god"),
        answer(study, row, ref="5", who=" "),
        answer(study, 10**6, ref="6"),
    ]
    done = study.receive("tool", wrong)
    for reason, word in zip(
        done.refused,
        ("never asked", "check code", "check code", "'god'", "person's name", "no row 1000000"),
        strict=True,
    ):
        assert word in reason
    before = study.state().last
    assert study.receive("tool", wrong).counts()["known"] == len(wrong)
    assert study.state().last == before  # refused once, not each time it is told
    study.receive("tool", [answer(study, other, ref="7")])
    said_both = answer(study, other, "bad", ref="8")
    assert "has said 'good'" in study.receive("tool", [said_both]).refused[0]
    assert study.receive("tool", [answer(study, other, ref="9")]).known == 1  # the same again
    assert "has said" in study.receive("tool", [answer(study, other, "bad", ref="7")]).refused[0]
    assert "was ada's" in study.receive("tool", [answer(study, third, ref="7", version=2)]).refused[0]
    study.receive("tool", [answer(study, other, ref="10", who="bob")])
    full = answer(study, other, ref="11", who="eve")
    assert "answered already" in study.receive("tool", [full]).refused[0]
    study.receive("tool", [answer(study, other, ref="10", who="bob", gone=True)])
    assert study.receive("tool", [full]).new == 1  # there is room again
    # A refused answer that is put right is taken.
    assert study.receive("tool", [answer(study, row, ref="4", version=2)]).new == 1
    assert "4" not in {ref for _, ref in study.state().outside.refused}
    sound(study)


def test_what_the_study_did_with_an_answer_stays_when_the_tool_tells_it_again(study: Study) -> None:
    row, other = drawn(study)[:2]
    told = [answer(study, row), answer(study, other, ref="2")]
    study.receive("tool", told)
    study.withdraw(row, "ada")
    study.correct(other, "bad", "ada", decide=False)
    assert study.receive("tool", told).known == 2
    assert "ada" not in study.state().answers[row]
    assert study.receive("tool", [replace(told[0], gone=True)]).known == 1
    assert study.config.class_name(study.state().answers[other]["ada"].code) == "bad"
    sound(study)


def test_any_order_and_any_repetition_ends_in_the_same_answers(make: Callable[..., Study]) -> None:
    study = make(overlap=3)
    study.draw(10)
    rng, rows = random.Random(0), drawn(study)
    history, last = [], {}
    for number, (row, who) in enumerate((r, w) for r in rows for w in ("ada", "bob", "eve")):
        for version in range(rng.randrange(1, 4)):
            label = rng.choice(["good", "bad", None])
            history.append(answer(study, row, label, ref=str(number), version=version, who=who))
            last[row, who] = label
    told = history * 3
    rng.shuffle(told)
    for start in range(0, len(told), 7):
        study.receive("tool", told[start : start + 7])
    assert study.receive("tool", history).known == len(history)
    found = {
        (row, who): None if given.code < 0 else study.config.classes[given.code]
        for row, answers in study.state().answers.items()
        for who, given in answers.items()
    }
    assert found == last
    sound(study)


def test_an_answer_changed_after_training_trains_again(make: Callable[..., Study]) -> None:
    study = make(budget=10)
    study.draw(10)
    study.receive(
        "tool",
        [answer(study, row, "good" if i % 2 else "bad", ref=str(i)) for i, row in enumerate(drawn(study))],
    )
    first = study.refit()
    assert first is not None
    assert study.refit() is None
    changed = answer(study, drawn(study)[0], "good", ref="0", version=2)
    assert study.receive("tool", [changed]).corrected == 1
    second = study.refit()
    assert second is not None
    assert second["seen"] > first["seen"]
    assert study.refit() is None
