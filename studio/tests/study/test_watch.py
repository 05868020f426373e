"""A certified model goes on deciding: months are added, labelled and kept in the log."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from fairask.audit.watch import check_month
from fairask.cli._app import app
from fairask.people import LabelError
from fairask_studio import Study
from fairask_studio.watch import watch_of
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.test_certified import Make, answer, certified, fitted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]
NEW = people_table(600)
LABELS = truth(NEW)


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["study", "watch", *map(str, words)])
    return found.exit_code, found.output


@pytest.fixture
def month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fairask_studio.watch.check_begun", check_month)  # of the months until 2099
    pyarrow.csv.write_csv(pa.table({**NEW, "truth": LABELS}), "new.csv")
    return Path("new.csv")


def test_a_month_is_decided_labelled_and_shown(make: Make, month: Path) -> None:
    study = certified(make)
    place = study.target
    assert study.status()["watch"] is None
    code, said = run(place, month, "--month", "2099-01", "--labels", 40)
    assert code == 3
    assert "40 rows wait for a label: fill in watch-2099-01.csv" in said
    with Path("watch-2099-01.csv").open(encoding="utf-8") as stream:
        sheet = list(csv.DictReader(stream))
    assert len(sheet) == 40
    assert study.config.grouped_by not in sheet[0]
    assert run(place, month, "--month", "2099-02")[0] == 2  # the first waits for labels
    with Path("told.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, sheet[0])
        writer.writeheader()
        writer.writerows({**row, "label": LABELS[int(row["row"])]} for row in sheet)
    code, said = run(place, "--tell", "told.csv", "--json")
    found = json.loads(said)
    assert (found["awaited"], found["labels"], found["month"]) == (0, 40, "2099-01")
    with Study.open(place) as again:
        assert again.status()["watch"] == found
        with again.store.read() as turn:
            assert [event.kind for event in turn.each_event()].count("watched") == 2
    assert "the rows of 2099-02 are those of 2099-01" in run(place, month, "--month", "2099-02")[1]
    pyarrow.csv.write_csv(pa.table({**NEW, "truth": LABELS}).slice(1), month)
    assert run(place, month, "--month", "2099-02", "--known", "truth")[0] == code
    assert run(place, month, "--month", "2099-02", "--known", "truth")[0] == 2  # once each


def test_a_month_that_has_not_begun_is_refused(
    make: Make, month: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    code, said = run(certified(make).target, month.absolute(), "--month", "2099-01")
    assert (code, "month='2099-01' has not begun" in said) == (2, True)


def test_wrong_labels_of_the_audit_are_allowed_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    learned = LabelError((0.01, 0.02), (0.001, 0.002), (100, 100))
    study = fitted(make)
    groups = [str(name) for name in study.groups]
    monkeypatch.setattr("fairask_studio.study.crew_label_errors", lambda *_: dict.fromkeys(groups, learned))
    study.start_audit(60)
    while rows := study.ask(60):
        answer(study, rows)
    document = study.certify()
    if document["verdict"] != "certified":  # what is watched is the subject
        study.state().certificates[-1]["verdict"] = "certified"
    watch = watch_of(study.state())
    assert watch.noise[0, :, 0].tolist() == [0.01, 0.02]
    assert watch.doubt[:, 0].tolist() == [0.001, 0.002]


def test_a_month_with_a_new_group_is_refused_and_rows_without_one_are_not(make: Make, month: Path) -> None:
    study = certified(make)
    for name, code in (("new", 2), ("", 3)):
        table = {**NEW, "sex": [name if row < 5 else sex for row, sex in enumerate(NEW["sex"])]}
        pyarrow.csv.write_csv(pa.table(table), month)
        found, said = run(study.target, month, "--month", "2099-01", "--labels", 40)
        assert found == code, said
        assert ("2099-01 has the group 'new', which the certificate does not know" in said) == (code == 2)


def test_another_model_has_no_watch(make: Make, month: Path) -> None:
    study = certified(make)
    assert run(study.target, month, "--month", "2099-01", "--known", "truth")[0] in (0, 3)
    study.refit(asked_by="owner")
    assert study.status()["watch"] is None


def test_what_cannot_be_watched_is_named(make: Make, month: Path) -> None:
    study = fitted(make)
    code, said = run(study.target, month, "--month", "2099-01")
    assert code == 2
    assert "not certified" in said
    for words, expected in (
        (["new.csv"], "--month"),
        (["--tell", "new.csv", "new.csv", "--month", "2099-01"], "--month"),
    ):
        code, said = run(study.target, *words)
        assert code == 2
        assert expected in said
