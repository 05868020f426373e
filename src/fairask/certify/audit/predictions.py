"""Predictions in a column: 0 and 1, probabilities of 1, or classes of which one counts as 1."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairask.data import TableError
from fairask.data.encode import listed
from fairask.data.extras import Arrow
from fairask.data.kinds import kind_of
from fairask.data.values import texts
from fairask.metrics import Float

__all__ = ["choose_class", "key", "scores_of", "words_of"]


def key(text: str) -> str:
    """How values are compared: by number if they are numbers, else without regard to case.

    Examples
    --------
    >>> key("1.0") == key("1"), key("Yes") == key("yes ")
    (True, True)
    """
    try:
        return repr(float(text))
    except ValueError:
        return " ".join(text.split()).lower()


def words_of(column: Arrow) -> NDArray[np.object_]:
    """Values as text, None where missing."""
    if kind_of(column.type) is None:
        raise TableError(f"a column has values of type {column.type}", "Name a column of plain values")
    return np.array(texts(column), dtype=object)


def scores_of(column: Arrow, name: str, positive: str | None, labelled: bool) -> tuple[Float, list[str]]:
    """Return predictions in [0, 1] and the classes, the positive one last (empty for numbers).

    With ``labelled``, ``positive`` may be the name of a class of the labels.
    """
    import pyarrow as pa

    if (missing := column.null_count) or (missing := int(column.is_null(nan_is_null=True).to_numpy().sum())):
        row = int(np.argmax(column.is_null(nan_is_null=True).to_numpy())) + 1
        raise TableError(
            f"{missing:,} rows have no prediction in {name!r}, the first is data row {row}",
            "The audit is of the model's decisions: predict those rows too, or leave them out of the file",
        )
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        if ((values >= 0) & (values <= 1)).all():
            if positive is None or key(positive) == key("1"):
                return values, []
            if key(positive) == key("0"):
                if ((values > 0) & (values < 1)).any():
                    raise TableError(
                        f"--positive 0: {name!r} has probabilities, which are those of 1",
                        "Give a column with the probabilities of the positive class",
                    )
                return 1 - values, ["1", "0"]
            # Where labels are known and have names, --positive is about those.
            if not labelled:
                raise TableError(
                    f"--positive {positive!r}: predictions in {name!r} are numbers from 0 to 1, not classes",
                    "Leave --positive out, and label the rows with 1 and 0",
                )
            return values, []
        if positive is None and len(np.unique(values[:10_000])) > 2:
            raise TableError(
                f"predictions in {name!r} go from {values.min():g} to {values.max():g}",
                "Give 0 and 1, probabilities from 0 to 1, or classes with --positive",
            )
    words = words_of(column)
    found = sorted({str(w) for w in words})
    chosen = choose_class(name, found, positive)
    return (words == chosen).astype(np.float64), [value for value in found if value != chosen] + [chosen]


def choose_class(name: str, found: Sequence[str], positive: str | None) -> str:
    """Return the class that counts as 1, or raise TableError naming the classes of column ``name``."""
    if positive is None:
        raise TableError(
            f"predictions in {name!r} are classes: {listed(found)}",
            f"Say which one counts as 1, e.g. --positive {shlex.quote(found[-1][:40])}",
        )
    chosen = next((value for value in found if key(value) == key(positive)), None)
    if chosen is None:
        raise TableError(f"--positive {positive!r} is no value of {name!r}", f"Values: {listed(found)}")
    return chosen
