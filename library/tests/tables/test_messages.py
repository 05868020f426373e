"""Mistakes that were once met with a traceback: each message names what is wrong, and the remedy."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairask import CalibratedFairOracle, EmpiricalFairOracle, FairActiveLearner
from fairask.datasets import load, pull
from fairask.datasets.catalog import DatasetNotFound, DownloadError
from fairask.errors import MissingExtra, UserError
from library.tests.tables.comments import comments

N = 60
SEX = np.array(["f", "m"] * (N // 2))
Y = np.arange(N) // 2 % 2


def frame() -> pd.DataFrame:
    return pd.DataFrame({"note": comments(N)["comment"].to_pylist(), "x": np.arange(N) % 7, "sex": SEX})


def test_a_text_column_without_an_estimator_is_read() -> None:
    learner = FairActiveLearner(frame(), "sex")
    assert learner.columns_ is not None
    assert learner.columns_.names == ("note", "x")


def test_sparse_features_are_read() -> None:
    from scipy.sparse import csr_array

    assert FairActiveLearner(csr_array(np.eye(N)), SEX).pool.X.format == "csr"


def test_a_polars_frame_with_a_pipeline_is_read() -> None:
    model = EmpiricalFairOracle(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0)
    X = pl.from_pandas(frame()[["x"]])
    assert model.fit(X, Y, sensitive_features=SEX).predict(X).shape == (N,)


MISTAKES: dict[str, tuple[Any, Any, Any, str, str]] = {
    "a list of texts": (["a", "b"] * 30, Y, SEX, "X is a list of texts", "give X as a data frame"),
    "texts in an array": (frame().to_numpy(), Y, SEX, "the column 0 of X holds texts", "data frame"),
    "a continuous label": (np.eye(N), np.linspace(0, 1, N), SEX, "y holds 60 different numbers", "y > 0.5"),
    "two columns of groups": (np.eye(N), Y, frame()[["x", "sex"]], "must be one-dimensional", "list(zip("),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_named_with_its_remedy(case: str) -> None:
    X, y, groups, what, remedy = MISTAKES[case]
    with pytest.raises(ValueError, match=re.escape(what)) as caught:
        EmpiricalFairOracle().fit(X, y, sensitive_features=groups)
    assert remedy in str(caught.value)


def test_panda_without_torch_is_refused_before_a_label_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra) as caught:
        FairActiveLearner(np.eye(N), SEX, strategy="panda")
    assert (caught.value.what, caught.value.remedy) == (
        "strategy 'panda' needs PyTorch", "pip install 'fairask[panda]'",
    )  # fmt: skip
    assert isinstance(caught.value, UserError | ImportError)
    assert pickle.loads(pickle.dumps(caught.value)).remedy == caught.value.remedy


def test_absent_tables_and_downloads_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("FAIRASK_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRASK_DATA", raising=False)
    with pytest.raises(DatasetNotFound) as absent:
        load("drug")
    assert isinstance(absent.value, UserError)
    assert absent.value.what == "the drug table is not on this machine"
    assert "fairask datasets pull drug" in absent.value.remedy
    monkeypatch.setenv("FAIRASK_DATA_URL", "http://127.0.0.1:1")
    with pytest.raises(DownloadError) as broken:
        pull("drug")
    assert isinstance(broken.value, UserError)
    assert "cannot be reached" in broken.value.what
    assert "Nothing was changed" in broken.value.remedy
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtra, match=r"downloading tables needs pooch; pip install 'fairask\[bench\]'"):
        pull("drug")


def levels() -> pd.DataFrame:
    out = frame()
    out.columns = pd.MultiIndex.from_product([["all"], out.columns])
    return out


FRAMES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "not read yet": (lambda: pl.from_pandas(frame()).lazy(), "X is a LazyFrame", "collect"),
    "names of several levels": (levels, "names of several levels", "join them"),
    "a name twice": (
        lambda: pd.concat([frame(), frame()[["x"]]], axis=1), "more than one column 'x'", "Rename"
    ),
    "a sparse column": (
        lambda: frame().assign(x=pd.arrays.SparseArray(np.arange(N))), "Sparse pandas data", "sparse"
    ),
    "numbers and texts": (lambda: frame().assign(m=[1, "a"] * (N // 2)), "column m", "of one type"),
}  # fmt: skip


@pytest.mark.parametrize("case", FRAMES)
def test_a_frame_that_cannot_be_used_is_named(case: str) -> None:
    make, what, remedy = FRAMES[case]
    for use in (
        lambda X: FairActiveLearner(X, "sex"),
        lambda X: EmpiricalFairOracle(sensitive_features="sex").fit(X, Y),
    ):
        with pytest.raises(UserError, match=re.escape(what)) as caught:
            use(make())
        assert remedy in str(caught.value)


def test_gaps_in_groups_and_other_labels_are_named() -> None:
    for kind in (EmpiricalFairOracle, CalibratedFairOracle):
        oracle = kind(sensitive_features="sex")
        with pytest.raises(ValueError, match="sensitive_features has missing values"):
            oracle.fit(frame().assign(sex=[None, *SEX[1:]]), Y)
    learner = FairActiveLearner(frame(), "sex")
    rows = learner.ask().indices
    with pytest.raises(UserError, match=r"'good' of row .* the positive one last: classes="):
        learner.tell(rows, ["good"] * len(rows))
