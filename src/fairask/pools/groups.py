"""Protected columns as group codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.data.extras import optional
from fairask.metrics import encode_groups

__all__ = ["GroupColumns"]


@dataclass(frozen=True)
class GroupColumns:
    """Turns the protected columns of a table into group codes.

    Attributes
    ----------
    columns : tuple of str
        One column, or several whose combinations are the groups.
    values : tuple
        The group of each code; tuples where there are several columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"sex": ["m", "f", "m"]})
    >>> groups = GroupColumns.of(["sex"], GroupColumns.counted(batch, ["sex"]))
    >>> groups.values, groups.codes(batch).tolist()
    (('f', 'm'), [1, 0, 1])
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, columns: Sequence[str], values: Iterable[Any]) -> GroupColumns:
        """Order the groups as :func:`fairask.metrics.encode_groups` does."""
        distinct = list(values)
        if len(distinct) < 2:
            raise ValueError(
                f"protected={list(columns)} has {len(distinct)} group(s) {distinct}; two or more are needed"
            )
        return cls(tuple(columns), tuple(encode_groups(distinct, "protected")[0]))

    @staticmethod
    def counted(batch: Any, columns: Sequence[str]) -> Counter[Any]:
        """Groups that occur in a record batch, with their rows."""
        values, codes = _joint(batch, columns)
        found, rows = np.unique(codes, return_counts=True)
        return Counter({values[code]: int(n) for code, n in zip(found, rows, strict=True)})

    def codes(self, batch: Any) -> NDArray[Any]:
        """Group code of each row of a record batch, in the smallest unsigned type."""
        values, codes = _joint(batch, self.columns)
        number = {value: code for code, value in enumerate(self.values)}
        dtype = np.min_scalar_type(max(len(self.values) - 1, 1))
        table = np.zeros(len(values), dtype=dtype)
        for at, value in enumerate(values):
            if value in number:
                table[at] = number[value]
            elif (codes == at).any():
                raise ValueError(
                    f"protected={list(self.columns)} has the group {value!r}, "
                    f"which is not one of {list(self.values)}"
                )
        return np.asarray(table[codes])


def _joint(batch: Any, columns: Sequence[str]) -> tuple[list[Any], NDArray[Any]]:
    """Candidate groups of a batch, and which of them each row is in."""
    pc = optional("pyarrow.compute", "parquet")
    parts: list[tuple[list[Any], NDArray[Any]]] = []
    for name in columns:
        column = batch.column(name)
        if column.null_count:
            raise ValueError(
                f"protected column {name!r} has missing values; give them a group of their own or drop them"
            )
        encoded = column if hasattr(column, "dictionary") else pc.dictionary_encode(column)
        values = encoded.dictionary.to_pylist()
        if any(isinstance(v, float) and v != v for v in values):
            raise ValueError(
                f"protected column {name!r} has missing values (NaN); give them a group of their own"
            )
        parts.append((values, encoded.indices.to_numpy(zero_copy_only=False)))
    if len(parts) == 1:
        return parts[0]
    values, codes = [(v,) for v in parts[0][0]], parts[0][1].astype(np.int64)
    for more, index in parts[1:]:
        codes = codes * len(more) + index
        values = [(*v, m) for v in values for m in more]
    return values, codes
