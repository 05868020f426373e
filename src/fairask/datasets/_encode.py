"""From columns to a feature matrix: one-hot without the first level, constants out, standardised."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from fairask.datasets._errors import TableError
from fairask.datasets.reading import RawTable

__all__ = ["encode", "stack", "standardized"]

Float = NDArray[np.float64]


def encode(table: RawTable, columns: Sequence[str], numeric: Collection[str]) -> tuple[Float, list[str]]:
    """Encode ``columns`` in their order; a level's feature is named ``column=level``.

    Levels are sorted as text and the first is dropped, so the encoding depends on the set of values
    and not on the order of the rows.

    Examples
    --------
    >>> t = RawTable("t.csv", {"sex": ["M", "F", "M"], "age": ["30", "40", "50"]})
    >>> X, names = encode(t, ["sex", "age"], numeric=["age"])
    >>> names, X.tolist()
    (['sex=M', 'age'], [[1.0, 30.0], [0.0, 40.0], [1.0, 50.0]])
    """
    features: list[tuple[str, Float]] = []
    for column in columns:
        if column in numeric:
            values = table.numbers(column)
            if not np.isfinite(values).all():
                row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
                raise TableError(f"{table.source}: column {column!r} is not finite in data row {row}")
            features.append((column, values))
            continue
        cells = table.text(column)
        levels = sorted(set(cells))
        code = {level: i for i, level in enumerate(levels)}
        codes = np.fromiter((code[v] for v in cells), dtype=np.intp, count=len(cells))
        features += [(f"{column}={lv}", (codes == i).astype(np.float64)) for i, lv in enumerate(levels) if i]
    return stack(features)


def stack(features: Sequence[tuple[str, Float]]) -> tuple[Float, list[str]]:
    """Join named columns into a matrix, leaving out those that hold one value only.

    Examples
    --------
    >>> X, names = stack([("a", np.array([1.0, 2.0])), ("b", np.array([3.0, 3.0]))])
    >>> names
    ['a']
    """
    kept = [(name, values) for name, values in features if values.min() != values.max()]
    if not kept:
        raise TableError("no column holds more than one value")
    return np.ascontiguousarray(np.stack([values for _, values in kept], axis=1)), [name for name, _ in kept]


def standardized(X: Float) -> Float:
    """Return ``X`` with mean 0 and standard deviation 1 in every column, over all rows.

    Examples
    --------
    >>> standardized(np.array([[1.0], [3.0]])).ravel().tolist()
    [-1.0, 1.0]
    """
    centred: Float = X - X.mean(axis=0)
    centred /= X.std(axis=0)
    return centred
