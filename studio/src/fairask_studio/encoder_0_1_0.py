"""The encoder of studies that version 0.1.0 made: their models were fitted on what it gives."""

from __future__ import annotations

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

from fairask_studio.config import Config


class FirstEncoder:
    """Numbers with medians and marks where missing, texts as levels less the first, constants left out.

    Examples
    --------
    >>> from fairask_studio.config import ColumnInfo
    >>> columns = (ColumnInfo("age", "number"), ColumnInfo("job", "text"))
    >>> table = pa.table({"age": [30, None, 40], "job": ["a", "b", "a"]})
    >>> FirstEncoder(table, Config.make(protected="sex", columns=columns)).feature_names_out
    ['age', 'age is missing', 'job=b']
    """

    def __init__(self, table: Any, config: Config) -> None:
        roles = ("feature", "protected") if config.use_protected else ("feature",)
        self._columns = [column for column in config.columns if column.role in roles]
        self.columns = [column.name for column in self._columns]
        numbers = [i for i, column in enumerate(self._columns) if column.kind == "number"]
        texts = [i for i, column in enumerate(self._columns) if column.kind == "text"]
        number = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        text = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
        parts = [part for part in (("number", number, numbers), ("text", text, texts)) if part[2]]
        encode = ColumnTransformer(parts, sparse_threshold=0.0)
        #: The scikit-learn transformer that an exported model holds.
        self.pipeline = Pipeline([("columns", encode), ("constant", VarianceThreshold())])
        self.pipeline.fit(self._matrix(table))

    @property
    def feature_names_out(self) -> list[str]:
        """Names of the features, in the form that :class:`fairask.tables.Encoder` has them."""
        names = []
        for name in self.pipeline.get_feature_names_out():
            rest = str(name).partition("__")[2]
            number, _, level = rest.removeprefix("missingindicator_").lstrip("x").partition("_")
            column = self.columns[int(number)]
            mark = " is missing" if rest.startswith("missingindicator_") else f"={level}" if level else ""
            names.append(column + mark)
        return names

    def transform(self, table: Any) -> NDArray[np.float64]:
        """Encode a table."""
        return np.ascontiguousarray(self.pipeline.transform(self._matrix(table)), dtype=np.float64)

    def _matrix(self, table: Any) -> NDArray[np.object_]:
        """Columns as objects: numbers as floats with NaN, texts with '' where missing."""
        matrix = np.empty((table.num_rows, len(self._columns)), dtype=object)
        for i, column in enumerate(self._columns):
            cells = table.column(column.name)
            if column.kind == "number":
                values = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
                matrix[:, i] = np.where(np.isfinite(values), values, np.nan)
            else:
                matrix[:, i] = ["" if v is None else str(v) for v in cells.to_pylist()]
        return matrix


def first_group_names(table: Any, protected: str) -> list[str]:
    """Return the group of each row as version 0.1.0 named it: 1.0 is "1.0", and an empty text is a group."""
    return [str(value) for value in table.column(protected).to_pylist()]
