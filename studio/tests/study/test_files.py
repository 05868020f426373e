"""Files in and out: what comes back is what went out, and no spreadsheet runs anything."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairask.errors import TableError, UserError
from fairask.report.words import visible
from fairask.tables import read_table
from fairask.tables.sheets import plain_cell, safe_cell
from fairask_studio import Study, StudyError, load_model
from fairask_studio.files import check_told, read_labels, write_rows
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]
LABELS = truth(people_table())
HOSTILE = {
    "name": ["<script>alert(1)</script>", "=HYPERLINK(\"http://x\")", "x" * 1_000_000,
             "שלום עולם \u202e", "@SUM(A1)"] * 8,
    "income": [float(i) for i in range(40)],
    "sex": ["f", "m"] * 20,
    **{f"c{i}": [i % 7] * 39 + [i] for i in range(2000)},
}  # fmt: skip

SPLIT = json.dumps(
    [
        {
            "data": {"fairask_row": 1},
            "annotations": [
                {"result": [{"type": "choices", "value": {"choices": [label]}}]} for label in ("good", "bad")
            ],
        }
    ]
)


def filled(path: Path, labels: dict[int, str]) -> None:
    """Fill in the label column of a CSV, in another order, as a spreadsheet would save it."""
    csv.field_size_limit(1 << 24)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["label"] = labels.get(int(row["row"]), "")
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows[::-1])


@given(st.text(max_size=8) | st.integers() | st.floats())
def test_no_cell_of_a_csv_is_a_formula_and_none_is_lost(value: object) -> None:
    cell = safe_cell(value)
    if isinstance(value, str):
        shown = visible(value)
        assert plain_cell(cell) == (shown if cell != shown else plain_cell(shown))
        if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell:
            float(cell)  # only numbers may begin like that
    else:
        assert cell is value


@pytest.mark.parametrize("name", ["batch.csv", "batch.parquet"])
def test_rows_go_out_and_labels_come_back_in_part_and_in_any_order(
    make: Make, tmp_path: Path, name: str
) -> None:
    study = make()
    rows = study.ask(10)
    path = tmp_path / name
    write_rows(path, [(row, study.row(row)) for row in rows], study.config)
    if path.suffix == ".csv":
        filled(path, {row: LABELS[row] for row in rows[:6]})
    else:
        table = pq.read_table(path).to_pandas()
        table["label"] = [LABELS[row] if row in rows[:6] else None for row in table["row"]]
        table.iloc[::-1].to_parquet(path)
    told = read_labels(path)
    assert dict(zip(told.rows, told.labels, strict=True)) == {row: LABELS[row] for row in rows[:6]}
    assert study.tell(told.rows, told.labels, notes=told.notes).new == 6
    assert "sex" not in path.read_bytes().decode("utf-8", "ignore")[:60]


def test_a_sheet_saved_with_semicolons_and_decimal_commas_is_read(make: Make, tmp_path: Path) -> None:
    study = make()
    rows = study.ask(6, "ada")
    path = tmp_path / "rows.csv"
    write_rows(path, [(row, study.row(row)) for row in rows], study.config)
    table = pd.read_csv(path)
    with pytest.raises(StudyError, match=r"6 rows and no label; Fill in the column label"):
        read_labels(path)
    table["label"] = [LABELS[row] for row in table["row"]]
    table.to_csv(path, sep=";", decimal=",", index=False, encoding="utf-8-sig", lineterminator="\r\n")
    path.write_text(path.read_text("utf-8") + ";" * (table.shape[1] - 1) + "\r\n")  # a blank row
    told = read_labels(path)
    check_told(path.name, told, study)
    assert study.tell(told.rows, told.labels, "ada").new == 6


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_labels_that_elsewhere_mean_unknown_are_read_as_labels(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "rows.csv"
    lines = [("row", "label", "x"), ("3", "NA", "1.5"), ("4", "None", "2"), ("5", "", "2")]
    path.write_text("\n".join(sign.join(line) for line in lines))
    told = read_labels(path)
    assert (told.rows, told.labels) == ([3, 4], ["NA", "None"])
    path.write_text(f"row{sign}label{sign}label\n1{sign}NA{sign}None\n")
    with pytest.raises(StudyError, match="2 columns 'label'"):
        read_labels(path)


def test_label_studio_tasks_go_out_and_annotations_come_back(make: Make, tmp_path: Path) -> None:
    study = make()
    rows = study.ask(3, "ada")
    path = tmp_path / "tasks.json"
    write_rows(path, [(row, study.row(row)) for row in rows], study.config)
    tasks = json.loads(path.read_text())
    tasks[0]["annotations"] = [{"result": [{"type": "choices", "value": {"choices": ["good"]}}]}]
    tasks[1]["annotations"] = [{"was_cancelled": True, "result": []}]
    path.write_text(json.dumps(tasks))
    told = read_labels(path)
    assert (told.rows, told.labels) == ([rows[0]], ["good"])
    study.tell(told.rows, told.labels, "ada")
    study.export(tmp_path / "out")
    back = json.loads((tmp_path / "out" / "labels-label-studio.json").read_text())
    assert back[0]["annotations"][0]["result"][0]["value"]["choices"] == ["good"]
    again = read_labels(tmp_path / "out" / "labels-label-studio.json")
    assert study.tell(again.rows, again.labels, "ada").known == 1
    assert read_table(path).num_rows == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "row,lable\n1,good\n", "no column 'label'; did you mean 'lable'"),
        ("a.csv", "row,label\nx,good\n", "line 2: 'x' is not a row number"),
        ("a.json", "{", r"a\.json is not JSON: line 1, column 2"),
        ("a.json", '[{"data": {}}]', "task 1 is not a task of this study"),
        ("a.json", SPLIT, r"task 1 has answers that disagree \(bad, good\)"),
        ("a.parquet", "PAR1", "damaged"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        read_labels(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "a,a\n1,2\n", "more than one column 'a'"),
        ("p.csv", "a,b\n", "no rows"),
        ("p.xls", "", "ends in .csv"),
        ("p.parquet", "x", "not a Parquet file"),
        ("p.json", "{", "not JSON"),
        ("p.json", "{}", "not a list of tasks"),
    ],
)
def test_pools_that_cannot_be_read_say_why(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / name)


def test_the_exported_model_predicts_as_the_study_does(make: Make, tmp_path: Path) -> None:
    study = make()
    rows = study.ask(60)
    study.tell(rows, [LABELS[row] for row in rows])
    study.refit(force=True)
    files = {path.name for path in study.export(tmp_path / "out")}
    assert files == {
        "labels.csv", "labels.parquet", "labels-label-studio.json", "events.jsonl", "study.json",
        "report.html", "model.skops", "model-card.html",
    }  # fmt: skip
    card = (tmp_path / "out" / "model-card.html").read_text()
    assert "It answers “bad” or “good” for a row. Model 1, trained on 60 labels" in card
    assert all(f"<li>{name}</li>" in card for name in ("income", "debt", "job"))
    assert "Allowed gap: 10\u00a0points. The gap: of rows that are “good”" in card
    assert "The groups, by sex: f, m." in card
    assert "None: this model has not been audited" in card
    model = load_model(tmp_path / "out" / "model.skops")
    assert model.columns_ == ["income", "debt", "job"]
    raw = study.table.select(model.columns_)
    learner = study.learner()
    np.testing.assert_array_equal(
        model.predict_proba(raw), learner.current_model().predict_proba(learner.pool.X)
    )
    assert set(model.predict(raw)) <= {"bad", "good"}
    labels = pq.read_table(tmp_path / "out" / "labels.parquet").to_pylist()
    np.testing.assert_array_equal([row["propensity"] for row in labels], learner.propensities_)
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert [event["kind"] for event in events[:2]] == ["created", "proposed"]


@pytest.mark.parametrize("settings", [{}, {"use_protected": True}, {"protected": ["sex", "income:0"]}])
def test_the_exported_model_takes_the_original_frame_in_any_order(
    make: Make, tmp_path: Path, settings: dict[str, object]
) -> None:
    study = make(**settings)
    rows = study.ask(60)
    study.tell(rows, [LABELS[row] for row in rows])
    study.export(tmp_path / "out")
    model = load_model(tmp_path / "out" / "model.skops")
    learner, frame = study.learner(), study.table.to_pandas()
    groups = np.array(learner.groups_, dtype=object)[learner.pool.groups_of(np.arange(len(frame)))]
    expected = learner.current_model().predict_proba(learner.pool.X, sensitive_features=groups)
    assert model.oracle.needs_groups == bool(settings.get("use_protected"))
    for one in (frame, frame[frame.columns[::-1]].assign(more=1), pl.from_pandas(frame), study.table):
        np.testing.assert_array_equal(model.predict_proba(one), expected)
        assert set(model.predict(one)) <= {"bad", "good"}
        assert model.label_proba(one).shape == (len(frame), 2)
    assert 0 <= model.score(frame, LABELS) <= 1
    assert list(model.feature_names_in_) == model.columns_
    with pytest.raises(UserError, match="X has no column 'debt'"):
        model.predict(frame.drop(columns="debt"))
    if model.oracle.needs_groups:
        with pytest.raises(UserError, match="no column 'sex'"):
            model.predict(frame.drop(columns="sex"))


def test_a_model_file_with_other_classes_is_refused(tmp_path: Path) -> None:
    import skops.io

    skops.io.dump(argparse.Namespace(run=1), tmp_path / "model.skops")
    with pytest.raises(StudyError, match=r"Untrusted types found in the file: \['argparse\.Namespace'\]"):
        load_model(tmp_path / "model.skops")


def test_a_hostile_pool_is_asked_and_exported_safely(make: Make, tmp_path: Path) -> None:
    study = make(table=HOSTILE, budget=40, classes=("=no", "+yes"))
    rows = study.ask(10)
    write_rows(tmp_path / "batch.csv", [(row, study.row(row)) for row in rows], study.config)
    filled(tmp_path / "batch.csv", {row: safe_cell("+yes") for row in rows})
    told = read_labels(tmp_path / "batch.csv")
    assert study.tell(told.rows, told.labels, notes=["=cmd|' /C calc'!A0"] * 10).new == 10
    study.export(tmp_path / "out")
    for path in (tmp_path / "batch.csv", tmp_path / "out" / "labels.csv"):
        with path.open(newline="", encoding="utf-8-sig") as file:
            for cell in (cell for row in csv.reader(file) for cell in row):
                assert not cell.startswith(("=", "+", "@", "\t", "\r"))


@pytest.mark.parametrize("name", ["batch.csv", "batch.parquet", "batch.json"])
def test_a_sheet_whose_row_numbers_slipped_is_refused(make: Make, tmp_path: Path, name: str) -> None:
    study, path = make(), tmp_path / name
    rows = study.ask(10)
    write_rows(path, [(row, study.row(row)) for row in rows], study.config)
    if name.endswith(".json"):
        tasks = json.loads(path.read_text())
        numbers = [task["data"]["fairask_row"] for task in tasks]
        for i, task in enumerate(tasks):
            task["data"]["fairask_row"] = numbers[i - 1]
            task["annotations"] = [{"result": [{"type": "choices", "value": {"choices": ["good"]}}]}]
        path.write_text(json.dumps(tasks))
    else:
        parquet = name.endswith(".parquet")
        table = pd.read_parquet(path) if parquet else pd.read_csv(path)
        table["label"], table["row"] = "good", np.roll(table["row"], 1)
        table.to_parquet(path) if parquet else table.to_csv(path, index=False)
    told = read_labels(path)
    with pytest.raises(UserError, match="10 of 10 labelled rows are not those of the table, the first: row"):
        check_told(name, told, study)


def test_a_sheet_that_was_told_is_checked_by_its_cells_too(make: Make, tmp_path: Path) -> None:
    study, path = make(), tmp_path / "batch.csv"
    rows = study.ask(10)
    write_rows(path, [(row, study.row(row)) for row in rows], study.config)
    table = pd.read_csv(path)
    table["label"] = "good"
    for names in (["row", "label", "check"], ["row", "label", "debt", "job"]):
        table[names].to_csv(path, index=False)
        told = read_labels(path)
        check_told("batch.csv", told, study)
    table[["row", "label"]].to_csv(path, index=False)
    told = read_labels(path)
    with pytest.raises(UserError, match="--unchecked"):
        check_told("batch.csv", told, study)
