"""Data frames of several libraries go straight into learners and oracles, and models take them back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fairask import CalibratedFairOracle, EmpiricalFairOracle, FairActiveLearner
from fairask.errors import ColumnWarning, UserError
from fairask.tables import Encoder
from library.tests.tables.comments import comments

pytestmark = [
    pytest.mark.usefixtures("few_trees"),
    pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning"),
    pytest.mark.filterwarnings("ignore::fairask.errors.InterpolationWarning"),
    pytest.mark.filterwarnings("ignore::fairask.errors.DisagreementWarning"),
    pytest.mark.filterwarnings("ignore::fairask.errors.ConstantWarning"),
]
N = 160
Y = np.arange(N) // 2 % 2


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": np.where(np.arange(N) % 9 == 0, np.nan, rng.normal(size=N) + Y),
            "job": pd.Categorical(rng.choice(["clerk", "cook", "nurse"], N)),
            "member": rng.random(N) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "note": comments(N)["comment"].to_pylist(),
            "age": rng.integers(18, 80, N),
            "sex": np.array(["f", "m"])[np.arange(N) % 2],
        }
    )


LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def taught(frame: Any, groups: Any, **settings: Any) -> FairActiveLearner:
    settings = {"estimator": "linear", "batch_size": 60, "random_state": 0} | settings
    learner = FairActiveLearner(frame, groups, **settings)
    query = learner.ask()
    learner.tell(query.indices, Y[query.indices])
    return learner


def select(frame: Any, names: list[str]) -> Any:
    return frame.select(names) if isinstance(frame, pa.Table) else frame[names]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_goes_in_and_the_model_takes_it_back_in_any_order(library: str) -> None:
    frame = LIBRARIES[library](people())
    learner = taught(frame, "sex")
    assert learner.groups_ == ["f", "m"]
    model = learner.model_
    assert list(model.feature_names_in_) == ["income", "job", "member", "since", "note", "age"]
    assert isinstance(learner.columns_ and learner.columns_.encoder, Encoder)
    said = model.predict_proba(frame)
    sex = people()["sex"].to_numpy()
    np.testing.assert_array_equal(said, model.predict_proba(learner.pool.X, sensitive_features=sex))
    np.testing.assert_array_equal(said, model.predict_proba(select(frame, list(people())[::-1])))
    assert (model.predict(frame) == Y).mean() > 0.5
    with pytest.raises(UserError, match="X has no column 'job', which the model was fitted on"):
        model.predict(select(frame, ["income", "member", "since", "note", "age", "sex"]))
    with pytest.raises(UserError, match="no column 'sex'"):
        model.predict(select(frame, list(model.feature_names_in_)))
    with pytest.raises(ValueError, match=r"X has 3 features, the model has \d+; give a data frame"):
        model.predict(np.zeros((2, 3)), sensitive_features=["f", "m"])


def test_all_libraries_give_the_same_features_and_the_same_draws() -> None:
    learners = [taught(make(people()), "sex") for make in LIBRARIES.values()]
    for other in learners[1:]:
        np.testing.assert_array_equal(other.pool.X, learners[0].pool.X)
        assert (
            other.ask().indices.tolist() == learners[0].with_state(learners[0].state).ask().indices.tolist()
        )


def test_several_protected_columns_and_bands_are_named() -> None:
    frame = people()
    learner = taught(frame, ["sex", "age:45"])
    assert learner.groups_ == [("f", "45 or more"), ("f", "under 45"), ("m", "45 or more"), ("m", "under 45")]
    assert "age" not in learner.model_.feature_names_in_
    assert learner.model_.predict(frame.iloc[:5]).shape == (5,)


def test_a_blind_model_needs_no_protected_column() -> None:
    frame = people()
    model = taught(frame, "sex", blind=True).model_
    assert (model.predict(frame.drop(columns="sex")) == model.predict(frame)).all()


def test_a_series_is_found_again_by_its_name_and_stays_a_feature() -> None:
    frame = people()
    model = taught(frame, frame["sex"]).model_
    assert "sex" in model.feature_names_in_
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame, sensitive_features=frame["sex"]))


def test_frames_of_numbers_are_used_as_they_are() -> None:
    frame = people()[["age", "member"]]
    learner = taught(frame, people()["sex"].to_numpy())
    np.testing.assert_array_equal(learner.pool.X, frame.to_numpy(dtype=float))
    sex = people()["sex"]
    shown = learner.model_.predict_proba(frame[["member", "age"]], sensitive_features=sex)
    np.testing.assert_array_equal(shown, learner.model_.predict_proba(learner.pool.X, sensitive_features=sex))


@pytest.mark.parametrize("estimator", ["linear", "pipeline"])
def test_a_saved_learner_still_takes_frames(estimator: str, tmp_path: Path) -> None:
    frame, given = people(), {}
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]))
    if estimator == "pipeline":
        given = {"estimator": make_pipeline(encode, LogisticRegression())}
    learner = taught(frame, "sex", **given)
    learner.save(tmp_path / "l.fairask")
    again = FairActiveLearner.load(tmp_path / "l.fairask", **given, **({"X": frame} if given else {}))
    np.testing.assert_array_equal(again.model_.predict_proba(frame), learner.model_.predict_proba(frame))


@pytest.mark.parametrize("oracle", [EmpiricalFairOracle, CalibratedFairOracle])
def test_oracles_encode_frames_too(oracle: type) -> None:
    frame = people()
    model = oracle(sensitive_features="sex", random_state=0).fit(frame, Y)
    assert list(model.feature_names_in_) == list(frame)
    other = pl.from_pandas(frame[list(frame)[::-1]])
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))
    apart = oracle(random_state=0).fit(frame.drop(columns="sex"), Y, sensitive_features=frame["sex"])
    np.testing.assert_array_equal(
        apart.predict_proba(frame, sensitive_features=frame["sex"]), model.predict_proba(frame)
    )


def test_an_oracle_encodes_as_the_pool_says() -> None:
    frame = people()
    frame["job"] = np.where(np.arange(N) < 150, "clerk", "cook")  # the labelled rows have one job only
    model = CalibratedFairOracle("linear", random_state=0)
    model.fit(frame[:140], Y[:140], frame["sex"][:140], pool=(frame, frame["sex"]))
    assert "job=cook" in model.columns_.encoder.feature_names_out


MISTAKES: list[tuple[Any, Any, str]] = [
    (["a text", "another"], ["f", "m"], "X is a list of texts, .*give X as a data frame"),
    (np.array([[1, "a"], [2, "b"]], dtype=object), ["f", "m"], "column 1 of X holds texts.*data frame"),
    (pd.DataFrame({0: [1, 2], 1: ["a", "b"]}), ["f", "m"], "column 1 of X holds texts.*data frame"),
    (pl.LazyFrame({"a": [1, 2]}), ["f", "m"], "X is a LazyFrame.*collect.*open_pool"),
    (np.eye(2), "sex", "sensitive_features='sex' names a column, but X has no column names"),
    (pd.DataFrame({"sex": ["f", "m"]}), "sex", "X has no column besides the protected ones"),
    (pd.DataFrame({"a": [1, 2], "sex": ["f", "m"]}), "sax", "no column 'sax'; Did you mean 'sex'"),
    (np.eye(2), [["f", "x"], ["m", "y"]], "sensitive_features must be one-dimensional.*zip"),
]


@pytest.mark.parametrize(("X", "groups", "message"), MISTAKES)
def test_what_cannot_be_used_is_named_with_a_remedy(X: Any, groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FairActiveLearner(X, groups)


def test_columns_that_cannot_train_are_left_out_with_a_warning() -> None:
    frame = people().assign(code=[f"c{i}" for i in range(N)])
    with pytest.warns(
        ColumnWarning, match="cannot learn from 'code' .more than 100 different values in 160 rows"
    ):
        FairActiveLearner(frame, "sex")
