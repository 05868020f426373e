"""One column of a table to features, or why it cannot be."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["encode_column", "refusal", "texts"]

Float = NDArray[np.float64]

#: A column with more levels would bring more features than a few hundred labels can tell apart.
MOST_LEVELS = 100
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|nr|no|number)$|^id|[a-z]I[dD]$", re.IGNORECASE)
_SECONDS_A_DAY = 86_400.0


def refusal(name: str, column: Any) -> str | None:
    """Say why a column cannot be a feature, or None if it can.

    Examples
    --------
    >>> import pyarrow as pa
    >>> refusal("customer_id", pa.chunked_array([[f"c{i}" for i in range(300)]]))
    '300 different values in 300 rows'
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    kind = column.type
    if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        return f"nested values ({kind})"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return "binary values"
    known = column.drop_null()
    n = len(known)
    if not n:
        return None
    distinct = len(known.unique())
    if pa.types.is_integer(kind):
        low, high = pc.min(known).as_py(), pc.max(known).as_py()
        counting = distinct == n and n >= 20 and high - low < 1.5 * n
        named = distinct == n and n >= 20 and _ID_NAME.search(name)
        return f"an identifier: {distinct:,} different whole numbers" if counting or named else None
    if _is_text(kind):
        words = float(np.mean([len(v.split()) for v in known.slice(0, 2000).to_pylist()]))
        if words > 5 and distinct > 20:
            return f"free text, {words:.0f} words on average"
        if distinct > MOST_LEVELS or (distinct > 20 and distinct > 0.5 * n):
            return f"{distinct:,} different values in {n:,} rows"
    return None


def encode_column(name: str, column: Any) -> list[tuple[str, Float]]:
    """Return named features: numbers, 0/1, days, or one-hot without the first level.

    A missing number becomes the median with an indicator beside it; a missing category is a level of
    its own. Values that are not finite raise ValueError.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encode_column("age", pa.chunked_array([[1.0, None, 3.0]]))
    [('age', array([1., 2., 3.])), ('age is missing', array([0., 1., 0.]))]
    """
    import pyarrow as pa

    kind = column.type
    if _is_text(kind) or pa.types.is_null(kind):
        cells = texts(column)
        levels = sorted({c for c in cells if c is not None})
        code: dict[str | None, int] = {level: i for i, level in enumerate(levels)}
        codes = np.array([code.get(c, -1) for c in cells])
        features = [(f"{name}={lv}", (codes == i).astype(np.float64)) for i, lv in enumerate(levels) if i]
        if levels and (codes < 0).any():
            features.append((f"{name} is missing", (codes < 0).astype(np.float64)))
        return features
    values = _numbers(column)
    missing: NDArray[np.bool_] = np.isnan(values)
    if np.isinf(values).any():
        raise ValueError(f"is infinite in data row {int(np.flatnonzero(np.isinf(values))[0]) + 1}")
    if missing.all():
        return []
    if not missing.any():
        return [(name, values)]
    filled = np.where(missing, np.median(values[~missing]), values)
    return [(name, filled), (f"{name} is missing", missing.astype(np.float64))]


def texts(column: Any) -> list[str | None]:
    """Return a column's values as text, as a person would write them; None where missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> texts(pa.chunked_array([[1.0, 2.5, None]])), texts(pa.chunked_array([[True]]))
    (['1', '2.5', None], ['True'])
    """
    out: list[str | None] = []
    for value in column.to_pylist():
        if value is None or value != value:
            out.append(None)
        elif isinstance(value, float) and value.is_integer():
            out.append(str(int(value)))
        else:
            out.append(" ".join(str(value).split()) or None)
    return out


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _numbers(column: Any) -> Float:
    """Numbers as they are, booleans as 0 and 1, dates and times as days."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = kind.value_type
    scale = 1.0
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column, scale = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), _SECONDS_A_DAY * 1e6
    elif pa.types.is_time(kind) or pa.types.is_duration(kind):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        column, scale = column.cast(width), _SECONDS_A_DAY * unit
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    values = (
        column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        if isinstance(column, pa.Array)
        else (column.cast(pa.float64(), safe=False).to_numpy())
    )
    return np.asarray(values, dtype=np.float64) / scale
