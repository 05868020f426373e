"""People who err in a study: learned from answers and gold rows, named on the page, allowed for in audits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairask.audit import Audit
from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.events import KnownAnswered
from fairask_studio.gold import GOLD, KnownRow
from fairask_studio.integrity import verify
from fairask_studio.pages.people import people_errors

pytestmark = pytest.mark.usefixtures("few_trees")

Make = Callable[..., Study]
PEOPLE = ("ann", "bob", "cem")


def harsh_study(
    make: Make, gold: int = 240, rows: int = 200, flip: int = 0, **settings: int
) -> tuple[Study, np.ndarray]:
    """A study whose ann says no to half of the women who deserve yes; others err in 5 %.

    With ``flip`` the right answers of gold rows are marked the wrong way round.
    """
    rng, n = np.random.default_rng(5), 1000
    x, sex = rng.normal(size=n), np.where(rng.random(n) < 0.5, "f", "m")
    truth = (x + rng.normal(size=n) > 0).astype(int)
    study = make(
        table={"x": x.tolist(), "z": rng.normal(size=n).tolist(), "sex": sex.tolist()},
        budget=300, batch_size=rows, overlap=2, gold_every=5, **settings,
    )  # fmt: skip

    def says(who: str, row: int) -> int:
        harsh = who == "ann" and sex[row] == "f" and truth[row] == 1
        return int(truth[row] ^ (rng.random() < (0.5 if harsh else 0.05)))

    marked = list(range(n - gold, n))
    study.mark_known([KnownRow(row, int(truth[row]) ^ flip, GOLD) for row in marked], "owner")
    for who in PEOPLE:
        answered = (KnownAnswered(row, says(who, row), GOLD, 5 * i + 1) for i, row in enumerate(marked))
        with study.store.write() as turn:
            turn.append(who, *answered)
    study.draw(rows, uniform=True)
    for who in ("ann", "bob"):
        held = study.lease(who, rows)
        study.tell(held, [("bad", "good")[says(who, row)] for row in held], who)
    return study, truth


def test_the_harsh_one_is_named_to_the_owner_with_rates_and_rows(make: Make) -> None:
    study, _ = harsh_study(make)
    found = people_errors(study)
    [named] = found["suspects"]
    assert named["kind"] == "harsh"
    assert named["words"].startswith("ann says 'bad' to ")
    assert "of f who deserve 'good'; others to" in named["words"]
    assert named["rows"]
    rates = {(e["person"], e["group"], e["label"]): e["wrong"] for e in found["errors"]}
    assert rates["ann", "f", 1] > 0.35 > 0.15 > rates["bob", "f", 1]
    assert found["labels"]["f"]["wrong"][1] > found["labels"]["m"]["wrong"][1]


def test_an_audit_takes_what_gold_rows_say_and_names_it(make: Make) -> None:
    study, _ = harsh_study(make)
    study.refit(force=True)
    study.start_audit(60)
    audit = study.state().audit
    assert audit is not None
    assert any("as gold rows show" in words for words in audit.audit.certificate().assumptions)
    assert isinstance(audit.audit, Audit)
    with Study.open(study.target) as again:
        under_way = again.state().audit
        assert under_way is not None
        assert under_way.audit.to_dict()["strata"]["noise"] == audit.audit.to_dict()["strata"]["noise"]


def test_with_few_gold_rows_labels_are_taken_as_right_and_the_page_says_so(make: Make) -> None:
    study, _ = harsh_study(make, gold=10)
    assert people_errors(study)["labels"] is None
    study.refit(force=True)
    study.start_audit(60)
    audit = study.state().audit
    assert audit is not None
    assert any("labels told are right" in words for words in audit.audit.certificate().assumptions)


def test_gold_rows_that_forbid_an_audit_do_not_leave_labels_as_right(make: Make) -> None:
    study, _ = harsh_study(make, flip=1)
    assert "such labels say nothing" in people_errors(study)["refused"]
    study.refit(force=True)
    with pytest.raises(UserError, match="such labels say nothing"):
        study.start_audit(60)
    assert study.state().audit is None


def test_second_opinions_are_asked_where_labels_are_doubtful_and_the_log_keeps_how_likely(make: Make) -> None:
    study, truth = harsh_study(make)
    asked = study.ask_again(40, "owner")
    state = study.state()
    assert 20 <= len(asked) <= 60
    assert set(state.again) == set(asked)
    event = next(e for e in study.store.events() if e.kind == "opinions")
    assert abs(sum(event.data["propensities"]) - 40) < 0.1
    assert min(event.data["propensities"]) > 0.0
    doubtful = [row for row in event.data["rows"] if len({a.code for a in state.answers[row].values()}) > 1]
    assert len(set(doubtful) & set(asked)) / len(asked) > 2 * len(doubtful) / len(event.data["rows"])
    labels = len(study.learner().labelled_indices_)
    assert sorted(study.lease("cem", 200)) == sorted(asked)
    study.tell(asked, [("bad", "good")[truth[row]] for row in asked], "cem")
    assert len(study.learner().labelled_indices_) == labels
    assert verify(study.target).sound
    with Study.open(study.target) as again:
        assert again.state().again == state.again
        assert again.state().queue() == study.state().queue()
    assert not set(study.ask_again(40)) & set(asked)
    with pytest.raises(StudyError, match="n=0"):
        study.ask_again(0)


def test_without_answers_nothing_can_be_asked_again_and_one_person_goes_on(make: Make) -> None:
    study = make(budget=30)
    with pytest.raises(StudyError, match="no row can be asked again"):
        study.ask_again(5)
    rows = study.ask(10, "ada")
    study.tell(rows, ["good"] * 10, "ada")
    assert study.ask_again(10)
    assert len(study.ask(10, "ada")) == 10
    assert len(study.ask(20, "ada")) == 10  # the budget ends, and opinions of others are no rows for ada


def test_without_shared_rows_nothing_is_said(make: Make) -> None:
    study = make()
    assert people_errors(study) == {"shared": 0, "errors": [], "suspects": [], "labels": None, "refused": ""}
