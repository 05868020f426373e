"""What a table allows: each thing that blocks a task is named, with what unblocks it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairask.audit.plan import AuditMetric
from fairask.errors import TableError
from fairask.examination import Examination, examine_table
from fairask.metrics import group_rates

RNG = np.random.default_rng(0)
N = 1200
SEX = np.where(RNG.random(N) < 0.6, "men", "women")
INCOME = RNG.normal(50, 10, N).round(3)
REPAID = np.where(INCOME + RNG.normal(0, 8, N) > 50, "yes", "no")
APPROVED = (INCOME > 48).astype(int)
COLUMNS = {"sex": SEX, "income": INCOME, "repaid": REPAID, "approved": APPROVED}


def write(folder: Path, **changes: Any) -> str:
    columns = {**COLUMNS, **changes}
    path = folder / "loans.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return str(path)


def states(found: Examination) -> dict[str, str]:
    return {task.what: task.state for task in found.tasks}


def said(found: Examination, what: str) -> str:
    return " ".join(
        f"{f.state}: {f.found} {f.remedy}" for f in [*found.findings, *found.tasks] if f.what == what
    )


ALL = {"label": "repaid", "protected": "sex", "predictions": "approved"}


def test_a_sound_table_allows_everything_and_says_how(tmp_path: Path) -> None:
    place = write(tmp_path, approved=np.where(APPROVED, "yes", "no"))
    found = examine_table(place, **ALL)
    assert states(found) == {"train": "ok", "simulate": "ok", "audit": "ok", "audit now": "ok"}
    assert not found.blocked
    # What has a label already, or is a model's answer, is not learned from.
    assert f"fairask new {place} --protected sex --classes no,yes --drop approved,repaid" in said(
        found, "train"
    )
    assert "--drop approved" in said(found, "simulate")
    assert "--known repaid" in said(found, "audit now")


def test_what_was_not_given_is_missing_and_blocks_nothing(tmp_path: Path) -> None:
    found = examine_table(write(tmp_path))
    assert set(states(found).values()) == {"missing"}
    assert not found.blocked


def test_the_labels_of_an_audit_are_those_of_its_plan(tmp_path: Path) -> None:
    from fairask.audit import plan_audit

    place = write(tmp_path)
    table = plan_audit(APPROVED, SEX, n_audits=200)
    enough = min(row.budget for row in table.rows if row.certify_alike >= 0.8)
    assert f"about {enough:,} labels certify 0.1" in said(examine_table(place, **ALL), "audit")


def test_a_tolerance_that_no_number_of_labels_certifies_names_one_that_some_do(tmp_path: Path) -> None:
    more = {name: np.tile(column, 10) for name, column in COLUMNS.items()}
    found = examine_table(write(tmp_path, **more), **ALL, tolerance=0.01)
    assert states(found)["audit"] == "blocked"
    assert "3,200 labels seldom certify 0.01" in said(found, "audit")
    assert "--tolerance 0.05 takes about" in said(found, "audit")


def test_a_group_without_positives_is_named_with_the_labels_it_needs(tmp_path: Path) -> None:
    """Its gap would be computed as 0, or left out, by who does not look."""
    group = SEX.copy()
    group[:60] = "other"
    repaid = np.where(group == "other", "no", REPAID)
    rates = group_rates(repaid == "yes", APPROVED, group).conditioned(1)
    assert np.isnan(rates).any()
    found = examine_table(write(tmp_path, sex=group, repaid=repaid), **ALL)
    assert states(found) == {"train": "ok", "simulate": "blocked", "audit": "blocked", "audit now": "blocked"}
    assert "group 'other' has no positive labels" in said(found, "rates")
    assert "label about " in said(found, "rates")
    assert "what blocks the rates" in said(found, "simulate")
    assert found.blocked


def test_a_group_with_few_positives_is_not_said_to_have_none(tmp_path: Path) -> None:
    group = np.where(np.cumsum(REPAID == "yes") <= 3, "other", SEX)
    found = examine_table(write(tmp_path, sex=group), **ALL)
    assert "group 'other' has only 3 positive labels: 4 or more tell of a true positive rate" in said(
        found, "rates"
    )
    assert "it has no" not in said(found, "rates")


def test_an_audit_is_not_blocked_by_labels_that_may_still_come(tmp_path: Path) -> None:
    group = SEX.copy()
    group[:60] = "other"
    repaid = np.where(group == "other", np.where(np.arange(N) < 30, "no", ""), REPAID)
    found = examine_table(write(tmp_path, sex=group, repaid=repaid), **ALL)
    assert states(found)["audit"] == "ok"
    assert states(found)["audit now"] == "blocked"
    assert "30 rows have none" in said(found, "labels")


def test_few_labels_of_a_group_say_how_many_tell_the_tolerance(tmp_path: Path) -> None:
    group = SEX.copy()
    group[:80] = "other"
    found = examine_table(write(tmp_path, sex=group), **ALL)
    words = said(found, "rates")
    assert words.startswith("warn")
    more = int(words.split(" more positive labels of 'other' tell 0.1")[0].rsplit(" ", 1)[-1])
    have = {g: int(((group == g) & (REPAID == "yes")).sum()) for g in np.unique(group)}
    small, second = have["other"] + more, sorted(have.values())[1]
    assert 1.96 * np.sqrt(0.25 / small + 0.25 / second) <= 0.1 + 1e-9
    assert 1.96 * np.sqrt(0.25 / (small - 1) + 0.25 / second) > 0.1


@pytest.mark.parametrize(
    ("changes", "what", "words"),
    [
        ({"region": np.full(N, "EU")}, "columns", "one value only: region"),
        ({"id": np.arange(N)}, "columns", "an identifier"),
        ({"closed": REPAID}, "leaks", "'closed' alone gives the label away"),
        ({"title": np.where(SEX == "men", "Mr", "Ms")}, "leaks", "'title' alone tells the group"),
        ({"income": INCOME.round(0)}, "copies", "rows that equal another one"),
        ({"sex": np.where(np.arange(N) < 90, "", SEX)}, "groups", "(7.5 %) have no known value"),
        ({"approved": np.where(SEX == "men", APPROVED, 0)}, "predictions", "'women' the same answer"),
    ],
)
def test_what_an_owner_should_know_is_a_warning(
    tmp_path: Path, changes: dict[str, Any], what: str, words: str
) -> None:
    found = examine_table(write(tmp_path, **changes), **ALL)
    assert words in said(found, what)
    assert any(f.state == "warn" for f in found.findings if f.what == what)


@pytest.mark.parametrize(
    ("changes", "what", "words"),
    [
        ({"sex": np.full(N, "men")}, "groups", "one group only"),
        ({"sex": np.where(np.arange(N) < 5, "", SEX)}, "groups", "--missing-groups drop"),
        ({"sex": INCOME}, "groups", "Compare at most 50 groups"),
        ({"repaid": np.full(N, "yes")}, "labels", "one value only"),
        ({"repaid": INCOME}, "labels", "is a number with"),
        ({"income": np.full(N, 1)}, "columns", "no column is left to learn from"),
        ({"approved": np.where(np.arange(N) < 3, "", APPROVED)}, "predictions", "3 rows have no prediction"),
    ],
)
def test_what_cannot_be_read_blocks_the_tasks_that_need_it(
    tmp_path: Path, changes: dict[str, Any], what: str, words: str
) -> None:
    found = examine_table(write(tmp_path, **changes), **ALL)
    assert words in said(found, what)
    assert found.blocked


@pytest.mark.parametrize(
    ("label", "metric", "now", "words"),
    [
        (1, "tprp", "ok", "one value only: '1'"),  # fairask audit --known decides it
        (1, "fprp", "blocked", "has no negative labels"),
        ("yes", "tprp", "blocked", "the unknown label 'yes'"),
    ],
)
def test_an_audit_of_known_labels_is_possible_where_the_command_takes_them(
    tmp_path: Path, label: object, metric: AuditMetric, now: str, words: str
) -> None:
    found = examine_table(write(tmp_path, repaid=np.full(N, label)), **ALL, metric=metric)
    assert (states(found)["audit now"], states(found)["simulate"]) == (now, "blocked")
    assert words in " ".join(said(found, what) for what in ("labels", "rates", "known"))


def test_a_table_of_few_rows_is_named(tmp_path: Path) -> None:
    for rows, words in ((2, "too few to learn anything"), (40, "the table has 40 rows for 250 labels")):
        columns = {name: values[:rows] for name, values in COLUMNS.items()}
        columns["sex"] = np.where(np.arange(rows) % 2, "men", "women")
        assert words in said(examine_table(write(tmp_path, **columns), protected="sex"), "rows")
    assert said(examine_table(write(tmp_path), protected="sex"), "rows") == ""


def test_selection_needs_no_labels(tmp_path: Path) -> None:
    found = examine_table(write(tmp_path), protected="sex", predictions="approved", metric="dp")
    assert "selection needs no labels" in said(found, "audit")


def test_rows_without_a_group_that_are_left_out_are_not_counted(tmp_path: Path) -> None:
    sex = np.where(np.arange(N) < 50, "", SEX)
    found = examine_table(write(tmp_path, sex=sex), **ALL, missing_groups="drop")
    assert f"of {int((sex == 'men').sum()):,} (" in said(found, "predictions")
    assert "50 rows (4.2 %) have no known value" in said(found, "groups")


def test_a_column_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for option in ({"label": "x"}, {"protected": "x"}, {"predictions": "x"}, {"missing_groups": "unknown"}):
        with pytest.raises(TableError):
            examine_table(write(tmp_path), **option)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="metric"):
        examine_table(write(tmp_path), metric="auc")  # type: ignore[arg-type]
