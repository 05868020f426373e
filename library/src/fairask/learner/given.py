"""What a learner is given, a table or a pool, becomes a pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from fairask.checks import check_lengths
from fairask.errors import UserError
from fairask.matrix import row_count
from fairask.metrics import Matrix, encode_groups
from fairask.oracle import FairOracle
from fairask.pools import Pool
from fairask.tables.arrow import column_names
from fairask.tables.frames import FrameColumns, refuse_nameless, refuse_texts, series_name


def as_pool(
    X: Matrix | Pool, sensitive_features: ArrayLike | str | None, oracle: FairOracle
) -> tuple[Pool, FrameColumns | None]:
    """The pool as the learner reads it, and how it was made of a data frame's columns, if it was.

    A pool stays as it is; a table with its groups becomes a pool in memory.
    """
    if isinstance(X, Pool):
        if sensitive_features is not None:
            raise ValueError("X is a pool, which knows its groups: leave sensitive_features out")
        return X, None
    if sensitive_features is None:
        raise TypeError("sensitive_features is missing: give the protected attribute of each row of X")
    rows, columns = X, None
    groups: ArrayLike | None = sensitive_features
    if (names := column_names(X)) is not None:
        named = _named_columns(sensitive_features, names, row_count(X))
        own = [] if named is not None else _own_name(sensitive_features, names)
        columns = FrameColumns.of(
            X, protected=named or own or None, keep_protected=bool(own), encode=oracle.needs_numbers
        )
        rows = columns.features(X)
        groups = columns.groups_of(X) if named is not None else sensitive_features
    elif isinstance(sensitive_features, str):
        refuse_nameless(X)
        raise UserError(
            f"sensitive_features={sensitive_features!r} names a column, but X has no column names",
            "give X as a data frame, or the group of each row",
        )
    if oracle.needs_numbers:
        refuse_texts(rows)
        rows = check_array(rows, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    assert groups is not None
    values, codes = encode_groups(groups, "sensitive_features")
    check_lengths(X=row_count(rows), sensitive_features=len(codes))
    return Pool(rows, codes, len(values), group_values=values), columns


def _named_columns(sensitive_features: object, names: list[str], n: int) -> list[str] | None:
    """The protected columns of a frame, where they were named; None where the groups themselves are given."""
    if isinstance(sensitive_features, str):
        return [sensitive_features]
    if isinstance(sensitive_features, list | tuple) and 0 < len(sensitive_features) < n:
        named = [spec for spec in sensitive_features if isinstance(spec, str)]
        known = [spec for spec in named if spec in names or spec.rpartition(":")[0] in names]
        if known and len(named) == len(sensitive_features):
            return named
    return None


def _own_name(sensitive_features: object, names: list[str]) -> list[str]:
    """The column that a series was taken from, so that predictions find it in a frame."""
    given = series_name(sensitive_features)
    return [] if given is None or given not in names else [given]
