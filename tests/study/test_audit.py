"""An audit draws rows to judge a model: uniform within groups, outside the budget, training nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairask.study import Study, StudyError
from tests.study.conftest import people_table, truth

Make = Callable[..., Study]
LABELS = truth(people_table())


def label(study: Study, n: int) -> list[int]:
    rows = study.ask(n)
    study.tell(rows, [LABELS[row] for row in rows])
    return rows


def test_an_audit_holds_the_model_still_and_draws_uniformly_within_groups(make: Make, target: str) -> None:
    study = make(target, budget=30)
    label(study, 20)
    study.refit()
    study.start_audit(24)
    rows = label(study, 24)
    assert study.ask(1) == []
    assert not study.state().fit_is_due()
    with pytest.raises(StudyError, match="an audit is under way"):
        study.refit(force=True)
    entries = [entry for entry in study.state().log.entries if entry.index in rows]
    codes = study.rows.codes
    before = [entry.index for entry in study.state().log.entries[:20]]
    left = np.bincount(codes, minlength=2) - np.bincount(codes[before], minlength=2)
    density = 0.5 / left  # of a row of each group when the batch was proposed
    for entry in entries:
        group = codes[entry.index]
        assert entry.component == "audit"
        assert entry.propensity == pytest.approx(density[group] / (density @ left))
        left[group] -= 1
    sample = study.audit_sample()
    assert sample is not None
    assert sorted(sample["indices"]) == sorted(rows)
    assert not set(sample["indices"]) & set(sample["trained_on"])
    with Study.open(target) as again:
        assert again.status()["audit"]["drawn"] == 24
    study.end_audit()
    assert study.audit_sample() is None
    assert study.status()["budget"] == 54
    assert len(label(study, 30)) == 10  # the budget's own rows are still there
    assert study.refit() is not None


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
