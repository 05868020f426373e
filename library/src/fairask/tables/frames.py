"""The columns of a data frame by name: which are features, in which order, and which say the group."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fairask.errors import ColumnWarning, UserError, suggest
from fairask.metrics import Matrix
from fairask.tables.arrow import Arrow, column_names, frame_table
from fairask.tables.cells import is_number
from fairask.tables.encoder import Encoder, fit_encoder
from fairask.tables.groups import GroupColumns, protected_columns


def series_name(values: object) -> str | None:
    """Return the name of a pandas or polars series; None where there is none, as in an array.

    >>> import polars
    >>> series_name(polars.Series("sex", ["f", "m"])), series_name(["f", "m"])
    ('sex', None)
    """
    if isinstance(values, list | tuple | np.ndarray):
        return None
    # A series of pandas or polars has a name and a dtype; neither library is a dependency.
    name = getattr(values, "name", None) if hasattr(values, "dtype") else None
    return name if isinstance(name, str) and name else None


def arranged(X: Matrix, names: Sequence[str] | None) -> Matrix:
    """Return the columns with these names, in this order; anything without names as it is."""
    given = column_names(X)
    if names is None or given is None or given == list(names):
        return X
    missing = [name for name in names if name not in given]
    if missing:
        raise UserError(
            f"X has no column {missing[0]!r}, which the model was fitted on"
            + (f" ({len(missing)} are missing: {', '.join(missing)})" if len(missing) > 1 else ""),
            suggest(missing[0], given),
        )
    return _selected(X, names)


def _selected(X: Matrix, names: Sequence[str]) -> Matrix:
    """Return some columns of a data frame; pyarrow's tables are the only ones not indexed by a list."""
    return X.select(list(names)) if type(X).__module__.startswith("pyarrow") else X[list(names)]


def split_column(X: Matrix, column: str | int) -> tuple[Matrix, NDArray[np.generic]]:
    """Return a table without one of its columns, and that column.

    >>> rest, groups = split_column(np.array([[1, 7], [2, 8]]), 1)
    >>> rest.tolist(), groups.tolist()
    ([[1], [2]], [7, 8])
    """
    names = column_names(X)
    if names is not None:
        name = names[column] if isinstance(column, int) else column
        if name not in names:
            raise UserError(f"sensitive_features={name!r} is not a column of X", suggest(name, names))
        return _selected(X, [other for other in names if other != name]), np.asarray(X[name])
    if isinstance(column, str):
        refuse_nameless(X)
        raise UserError(
            f"sensitive_features={column!r} names a column, but X has no column names",
            "give X as a data frame, or the column's position",
        )
    rows: Matrix = X.tocsc() if issparse(X) else np.asarray(X)
    if rows.ndim != 2 or not -rows.shape[1] <= column < rows.shape[1]:
        raise UserError(
            f"sensitive_features={column} is not a column of X, which has shape {rows.shape}",
            "give a position from 0 on",
        )
    kept = np.delete(np.arange(rows.shape[1]), column)
    if issparse(rows):
        return rows[:, kept].tocsr(), rows[:, [column]].toarray().ravel()
    return rows[:, kept], rows[:, column]


def refuse_nameless(X: Matrix) -> None:
    """Raise for a data frame whose columns have no plain names: one that is not read, or one with levels."""
    if type(X).__name__ == "LazyFrame":
        raise UserError(
            "X is a LazyFrame, whose rows are not read yet",
            "collect() it, or make a pool of it with fairask.pools.open_pool",
        )
    if type(X).__module__.startswith("pandas") and np.ndim(X) == 2 and X.columns.nlevels > 1:
        raise UserError(
            "the columns of X have names of several levels",
            "join them: X.columns = ['_'.join(map(str, name)) for name in X.columns]",
        )


def refuse_texts(X: Matrix) -> None:
    """Raise naming a column of texts in an array, a list or a frame without names of columns.

    >>> refuse_texts([[1.0, 2.0]])
    >>> refuse_texts([[1.0, "a"]])
    Traceback (most recent call last):
    fairask.errors.UserError: the column 1 of X holds texts, and features must be numbers; give X as a data...
    """
    if issparse(X) or column_names(X) is not None:
        return
    refuse_nameless(X)
    if not isinstance(X, list):
        X = np.asarray(X)
        if X.dtype.kind in "biufc":
            return
    remedy = (
        "give X as a data frame, whose texts and categories are encoded, or an estimator that takes "
        "texts, such as a Pipeline with OneHotEncoder or TfidfVectorizer"
    )
    for row in X[:50]:
        if isinstance(row, str):
            raise UserError("X is a list of texts, and features must be numbers", remedy)
        for position, value in enumerate(row if isinstance(row, list | tuple | np.ndarray) else ()):
            if isinstance(value, str) and not is_number(value):
                raise UserError(
                    f"the column {position} of X holds texts, and features must be numbers", remedy
                )


def is_numbers(frame: Matrix, names: Sequence[str]) -> bool:
    """Whether these columns are numbers or booleans without gaps, which need no encoder.

    >>> import polars
    >>> frame = polars.DataFrame({"a": [1, 2], "b": [0.5, None], "c": ["x", "y"]})
    >>> [is_numbers(frame, [name]) for name in frame.columns]
    [True, False, False]
    """
    columns = (np.asarray(frame[name]) for name in names)
    return all(c.dtype.kind in "biu" or (c.dtype.kind == "f" and not np.isnan(c).any()) for c in columns)


def warn_of_unusable(encoder: Encoder) -> None:
    """Name the columns that were left out because a model cannot learn from them."""
    if unusable := encoder.unusable:
        shown = ", ".join(f"{name!r} ({why})" for name, why in unusable.items())
        warnings.warn(
            f"a model cannot learn from {shown}: left out (in Python, keep= is --keep)",
            ColumnWarning,
            stacklevel=5,
        )


@dataclass(frozen=True)
class FrameColumns:
    """How the columns of a data frame become features and groups, whatever their order.

    Attributes
    ----------
    names : tuple of str
        Columns that are features, in the order of the fit.
    encoder : Encoder, optional
        What makes features of them; None where they are numbers, which are used as they are, or are left to
        an estimator.
    groups : GroupColumns, optional
        The protected columns, if they are columns of the frame.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"job": ["a", "b"], "age": [20, 40], "sex": ["f", "m"]})
    >>> columns = FrameColumns.of(frame, protected="sex")
    >>> columns.features(frame[["age", "job"]]).tolist()
    [[0.0, -1.0], [1.0, 1.0]]
    >>> columns.groups_of(frame[["age", "sex"]]).tolist()
    ['f', 'm']
    """

    names: tuple[str, ...]
    encoder: Encoder | None = None
    groups: GroupColumns | None = None

    @classmethod
    def of(
        cls,
        frame: Matrix,
        *,
        protected: str | Sequence[str] | None = None,
        keep_protected: bool = False,
        encode: bool = True,
        keep: Sequence[str] = (),
    ) -> FrameColumns:
        """Look at a frame: find its groups, and fit an encoder where a column is not numbers.

        The protected columns are no features unless ``keep_protected``. Columns in ``keep`` are features
        although they look like identifiers or have too many values.
        """
        names, groups = column_names(frame) or [], None
        if protected is not None:
            columns = protected_columns(protected, names)
            groups = GroupColumns.in_table(frame_table(frame, columns), protected)
            names = [name for name in names if keep_protected or name not in columns]
        if not names:
            raise UserError("X has no column besides the protected ones", "Give a frame with features")
        plain = not encode or is_numbers(frame, names)
        encoder = None if plain else fit_encoder(frame_table(frame, names), names, keep=keep)
        if encoder is not None:
            warn_of_unusable(encoder)
        return cls(tuple(names), encoder, groups)

    def features(self, frame: Matrix) -> Matrix:
        """Return the features of a frame's rows; a column that is missing is refused by name."""
        rows = arranged(frame, self.names)
        return rows if self.encoder is None else self.encoder.transform(rows)

    def groups_of(self, frame: Matrix) -> NDArray[np.object_] | None:
        """Return the group of each row; None where no column says it."""
        if self.groups is None:
            return None
        columns = protected_columns(self.groups.columns, column_names(frame) or [])
        return self.groups.named(self.groups.codes(frame_table(frame, columns).combine_chunks()))

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "names": list(self.names),
            "encoder": None if self.encoder is None else self.encoder.to_dict(),
            "groups": None if self.groups is None else self.groups.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Arrow]) -> FrameColumns:
        """Rebuild from :meth:`to_dict`."""
        encoder, groups = data["encoder"], data["groups"]
        return cls(
            tuple(data["names"]),
            None if encoder is None else Encoder.from_dict(encoder),
            None if groups is None else GroupColumns.from_dict(groups),
        )
