"""Groups of several columns, of bands, of unknown rows and of few rows, in every command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask import CalibratedFairOracle, EmpiricalFairOracle, FairActiveLearner
from fairask.audit import certify
from fairask.audit.predictions import open_audit_table
from fairask.errors import TableError, UserError
from fairask.experiment import LabelledTable
from fairask.metrics import group_gap
from fairask.tables import column_gaps
from fairask.tables.groups import OTHER, UNKNOWN, GroupColumns, group_names
from fairask.tables.labels import prepare
from fairask_studio import Study

N = 400
RNG = np.random.default_rng(0)
PEOPLE = pa.table(
    {
        "race": np.array(["a", "b"])[(np.arange(N) % 5 < 2).astype(int)],
        "sex": np.array(["f", "m"])[np.arange(N) % 3 % 2],
        "age": RNG.integers(18, 80, N),
        "x": RNG.normal(size=N),
        "said": RNG.integers(0, 2, N),
        "y": RNG.integers(0, 2, N),
    }
)
SPECS = ["race", "age:30,50"]


def expected(table: pa.Table = PEOPLE) -> list[str]:
    bands = ["under 30", "30 up to 50", "50 or more"]
    pairs = zip(table["race"].to_pylist(), table["age"].to_pylist(), strict=True)
    return [f"{race}, {bands[(age >= 30) + (age >= 50)]}" for race, age in pairs]


def test_bands_and_combinations_in_memory() -> None:
    assert group_names(PEOPLE, SPECS).tolist() == expected()
    found = prepare(PEOPLE, label="y", protected=SPECS, use_protected=False)
    assert found.groups.tolist() == expected()
    assert found.feature_names == ["sex=m", "x", "said"]


def test_every_command_takes_combinations_and_bands(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(PEOPLE, path, row_group_size=90)
    table = LabelledTable.open(str(path), label="y", protected=SPECS)
    assert table.groups.tolist() == expected()
    with Study.create(tmp_path / "s", path, protected=SPECS, hide=["y"], budget=20, batch_size=20) as study:
        rows = study.ask(8)
        study.tell(rows, ["0", "1"] * 4)
    with Study.open(tmp_path / "s") as study:
        assert study.config.grouped_by == "race, age:30,50"
        assert sorted(study.groups) == sorted(set(expected()))
        assert {c.name for c in study.config.columns if c.role == "protected"} == {"race", "age"}
        assert len(study.codes) == N
    audited = open_audit_table(str(path), predictions="said", protected=SPECS)
    assert sum(audited.group_rows.values()) == N
    assert set(audited.group_rows) == set(expected())


def test_two_protected_columns_on_the_command_line_are_both_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fairask.cli import main

    path = tmp_path / "t.parquet"
    pq.write_table(PEOPLE, path)
    words = ["simulate", str(path), "--label", "y", "--protected", "race", "--protected", "sex", "--positive"]
    words += ["1", "--trials", "1", "--budget", "40", "--batch", "40", "--strategy", "passive", "--json"]
    with pytest.raises(SystemExit) as done:
        main(words)
    assert done.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert "--protected race --protected sex" in found["command"]


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (["rase"], "--protected: no column 'rase'"),
        (["age:x"], "'x' are not numbers"),
        (["age:50,30"], "the numbers must grow"),
        (["race:3"], "cannot be cut into bands"),
        (["race", "race"], "names the column 'race' twice"),
        (["age"], "Compare at most 50 groups: cut numbers into bands"),
    ],
)
def test_what_cannot_be_groups_is_refused_with_a_remedy(specs: list[str], words: str) -> None:
    with pytest.raises(TableError) as caught:
        prepare(PEOPLE, label="y", protected=specs)
    assert words in str(caught.value)


def test_a_column_whose_name_holds_a_colon_is_itself() -> None:
    table = pa.table({"a:1": ["u", "v"], "x": [1, 2]})
    assert group_names(table, ["a:1"]).tolist() == ["u", "v"]


def test_small_combinations_are_merged_and_said_or_refused() -> None:
    race = ["a"] * 300 + ["b"] * 80 + ["c"] * 20
    sex = [["f", "m"][i % 2] for i in range(N)]
    table = pa.table({"race": race, "sex": sex, "x": RNG.normal(size=N), "y": RNG.integers(0, 2, N)})
    found = prepare(table, label="y", protected=["race", "sex"])
    assert sorted(set(found.groups)) == [OTHER, "a, f", "a, m", "b, f", "b, m"]
    assert f"small groups of 'race, sex' are merged into {OTHER!r}: 20 rows" in found.notes
    fewer = table.slice(0, 390)
    with pytest.raises(TableError, match=r"have small groups: 'c, f' .5., 'c, m' .5., 10 rows together"):
        prepare(fewer, label="y", protected=["race", "sex"])


def test_rows_of_unknown_group_train_and_are_reported(tmp_path: Path) -> None:
    sex = [None if i % 10 < 3 else value for i, value in enumerate(PEOPLE["sex"].to_pylist())]
    table = PEOPLE.set_column(1, "sex", pa.array(sex))
    found = prepare(table, label="y", protected="sex", use_protected=False)
    assert found.X.shape[0] == N
    assert (found.groups == UNKNOWN).sum() == 120
    assert "(30.0 %) have no known value in 'sex' and are the group" in " ".join(found.notes)
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=70)
    audited = open_audit_table(str(path), predictions="said", protected="sex")
    assert audited.group_rows[UNKNOWN] == 120
    assert any("(30.0 %) have no known value in 'sex'" in note for note in audited.notes)


@pytest.mark.slow
def test_words_for_not_known_and_empty_cells_are_one_group() -> None:
    sex = [("f", "m", None, "Unknown", " n/a")[i % 5] for i in range(N)]
    found = prepare(PEOPLE.set_column(1, "sex", pa.array(sex)), label="y", protected="sex")
    assert sorted(set(found.groups)) == [UNKNOWN, "f", "m"]
    assert len([note for note in found.notes if "(unknown)" in note]) == 1


def test_certificates_hold_with_30_percent_of_groups_missing_at_random_and_say_what_they_assume() -> None:

    rng, wrong, audits = np.random.default_rng(1), 0, 200
    n, gap = 3000, 0.12
    for _ in range(audits):
        groups = rng.integers(0, 2, n)
        y = rng.integers(0, 2, n)
        said = (rng.random(n) < np.where(y == 1, 0.6 + gap * groups, 0.2)).astype(int)
        seen = np.where(rng.random(n) < 0.3, UNKNOWN, np.array(["a", "b"])[groups])
        found = certify(y, said, seen, tolerance=0.1, delta=0.05)
        wrong += found.upper < gap
    assert wrong <= 0.05 * audits + 2 * np.sqrt(0.05 * 0.95 * audits)
    assert any("missing at random" in text for text in found.assumptions)
    assert not any("missing at random" in text for text in certify(y, said, groups).assumptions)


def test_groups_that_are_alike_in_combination_are_alike_in_each_column() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        race, sex, y = (rng.integers(0, 2, 300) for _ in range(3))
        said = (rng.random(300) < rng.random((2, 2))[race, sex]).astype(int)
        both = group_gap(y, said, race * 2 + sex, metric="tprp")
        assert group_gap(y, said, race, metric="tprp") <= both + 1e-12
        assert group_gap(y, said, sex, metric="tprp") <= both + 1e-12


def test_several_values_of_a_label_can_be_positive(tmp_path: Path) -> None:
    grades = np.array(["failed", "passed", "distinction"])[RNG.integers(0, 3, N)]
    table = PEOPLE.set_column(5, "y", pa.array(grades))
    with pytest.raises(TableError, match=r"has 3 values: 'distinction', 'failed', 'passed'.*repeat it"):
        prepare(table, label="y", protected="sex")
    found = prepare(table, label="y", protected="sex", positive=["Passed", "distinction"])
    assert found.positive == "distinction or passed"
    assert (found.y == (grades != "failed")).all()
    with pytest.raises(TableError, match="names all values"):
        prepare(table, label="y", protected="sex", positive=["failed", "passed", "distinction"])
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=100)
    positive = ("passed", "distinction")
    rate = LabelledTable.open(str(path), label="y", protected="sex", positive=positive).base_rate
    assert rate == np.mean(grades != "failed")


def test_a_number_cannot_be_a_label() -> None:
    table = PEOPLE.set_column(5, "y", pa.array(RNG.normal(size=N)))
    with pytest.raises(TableError, match=r"'y' is a number with 400 values.*A label says yes or no"):
        prepare(table, label="y", protected="sex")


def test_a_group_that_was_not_there_before_is_refused() -> None:
    groups = GroupColumns(("sex",), ("f", "m"))
    with pytest.raises(TableError, match="has the group 'd', which is not one of"):
        groups.codes(pa.record_batch({"sex": ["f", "d"]}))


def test_each_protected_column_is_measured_beside_the_combinations() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    table = pa.table({"sex": np.array(["f", "m"])[rng.integers(2, size=n)], "age": rng.integers(18, 80, n)})
    y, said = rng.integers(2, size=n), rng.integers(2, size=n)
    found = column_gaps(table.to_pandas(), ["sex", "age:40"], y, said, "eo")
    assert list(found) == ["sex", "age:40", "sex, age:40"]
    assert found["sex"] == pytest.approx(group_gap(y, said, table["sex"].to_pylist(), "eo"))
    # The rate of a group of one column is an average of the rates of its combinations.
    assert max(found["sex"], found["age:40"]) <= found["sex, age:40"]


def test_more_groups_than_can_be_compared_are_refused() -> None:
    X, groups, y = (
        np.random.default_rng(0).normal(size=(400, 2)),
        np.arange(400) % 51,
        np.arange(400) // 51 % 2,
    )
    for use in (
        lambda: FairActiveLearner(X, groups),
        lambda: EmpiricalFairOracle().fit(X, y, sensitive_features=groups),
        lambda: CalibratedFairOracle().fit(X, y, sensitive_features=groups),
    ):
        with pytest.raises(UserError, match="sensitive_features has 51 groups; compare at most 50"):
            use()
