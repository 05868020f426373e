"""An audit draws rows to judge a model: by group and decision, outside the budget, training nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fairask_studio import Study, StudyError
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]
LABELS = truth(people_table())


def label(study: Study, n: int) -> list[int]:
    rows = study.ask(n)
    study.tell(rows, [LABELS[row] for row in rows])
    return rows


def test_an_audit_holds_the_model_still_and_draws_by_group_and_decision(make: Make, target: str) -> None:
    study = make(target, budget=30)
    label(study, 20)
    study.refit()
    study.start_audit(24)
    rows = label(study, 24)
    assert study.ask(1) == []
    assert not study.state().fit_is_due()
    with pytest.raises(StudyError, match="an audit is under way"):
        study.refit(force=True)
    trained = study.learner(at=study.state().history[-1]["seen"])
    audit = study.state().audit
    assert audit is not None
    assert audit.audit is not None
    cells = trained.pool.by_decision(trained.current_model(), audit.audit.plan.random_state)
    stratum_of = dict(zip(*(array.tolist() for array in (cells.rows, cells.cell)), strict=True))
    before = [entry.index for entry in study.state().log.entries[:20]]
    sizes = Counter(stratum for row, stratum in stratum_of.items() if row not in before)
    drawn = Counter(stratum_of[row] for row in rows)
    for entry in study.state().log.entries[20:]:
        stratum = stratum_of[entry.index]
        assert entry.component == "audit"
        assert entry.propensity == pytest.approx(drawn[stratum] / 24 / sizes[stratum])
    assert max(drawn.values()) - min(drawn[s] for s in sizes if sizes[s] > max(drawn.values())) <= 1
    with Study.open(target) as again:
        status = again.status()["audit"]
        assert (status["drawn"], status["labels"], status["done"]) == (24, 24, True)
        assert again.certify()["upper"] == audit.audit.certificate().upper
    assert study.state().audit is None
    assert study.status()["budget"] == 54
    assert len(label(study, 30)) == 10  # the budget's own rows are still there
    assert study.refit() is not None


def test_an_audit_looks_on_schedule_and_ends_in_a_certificate(make: Make) -> None:
    study = make(budget=20)
    label(study, 20)
    study.refit()
    study.start_audit(120)
    assert len(label(study, 200)) == 40
    assert not study.state().audit.done
    with pytest.raises(StudyError, match="waits for labels"):
        study.certify()
    study.correct(study.state().log.entries[25].index, "good")  # what was drawn stays drawn
    while label(study, 200):
        pass
    found = study.certify()
    assert found["method"] == "stratified"
    assert found["n_labels"] in (80, 120)
    assert study.state().audit is None
    assert study.status()["certificate"]["verdict"] == found["verdict"]


@pytest.mark.parametrize("profile", ["calibrated", "paper"])
def test_a_model_that_reads_the_protected_attribute_is_audited(make: Make, profile: str) -> None:
    study = make(budget=20, use_protected=True, profile=profile)
    label(study, 20)
    study.refit()
    study.start_audit(30)
    label(study, 30)
    assert study.certify()["n_labels"] == 30


def test_an_answer_taken_back_is_awaited_again(make: Make) -> None:
    study = make(budget=20)
    label(study, 20)
    study.refit()
    study.start_audit(30)
    rows = label(study, 30)
    assert study.state().audit.done
    study.withdraw(rows[0], "owner")
    assert not study.state().audit.done
    study.tell(rows[:1], [LABELS[rows[0]]])
    assert study.state().audit.done


def test_a_row_skipped_in_an_audit_is_replaced(make: Make) -> None:
    study = make(budget=20)
    label(study, 20)
    study.refit()
    study.start_audit(5)
    study.skip(study.ask(2))
    assert len(label(study, 10)) == 5


def test_audits_begin_with_a_model_and_one_at_a_time(make: Make) -> None:
    study = make()
    with pytest.raises(StudyError, match="no model to audit"):
        study.start_audit(5)
    label(study, 10)
    study.refit()
    with pytest.raises(StudyError, match="must be from 1 to the 190 rows"):
        study.start_audit(500)
    with pytest.raises(StudyError, match="no audit is under way"):
        study.end_audit()
    study.start_audit(5)
    with pytest.raises(StudyError, match="under way already"):
        study.start_audit(5)


def test_labels_changed_after_a_look_are_counted_and_named(make: Make, tmp_path: Path) -> None:
    study = make(str(tmp_path / "study"), budget=20)
    label(study, 20)
    study.refit()
    study.start_audit(80)
    rows = label(study, 40)
    before = study.status()["audit"]
    assert (before["look"], before["looks"], before["found"]["corrected"]) == (1, 2, 0)
    study.correct(rows[0], "good" if LABELS[rows[0]] == "bad" else "bad")
    study.correct(rows[1], LABELS[rows[1]])  # the same label again is no change
    changed = study.status()["audit"]["found"]
    assert changed["corrected"] == 1
    assert (changed["lower"], changed["upper"]) != (before["found"]["lower"], before["found"]["upper"])
    if not study.status()["audit"]["done"]:
        label(study, 40)
    with Study.open(str(tmp_path / "study")) as again:
        document = again.certify()
    assert document["corrected"] == 1
    assert any("changed after a look" in text for text in document["assumptions"])


def test_a_plan_says_what_an_audit_of_the_last_model_would_buy(make: Make) -> None:
    study = make(budget=20)
    label(study, 20)
    study.refit()
    few, many = study.learner(at=study.state().trained_to).plan_audit([20, 150]).rows
    assert (few.budget, many.budget) == (20, 150)
    assert few.certify_alike <= many.certify_alike
    assert study.status()["audit"] is None
