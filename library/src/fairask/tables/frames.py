"""Data frames of any library that narwhals knows: pandas, polars, pyarrow and others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import _get_feature_names

from fairask.metrics import Matrix
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow, optional


def column_names(X: Matrix) -> list[str] | None:
    """Return the names of a data frame's columns; None where there are none, as in an array.

    Examples
    --------
    >>> column_names([[1.0, 2.0]]) is None
    True
    """
    if type(X).__module__.startswith("pandas") and np.ndim(X) == 2 and X.columns.has_duplicates:
        twice = X.columns[X.columns.duplicated()][0]
        raise TableError(f"the data frame has more than one column {twice!r}", "Rename one of them")
    names = _get_feature_names(X)
    return None if names is None else [str(name) for name in names]


def frame_table(frame: Arrow, columns: Sequence[str] | None = None) -> Arrow:
    """Return a data frame, or some of its columns, as a pyarrow table.

    Examples
    --------
    >>> import polars
    >>> frame_table(polars.DataFrame({"a": [1, 2], "b": ["x", None]})).to_pydict()
    {'a': [1, 2], 'b': ['x', None]}
    """
    pa = optional("pyarrow", "parquet")
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    nw = optional("narwhals", "parquet")
    try:
        known = nw.maybe_reset_index(nw.from_native(frame))
    except TypeError as error:
        raise TableError(
            f"a {type(frame).__name__} is not a data frame",
            "Give pandas, polars, pyarrow or a mapping of columns",
        ) from error
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    names = [str(name) for name in known.columns]
    if columns is not None:
        gone = [name for name in columns if name not in names]
        if gone:
            raise TableError(
                f"the data frame has no column {gone[0]!r}", f"Give columns {', '.join(map(repr, columns))}"
            )
        known = known.select(list(columns))
    try:
        return known.to_arrow()
    except (pa.ArrowException, TypeError) as error:
        # pandas' sparse columns are a TypeError of pyarrow.
        why = "; ".join(map(str, error.args))
        raise TableError(
            f"the data frame cannot be used: {why}",
            "Give columns of one type each, none of them sparse",
        ) from error
