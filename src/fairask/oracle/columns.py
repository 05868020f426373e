"""Columns of a table by name or position: the protected one, and features in the order of the fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _get_feature_names

from fairask.errors import UserError, suggest
from fairask.metrics import Matrix

__all__ = ["arranged", "column_names", "refuse_texts", "split_column"]


def column_names(X: Matrix) -> list[str] | None:
    """Return the names of a data frame's columns; None where there are none, as in an array.

    Examples
    --------
    >>> column_names(np.eye(2)) is None
    True
    """
    names = _get_feature_names(X)
    return None if names is None else [str(name) for name in names]


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
    return X[list(names)]


def split_column(X: Matrix, column: str | int) -> tuple[Matrix, NDArray[np.generic]]:
    """Return a table without one of its columns, and that column.

    Examples
    --------
    >>> rest, groups = split_column(np.array([[1, 7], [2, 8]]), 1)
    >>> rest.tolist(), groups.tolist()
    ([[1], [2]], [7, 8])
    """
    names = column_names(X)
    if names is not None:
        name = names[column] if isinstance(column, int) else column
        if name not in names:
            raise UserError(f"sensitive_features={name!r} is no column of X", suggest(name, names))
        return X[[other for other in names if other != name]], np.asarray(X[name])
    if isinstance(column, str):
        raise UserError(
            f"sensitive_features={column!r} names a column, but X has no column names",
            "give X as a data frame, or the column's position",
        )
    rows: Matrix = X.tocsc() if issparse(X) else np.asarray(X)
    if rows.ndim != 2 or not -rows.shape[1] <= column < rows.shape[1]:
        raise UserError(
            f"sensitive_features={column} is no column of X, which has shape {rows.shape}",
            "give a position from 0 on",
        )
    kept = np.delete(np.arange(rows.shape[1]), column)
    if issparse(rows):
        return rows[:, kept].tocsr(), rows[:, [column]].toarray().ravel()
    return rows[:, kept], rows[:, column]


def refuse_texts(X: Matrix) -> None:
    """Raise naming a column of texts, where features must be numbers.

    Examples
    --------
    >>> refuse_texts([[1.0, 2.0]])
    """
    names = column_names(X)
    if names is None:
        if isinstance(X, list) and X and all(isinstance(value, str) for value in X):
            raise UserError(
                "X is a list of texts, and features must be numbers",
                "make features of them: estimator=make_pipeline(TfidfVectorizer(), LogisticRegression())",
            )
        return
    for name in names:
        value = np.asarray(X[name])
        if value.dtype == object and any(isinstance(one, str) for one in value[:50].tolist()):
            raise UserError(
                f"the column {name!r} of X holds texts, and features must be numbers",
                "give an estimator that takes them, such as a Pipeline with OneHotEncoder or "
                "TfidfVectorizer, or encode the table first with fairask.data.Encoder",
            )
