"""From the pool's columns to the learner's matrix: a scikit-learn transformer kept with the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairask.pools import Encoder
from fairask.pools.encode import Levels
from fairask.study._errors import StudyError
from fairask.study.config import ColumnInfo, Config

__all__ = ["feature_columns", "group_values", "make_encoder", "raw_matrix", "standard_encoder"]

MISSING = ""


def feature_columns(config: Config) -> list[ColumnInfo]:
    """Columns the model learns from, in order."""
    roles = ("feature", "protected") if config.use_protected else ("feature",)
    return [column for column in config.columns if column.role in roles]


def raw_matrix(table: Any, columns: Sequence[ColumnInfo]) -> NDArray[Any]:
    """The columns as an object matrix: numbers as floats with NaN, text as str with '' where missing.

    Examples
    --------
    >>> table = pa.table({"age": [30, None], "job": ["a", None]})
    >>> raw_matrix(table, [ColumnInfo("age", "number"), ColumnInfo("job", "text")]).tolist()
    [[30.0, 'a'], [nan, '']]
    """
    matrix = np.empty((table.num_rows, len(columns)), dtype=object)
    for i, column in enumerate(columns):
        cells = table.column(column.name)
        if column.kind == "number":
            values = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
            matrix[:, i] = np.where(np.isfinite(values), values, np.nan)
        else:
            matrix[:, i] = [MISSING if v is None else str(v) for v in cells.to_pylist()]
    return matrix


def make_encoder(columns: Sequence[ColumnInfo]) -> Pipeline:
    """Numbers: missing is the median and a mark, then standardised. Text: one-hot less the first level."""
    numbers = [i for i, column in enumerate(columns) if column.kind == "number"]
    texts = [i for i, column in enumerate(columns) if column.kind == "text"]
    number = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    text = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    parts = [("number", number, numbers), ("text", text, texts)]
    encode = ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)
    return Pipeline([("columns", encode), ("constant", VarianceThreshold())])


def standard_encoder(columns: Sequence[ColumnInfo], encoder: Encoder) -> Pipeline:
    """A streamed pool's encoder in scikit-learn's own classes, to be kept with a model.

    It takes what :func:`raw_matrix` gives. Its steps are fitted on a few made-up rows that have the means,
    scales and levels found in the pool; features agree up to the rounding of single precision.

    Examples
    --------
    >>> from fairask.pools.encode import Levels, Number
    >>> columns = [ColumnInfo("job", "text"), ColumnInfo("age", "number")]
    >>> found = Encoder((Number("age", 40.0, 10.0), Levels("job", ("a", "b"))), "all rows")
    >>> standard_encoder(columns, found).transform(np.array([["b", 50.0]], dtype=object)).tolist()
    [[1.0, 1.0]]
    """
    place = {column.name: i for i, column in enumerate(columns)}
    texts = [part for part in encoder.parts if isinstance(part, Levels)]
    numbers = [part for part in encoder.parts if not isinstance(part, Levels)]
    rows = 2 * max([1, *(len(part.levels) for part in texts)])
    made_up = np.empty((rows, len(columns)), dtype=object)
    for number in numbers:
        made_up[:, place[number.name]] = [number.mean - number.scale, number.mean + number.scale] * (
            rows // 2
        )
    for text in texts:
        made_up[:, place[text.name]] = [text.levels[i % len(text.levels)] for i in range(rows)]
    levels = OneHotEncoder(
        categories=[list(text.levels) for text in texts],
        drop="first",
        handle_unknown="ignore",
        sparse_output=False,
    )
    parts = [
        ("number", make_pipeline(SimpleImputer(), StandardScaler()), [place[part.name] for part in numbers]),
        ("text", levels, [place[part.name] for part in texts]),
    ]
    encode = ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)
    return Pipeline([("columns", encode)]).fit(made_up)


def encode(table: Any, config: Config) -> tuple[NDArray[np.float64], Pipeline]:
    """The learner's matrix of the pool, and the fitted encoder."""
    columns = feature_columns(config)
    encoder = make_encoder(columns)
    try:
        X = encoder.fit_transform(raw_matrix(table, columns))
    except ValueError as error:
        raise StudyError(f"the pool's columns hold nothing to learn from: {error}") from error
    return np.ascontiguousarray(X, dtype=np.float64), encoder


def group_values(table: Any, protected: str) -> list[str]:
    """The group of each row, as text; a missing one is refused, since nobody may be left out unseen."""
    cells = table.column(protected)
    if cells.null_count:
        raise StudyError(
            f"column {protected!r} is empty in {cells.null_count} rows; name their group or leave them out"
        )
    groups = [str(value) for value in cells.to_pylist()]
    different = len(set(groups))
    if not 2 <= different <= 50:
        raise StudyError(f"column {protected!r} has {different} different values; 2 to 50 groups are needed")
    return groups
