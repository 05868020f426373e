"""A labelled table: features, labels and groups, and which label counts as 1."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fairask.errors import TableError
from fairask.tables import TableFormat, read_table
from fairask.tables.formats import file_digest
from fairask.tables.groups import GroupColumns, group_names
from fairask.tables.labels import GUESS, KNOWN_PAIRS, Prepared, find_positive, known_positive, prepare

N = 48
BASE = {"g": ["a", "b"] * (N // 2), "y": [0, 0, 1, 1] * (N // 4)}


def ready(columns: dict[str, Any], **options: Any) -> Prepared:
    return prepare(pa.table({**BASE, **columns}), label="y", protected="g", **options)


def raw(prepared: Prepared, name: str) -> Any:
    """The distinct standardised values of a feature, and where its largest is."""
    return prepared.X[:, prepared.feature_names.index(name)]


def test_numbers_are_standardised_levels_are_0_and_1_and_the_protected_column_stays() -> None:
    table = ready({"x": [float(i * i % 17) for i in range(N)]})
    assert table.feature_names == ["g=b", "x"]
    assert np.allclose(raw(table, "x").mean(), 0, atol=1e-6)
    assert np.allclose(raw(table, "x").std(), 1, atol=1e-6)
    assert raw(table, "g=b").tolist() == [0.0, 1.0] * (N // 2)
    assert table.groups.tolist() == BASE["g"]
    assert table.y.tolist() == BASE["y"]


def test_the_protected_column_can_be_left_out_of_the_features() -> None:
    assert ready({"x": [float(i % 5) for i in range(N)]}, use_protected=False).feature_names == ["x"]


def test_categories_lose_their_first_level_whatever_the_order_of_rows() -> None:
    cities = ["Rom", "Bern", "Oslo"] * (N // 3)
    assert ready({"c": cities}).feature_names == ["g=b", "c=Oslo", "c=Rom"]
    assert ready({"c": cities[::-1]}).feature_names == ["g=b", "c=Oslo", "c=Rom"]


def test_a_missing_number_is_the_mean_with_an_indicator() -> None:
    values: list[float | None] = [float(i % 5) for i in range(N)]
    values[7] = None
    table = ready({"x": values})
    assert table.feature_names == ["g=b", "x", "x is missing"]
    assert raw(table, "x is missing").argmax() == 7
    assert raw(table, "x")[7] == 0.0
    assert any("filled in" in note for note in table.notes)


def test_a_missing_category_is_a_level_of_its_own() -> None:
    values: list[str | None] = ["u", "v"] * (N // 2)
    values[3] = None
    table = ready({"c": values})
    assert table.feature_names == ["g=b", "c=v", "c is missing"]
    assert raw(table, "c is missing").argmax() == 3


def test_booleans_and_dates_are_numbers() -> None:
    start = datetime.date(2020, 1, 1)
    days = [start + datetime.timedelta(days=i % 30) for i in range(N)]
    times = [datetime.datetime(2020, 1, 1, i % 24) for i in range(N)]
    table = ready(
        {"flag": [i % 3 == 0 for i in range(N)], "day": days, "at": times, "hour": [t.time() for t in times]}
    )
    assert table.feature_names == ["g=b", "flag", "day", "at", "hour"]
    assert np.allclose(np.diff(raw(table, "day")[:30]), raw(table, "day")[1] - raw(table, "day")[0])
    assert np.allclose(raw(table, "at"), raw(table, "hour"), atol=1e-5)


def test_parquet_categories_and_decimals_are_read() -> None:
    import decimal

    table = ready(
        {
            "c": pa.array(["u", "v", "v"] * (N // 3)).dictionary_encode(),
            "d": pa.array([decimal.Decimal(i % 7) / 2 for i in range(N)], pa.decimal128(10, 2)),
        }
    )
    assert table.feature_names == ["g=b", "c=v", "d"]


def test_constant_and_empty_columns_are_left_out_with_a_note() -> None:
    table = ready({"k": ["same"] * N, "e": pa.nulls(N), "f": pa.nulls(N, pa.float64())})
    assert table.feature_names == ["g=b"]
    assert "columns with one value were left out: 'k', 'e', 'f'" in table.notes


def test_rows_without_a_label_are_left_out_with_a_note() -> None:
    table = pa.table({"g": [*BASE["g"], "b", "a"], "y": [*BASE["y"], None, None], "x": [*range(N), 0, 0]})
    found = prepare(table, label="y", protected="g", drop=["x"])
    assert len(found.y) == N
    assert "2 rows have no value in 'y' and were left out" in found.notes


def test_rows_without_a_group_are_refused_with_their_number() -> None:
    table = pa.table({"g": [*BASE["g"], None, " "], "y": [*BASE["y"], 1, 1]})
    with pytest.raises(TableError, match="'g' has missing values in 2 rows"):
        prepare(table, label="y", protected="g")


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ([f"k{i}" for i in range(N)], "48 different values in 48 rows"),
        (list(range(100, 100 + N)), "an identifier"),
        ([f"a long remark about person number {i}" for i in range(N)], "free text"),
        ([[i] for i in range(N)], "nested"),
        ([bytes([i]) for i in range(N)], "binary"),
    ],
)
def test_columns_that_cannot_be_learned_from_are_left_out_with_a_note(column: list[Any], reason: str) -> None:
    found = ready({"odd one": column})
    assert found.feature_names == ["g=b"]
    (note,) = [note for note in found.notes if "cannot learn from" in note]
    assert "'odd one' (" in note
    assert reason in note
    assert ready({"odd one": column}, drop=["odd one"]).feature_names == ["g=b"]


def test_numbers_that_are_spread_out_are_no_identifier() -> None:
    assert "x" in ready({"x": [i * i * 31 for i in range(N)]}).feature_names


def test_a_column_name_with_a_comma_can_be_dropped() -> None:
    columns = {"a,b": [f"k{i}" for i in range(N)], "c": [f"l{i}" for i in range(N)]}
    assert list(ready(columns).encoder.left_out) == ["a,b", "c"]
    assert list(ready(columns, drop=["a,b"]).encoder.left_out) == ["c"]
    assert not ready(columns, drop=["a,b", "c"]).encoder.left_out


def test_infinity_is_refused() -> None:
    with pytest.raises(TableError, match="'x' is infinite in data row 3"):
        ready({"x": [float("inf") if i == 2 else float(i % 5) for i in range(N)]})


@pytest.mark.parametrize("given", ["re\npaid", "re paid", " Re\r\n  paid "])
def test_a_positive_value_with_a_line_break_is_found_as_it_stands_in_the_file(given: str) -> None:
    answers = ["re\npaid" if v else "de\nfault" for v in BASE["y"]]
    assert ready({"y": answers}, positive=given).positive == "re paid"


@pytest.mark.parametrize("given", ["1", "1.0"])
def test_the_positive_value_is_found_as_text_or_number(given: str) -> None:
    assert ready({}, positive=given).positive == "1"
    assert ready({}, positive="0").y.tolist() == [1 - v for v in BASE["y"]]


def test_other_label_values_count_as_negative_once_a_positive_is_named() -> None:
    table = pa.table(
        {"g": BASE["g"], "y": ["hi", "hi", "lo", "mid"] * (N // 4), "x": [i % 5 for i in range(N)]}
    )
    found = prepare(table, label="y", protected="g", positive="HI")
    assert found.y.sum() == N // 2
    assert "count as negative: 'lo', 'mid'" in found.notes[0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_separators_are_found_and_a_byte_order_mark_is_skipped(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufeff" + "a,b\n1,x\n?,\n".replace(",", delimiter), encoding="utf-8")
    assert read_table(path).to_pydict() == {"a": [1, None], "b": ["x", None]}


def test_another_encoding_is_read_when_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,Zürich\n", encoding="latin-1")
    for encoding in (None, "latin-1"):
        assert read_table(path, TableFormat(encoding)).column("b").to_pylist() == ["Zürich"]
    with pytest.raises(TableError, match="byte 0xfc in line 2"):
        read_table(path, TableFormat("utf-8"))


def test_quoted_fields_may_hold_separators_and_newlines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"u,v","x\ny"\n')
    assert read_table(path).to_pydict() == {"a": ["u,v"], "b": ["x\ny"]}


def test_columns_without_a_name_get_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",b\n1,x\n")
    assert read_table(path).column_names == ["(unnamed 1)", "b"]


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    import hashlib

    path = tmp_path / "t.csv"
    path.write_text("g,y\n" + "a,0\nb,0\na,1\nb,1\n" * 5)
    assert file_digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_groups_and_labels_that_differ_in_case_are_one() -> None:
    sex = ["Female", "female", "Male", "Female"] * 10
    paid = [("Yes", "no", "YES", "No", "no")[i % 5] for i in range(40)]
    table = pa.table({"x": list(range(40)), "sex": sex, "paid": paid})
    found = prepare(table, label="paid", protected="sex")
    assert set(found.groups) == {"Female", "Male"}
    assert found.y.sum() == sum(value.lower() == "yes" for value in paid)
    said = " ".join(found.notes)
    assert "'female' is 'Female'" in said
    assert "'YES' and 'Yes'" in said
    # A batch read later is grouped alike; a study that has both spellings keeps them.
    groups = GroupColumns.in_table(table, "sex")
    assert groups.named(groups.codes(pa.record_batch({"sex": ["FEMALE", "male"]}))).tolist() == [
        "Female",
        "Male",
    ]
    both = GroupColumns(("sex",), ("Female", "Male", "female"))
    assert both.codes(pa.record_batch({"sex": ["female", "Female"]})).tolist() == [2, 0]
    assert group_names(table, ["sex"]).tolist()[:2] == ["Female", "Female"]


def test_a_positive_label_may_be_named_in_any_case() -> None:
    notes: list[str] = []
    assert find_positive("paid", ["no", "Yes", "YES", "NO"], "yes", notes) == ("YES", "Yes")
    with pytest.raises(TableError, match="one value only"):
        find_positive("paid", ["Yes", "YES"], None, [])


@pytest.mark.parametrize(("negative", "positive"), sorted(KNOWN_PAIRS))
def test_a_well_known_pair_has_its_good_word_positive(negative: str, positive: str) -> None:
    notes: list[str] = []
    assert find_positive("y", [positive.title(), None, negative.title()], None, notes) == (positive.title(),)
    assert known_positive([negative, positive]) == known_positive([positive, negative]) == positive
    assert "--positive" in notes[0]
    assert not notes[0].startswith(GUESS)


def test_no_pair_is_known_both_ways() -> None:
    assert not {(b, a) for a, b in KNOWN_PAIRS} & KNOWN_PAIRS


def test_an_unknown_pair_is_a_guess_that_is_said_and_a_certificate_makes_none() -> None:
    notes: list[str] = []
    assert find_positive("y", ["on time", "very late"], None, notes) == ("very late",)
    assert notes[0].startswith(GUESS)
    assert "--positive 'on time'" in notes[0]
    with pytest.raises(TableError, match="--positive"):
        find_positive("y", ["on time", "very late"], None, [], guess=False)


def test_both_labels_have_their_names() -> None:
    columns = {"x": np.arange(16.0) % 5, "g": ["a", "b"] * 8}
    two = prepare(
        pa.table({**columns, "y": ["passed", "passed", "failed", "failed"] * 4}), label="y", protected="g"
    )
    assert (two.negative, two.positive) == ("failed", "passed")
    grades = ["a", "a", "b", "c", "b", "c", "a", "a"] * 2
    several = prepare(pa.table({**columns, "y": grades}), label="y", protected="g", positive="a")
    assert (several.negative, several.positive) == ("not a", "a")
