"""An exported model checks what it is given: the column is named, and rows without a group are told apart."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairask.errors import InputWarning, TableError, UserError
from fairask_studio import Study, TableModel, load_model

N = 80
POOL = pd.DataFrame(
    {
        "income": [f"${20_000 + 731 * i % 60_000:,}.00" for i in range(N)],
        "since": [f"{1 + i % 12}/{1 + i % 28}/202{i % 4}" for i in range(N)],
        "job": [("nurse", "cook", "clerk")[i % 3] for i in range(N)],
        "sex": ["f", "m"] * (N // 2),
    }
)


@pytest.fixture(scope="module", params=[False, True], ids=["blind", "by group"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TableModel:
    """A model as it is exported from a study of a CSV file, and read back."""
    folder = tmp_path_factory.mktemp("model")
    POOL.to_csv(folder / "pool.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Study.create(
            folder / "s", folder / "pool.csv", protected="sex", use_protected=request.param, budget=60,
            batch_size=60, random_state=0, strategy="passive",
        )  # fmt: skip
        with made as study:
            rows = study.ask()
            study.tell(rows, [str(int(731 * row % 60_000 > 25_000)) for row in rows])
            study.refit()
            study.export(folder / "out")
    return load_model(folder / "out" / "model.skops")


def test_the_cells_of_the_file_mean_the_same_in_a_frame(model: TableModel) -> None:
    said = model.predict(POOL)
    assert said.tolist() == model.predict(pl.from_pandas(POOL)).tolist()
    for row in (0, 2, 3):  # 1/1/2020 and 3/3/2022 do not tell day and month apart; the file did
        assert model.predict(POOL.iloc[[row]])[0] == said[row]
    assert model.predict(POOL.astype({"job": "category", "income": "category"})).tolist() == said.tolist()


def test_a_column_that_means_something_else_is_refused_by_name(model: TableModel) -> None:
    days = POOL.assign(since=np.arange(19_000, 19_000 + N))
    with pytest.raises(TableError, match="column 'since' holds numbers, and held dates"):
        model.predict(days)
    with pytest.raises(TableError, match="column 'income' holds dates, and held numbers"):
        model.predict(POOL.assign(income=pd.to_datetime("2024-01-01")))
    with pytest.raises(TableError, match="column 'income' holds 'a lot', which is not a number"):
        model.predict(POOL.assign(income=["a lot", *POOL["income"][1:]]))
    with pytest.raises(UserError, match="X has no column 'job'"):
        model.predict(POOL.drop(columns="job"))
    with pytest.raises(TableError, match=r"column '.*' is one value, .*; Give a list for each column"):
        model.predict(POOL.iloc[0].to_dict())


def test_values_unlike_those_of_the_fit_are_named_in_a_warning(model: TableModel) -> None:
    paid = POOL["income"].str.replace(r"[$,]", "", regex=True).astype(float)
    for factor in (0.001, 1000.0):
        with pytest.warns(InputWarning, match="column 'income': 80 of 80 known values are (below|above)"):
            model.predict(POOL.assign(income=paid * factor))
    with pytest.warns(InputWarning, match="column 'income': 1 of 1 known values are above"):
        model.predict(POOL.assign(income=paid * 1000).iloc[[3]])
    with pytest.warns(
        InputWarning, match=r"column 'job': 80 of 80 known values are none of its 3 categories"
    ):
        model.predict(POOL.assign(job="NURSE"))
    with pytest.warns(InputWarning, match="column 'income': all 80 values are missing, and some were known"):
        model.predict(POOL.assign(income=np.nan))
    with pytest.warns(InputWarning, match="column 'income': 60 of 80 values are missing, and none was"):
        model.predict(POOL.assign(income=[*[None] * 60, *POOL["income"][60:]]))
    with pytest.warns(InputWarning, match="column 'income': 2. of 80 known values are above"):
        model.predict(POOL.assign(income=paid + 20_000))
    model.predict(POOL.iloc[:30])  # warnings are errors: like rows make none
    model.predict(POOL.assign(job=["baker", *POOL["job"][1:]]))


def test_a_row_without_a_group_is_told_apart_and_stops_nothing(model: TableModel) -> None:
    rows = POOL.assign(sex=[None, "x", *POOL["sex"][2:]])
    if not model.oracle.needs_groups:
        assert model.predict(rows).tolist() == model.predict(POOL).tolist()
        return
    with pytest.warns(
        InputWarning, match=r"2 of 80 rows have none of the model's groups in 'sex'.*rows 0, 1"
    ):
        said = model.predict(rows)
    assert said[:2].tolist() == [None, None]
    assert said[2:].tolist() == model.predict(POOL)[2:].tolist()
    with pytest.warns(InputWarning):
        chances = model.predict_proba(rows)
    assert chances.shape == (N, 2)
    assert np.isnan(chances[:2]).all()
    np.testing.assert_array_equal(chances[2:], model.predict_proba(POOL)[2:])
    with pytest.warns(InputWarning):
        assert model.predict(rows.iloc[:1]).tolist() == [None]
    with pytest.warns(InputWarning):
        assert model.score(rows, model.predict(POOL)) == 1.0
    with pytest.raises(UserError, match="no column 'sex'"):
        model.predict(POOL.drop(columns="sex"))


def test_what_the_study_said_of_columns_is_kept(tmp_path: Path) -> None:
    """A column that looks like an identifier is named with the way to keep it, and is kept."""
    ids = {"age": [121 + i for i in range(N)], "x": [i % 7 for i in range(N)], "sex": ["f", "m"] * (N // 2)}
    with Study.create(tmp_path / "a", pa.table(ids), protected="sex", budget=5) as study:
        assert "--keep age learns from it" in study.encoder.left_out["age"]
    with Study.create(tmp_path / "b", pa.table(ids), protected="sex", budget=5, keep=["age"]) as study:
        assert study.encoder.columns == ["age", "x"]
