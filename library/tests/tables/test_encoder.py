"""One encoder: the same features of a table, a batch, a frame, a mapping and a matrix."""

from __future__ import annotations

import datetime
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairask.errors import InputWarning, TableError
from fairask.tables import Encoder, fit_encoder

N = 3000


def people() -> pa.Table:
    rng = np.random.default_rng(5)
    income = rng.lognormal(10, 1, N)
    income[::7] = np.nan
    jobs = np.array(["clerk", " smith ", "none", None, ""], dtype=object)[rng.integers(5, size=N)]
    return pa.table(
        {
            "income": pa.array(income, from_pandas=True),
            "small": pa.array(rng.normal(size=N), pa.float32()),
            "age": rng.integers(18, 90, N),
            "flag": pa.array([None if i % 11 == 0 else i % 3 == 0 for i in range(N)]),
            "since": pa.array(rng.integers(9000, 9999, N), pa.int32()).cast(pa.date32()),
            "at": [datetime.datetime(2020, 1, 1, int(h)) for h in rng.integers(0, 24, N)],
            "job": pa.array(jobs).dictionary_encode(),
            "bonus": pa.array([1 if i % 4 else None for i in range(N)]),
            "country": ["x"] * N,
            "nothing": pa.nulls(N),
            "customer": rng.permutation(N) + 10**6,
            "name": [f"person {i}" for i in range(N)],
            "tags": [[i] for i in range(N)],
        }
    )  # fmt: skip


TABLE = people()


def test_every_kind_of_column_becomes_what_it_should() -> None:
    encoder = fit_encoder(TABLE)
    assert encoder.feature_names_out == [
        "income", "income is missing", "small", "age", "flag", "flag is missing", "since", "at",
        "job=none", "job=smith", "job is missing", "bonus is missing",
    ]  # fmt: skip
    assert encoder.left_out == {
        "country": "one value only",
        "nothing": "one value only",
        "customer": "an identifier: 3,000 different whole numbers; --keep customer learns from it",
        "name": "more than 100 different values in 3,000 rows; --text name learns from their words",
        "tags": "nested values (list<item: int64>)",
    }
    X = encoder.transform(TABLE)
    assert X.dtype == np.float64
    for name in ("income", "small", "age", "flag", "since", "at"):
        feature = X[:, encoder.feature_names_out.index(name)]
        assert abs(feature.sum() / N) < 1e-5
        known = feature[feature != 0.0]
        assert 0.99 < np.square(known).mean() < 1.01
    missing = X[:, encoder.feature_names_out.index("income is missing")]
    assert missing.tolist() == [float(i % 7 == 0) for i in range(N)]
    assert (X[:, 0][missing == 1] == 0.0).all(), "a missing number is the mean"


@pytest.mark.parametrize("size", [7, 101, 1500])
def test_the_encoder_does_not_depend_on_how_the_rows_are_cut(size: int) -> None:
    assert fit_encoder(pa.Table.from_batches(TABLE.to_batches(max_chunksize=size))) == fit_encoder(TABLE)


def test_a_batch_in_single_precision_agrees_with_the_table_in_double() -> None:
    encoder = fit_encoder(TABLE)
    single = np.concatenate([encoder(batch) for batch in TABLE.to_batches(max_chunksize=77)])
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, encoder.transform(TABLE), atol=2e-6)


def test_a_table_a_frame_a_mapping_and_a_matrix_give_the_same() -> None:
    encoder = fit_encoder(TABLE)
    expected = encoder.transform(TABLE)
    columns = TABLE.select(encoder.columns)
    plain = columns.to_pydict()
    matrix = np.array(list(plain.values()), dtype=object).T
    given: list[Any] = [columns.to_batches()[0], plain, matrix, matrix.tolist(), columns.to_pandas()]
    for data in given:
        np.testing.assert_allclose(encoder.transform(data), expected, atol=1e-9)


def test_levels_and_missing_values_that_were_not_seen_have_no_feature() -> None:
    encoder = fit_encoder(pa.table({"x": [1.0, 3.0], "job": ["a", "b"]}))
    with pytest.warns(InputWarning, match="column 'job': 1 of 1 known values are none of its 2 categories"):
        X = encoder.transform({"x": [None, 2.0], "job": ["c", None]})
    assert X.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(TableError, match="shape"):
        encoder.transform(np.zeros((2, 3)))
    with pytest.raises(TableError, match="has no column 'job'"):
        encoder.transform(pd.DataFrame({"x": [1.0]}))


@pytest.mark.parametrize(
    "value", ["2024-05-01", datetime.date(2024, 5, 1), True, 7, 1234567.25, "$1,200", "k"]
)
def test_a_column_of_one_value_and_gaps_is_like_itself(value: object) -> None:
    """The warning of other values stood also for the table of the fit."""
    table = pa.table({"x": np.arange(100.0), "once": [value, None] * 50})
    encoder = fit_encoder(table)
    assert encoder.feature_names_out == ["x", "once is missing"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.transform(table)[:, 1].tolist() == [0.0, 1.0] * 50


def test_the_encoder_goes_through_json_and_pickle() -> None:
    encoder = fit_encoder(TABLE)
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder
    assert pickle.loads(pickle.dumps(encoder)) == encoder


@pytest.mark.parametrize("n", [600, 5000, 200_000])
def test_identifiers_are_told_from_other_whole_numbers(n: int) -> None:
    rng = np.random.default_rng(n)
    columns = {
        "count": rng.permutation(n),
        "client_id": rng.permutation(n) * 977,
        "spread": rng.permutation(n) * 977,
        "year": rng.integers(1950, 2020, n),
        "drawn": rng.integers(0, n, n),
    }
    found = fit_encoder(pa.table(columns))
    assert list(found.left_out) == ["count", "client_id"]


def test_a_column_that_was_asked_for_and_cannot_train_is_refused() -> None:
    with pytest.raises(TableError, match="'name' cannot be a feature: more than 100"):
        fit_encoder(TABLE, required=["name"])
    with pytest.raises(TableError, match=r"no column is left to learn from \('country': one value only\)"):
        fit_encoder(TABLE, ["country"])


def test_a_column_that_had_gaps_and_is_empty_now_is_named() -> None:
    encoder = fit_encoder(pa.table({"income": [1.5, None, 2.5, 4.0] * 10, "job": ["a", None, "b", "c"] * 10}))
    with pytest.warns(InputWarning) as told:
        encoder.transform({"income": [None] * 40, "job": [None] * 40})
    said = str(told[0].message)
    assert "column 'income': all 40 values are missing" in said
    assert "column 'job': all 40 values are missing" in said
    encoder.transform({"income": [1.5] + [None] * 39, "job": ["a"] + [None] * 39})


def test_gaps_are_read_alike_in_every_type_of_text() -> None:
    words = ["clerk", "nurse", " ?", "clerk"] * 10
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        table = pa.table({"job": pa.array(words).cast(kind), "x": np.arange(40.0)})
        encoder = fit_encoder(table)
        assert encoder.feature_names_out == ["job=nurse", "job is missing", "x"], kind
        assert encoder.transform(table)[:3, :2].tolist() == [[0, 0], [1, 0], [0, 1]], kind


def test_a_mapping_without_a_column_is_refused_by_its_name() -> None:
    with pytest.raises(TableError, match="there is no column 'job'"):
        fit_encoder(pa.table({"job": ["a", "b"] * 20, "x": np.arange(40.0)})).transform({"x": [1.0]})
