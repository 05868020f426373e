"""Encode the columns of a published table as a feature matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fairask.datasets._errors import wrong_table
from fairask.tables.encoder import Category, Encoder, Number, Part

Float = NDArray[np.float64]


def encode(columns: Mapping[str, Float | list[str]], source: str) -> tuple[Float, list[str]]:
    """Encode columns in their order: numbers as they are, a level's feature is named ``column=level``.

    Levels are sorted as text and the first is dropped, so the encoding depends on the set of values and not
    on the order of the rows. Columns with one value are left out.

    Examples
    --------
    >>> X, names = encode({"sex": ["M", "F", "M"], "age": np.array([30.0, 40.0, 50.0])}, "t.csv")
    >>> names, X.tolist()
    (['sex=M', 'age'], [[1.0, 30.0], [0.0, 40.0], [1.0, 50.0]])
    """
    parts: list[Part] = []
    for name, values in columns.items():
        if isinstance(values, list):
            if len(levels := sorted(set(values))) > 1:
                parts.append(Category(name, tuple(levels)))
            continue
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
            raise wrong_table(f"{source}: column {name!r} is not finite in data row {row}")
        if values.min() != values.max():
            parts.append(Number(name, fill=False))
    if not parts:
        raise wrong_table(f"{source}: no column holds more than one value")
    encoder = Encoder(tuple(parts))
    return encoder.transform(columns), encoder.feature_names_out


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
