"""Protected columns as group codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairask.data.errors import TableError
from fairask.data.extras import Arrow
from fairask.data.kinds import kind_of
from fairask.data.limits import MOST_GROUPS
from fairask.data.values import coded, text_of
from fairask.metrics import encode_groups

__all__ = ["GroupColumns", "check_groups", "group_names"]


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
    >>> groups.values, groups.codes(batch).tolist(), groups.names
    (('f', 'm'), [1, 0, 1], ['f', 'm'])
    """

    columns: tuple[str, ...]
    values: tuple[Hashable, ...]

    @classmethod
    def of(cls, columns: Sequence[str], values: Mapping[Hashable, int] | Iterable[Hashable]) -> GroupColumns:
        """Check the groups and order them as :func:`fairask.metrics.encode_groups` does."""
        counts = values if isinstance(values, Mapping) else dict.fromkeys(values, 1)
        check_groups(", ".join(columns), counts)
        return cls(tuple(columns), tuple(encode_groups(list(counts), "protected")[0]))

    @staticmethod
    def counted(batch: Arrow, columns: Sequence[str]) -> Counter[Hashable]:
        """Count the rows of each group of a record batch; None stands for a missing value."""
        values, codes = _joint(batch, columns)
        found, rows = np.unique(codes, return_counts=True)
        out: Counter[Hashable] = Counter()
        for code, n in zip(found, rows, strict=True):
            out[values[code]] += int(n)
        return out

    @property
    def names(self) -> list[str]:
        """The groups as texts, in the order of the codes."""
        return [
            ", ".join(str(text_of(part)) for part in value)
            if isinstance(value, tuple)
            else str(text_of(value))
            for value in self.values
        ]

    def codes(self, batch: Arrow) -> npt.NDArray[Any]:
        """Return the group code of each row of a record batch, in the smallest unsigned type."""
        values, codes = _joint(batch, self.columns, self.values)
        number = {value: code for code, value in enumerate(self.values)}
        table = np.zeros(len(values), dtype=np.min_scalar_type(max(len(self.values) - 1, 1)))
        for at, value in enumerate(values):
            if value in number:
                table[at] = number[value]
            elif (codes == at).any():
                raise TableError(
                    f"protected={list(self.columns)} has the group {value!r}, "
                    f"which is not one of {list(self.values)}",
                    "Give a table with the groups that were found before",
                )
        return np.asarray(table[codes])


def group_names(table: Arrow, protected: str) -> npt.NDArray[np.str_]:
    """Return the group of each row of a table in memory, as text, or raise TableError.

    Examples
    --------
    >>> import pyarrow as pa
    >>> group_names(pa.table({"old": [1.0, 0.0]}), "old").tolist()
    ['1', '0']
    """
    batch = table.select([protected]).combine_chunks()
    groups = GroupColumns.of([protected], GroupColumns.counted(batch, [protected]))
    return np.asarray(np.array(groups.names)[groups.codes(batch)])


def check_groups(protected: str, counts: Mapping[Hashable, int]) -> None:
    """Raise TableError unless every row has a group and there are two to the limit.

    Examples
    --------
    >>> check_groups("sex", {"f": 3, "m": 2})
    """
    missing = sum(n for value, n in counts.items() if _is_missing(value))
    if missing == sum(counts.values()):
        raise TableError(
            f"protected column {protected!r} has missing values only",
            "Name a column that says each row's group",
        )
    if missing:
        raise TableError(
            f"protected column {protected!r} has missing values in {missing:,} rows",
            "Give them a group of their own, or leave these rows out of the file",
        )
    names = sorted({str(text_of(value)) for value in counts})
    if len(names) == 1:
        raise TableError(
            f"protected column {protected!r} has one group only: {names[0]!r}",
            "Two or more groups are needed: name another column, or a table with all groups",
        )
    if len(names) > MOST_GROUPS:
        shown = ", ".join(repr(name[:40]) for name in names[:4])
        raise TableError(
            f"protected column {protected!r} has {len(names):,} values: {shown} and {len(names) - 4:,} more",
            f"Make a column with at most {MOST_GROUPS} groups of them, and name that",
        )


def _is_missing(value: Hashable) -> bool:
    return value is None or (isinstance(value, tuple) and None in value)


def _joint(
    batch: Arrow, columns: Sequence[str], known: Sequence[Hashable] = ()
) -> tuple[list[Hashable], npt.NDArray[np.int64]]:
    """Return the candidate groups of a batch, and which of them each row is in."""
    parts: list[tuple[list[Hashable], npt.NDArray[np.int64]]] = []
    for name in columns:
        column = batch.column(name)
        _check_type(name, column.type)
        values, codes = coded(column)
        # The last candidate is "missing"; texts lose blanks around them, as all texts do.
        plain = [v if v in known or not isinstance(v, str) else text_of(v) for v in values]
        parts.append(([*plain, None], np.where(codes < 0, len(values), codes)))
    if len(parts) == 1:
        return parts[0]
    joint: list[tuple[Hashable, ...]] = [(v,) for v in parts[0][0]]
    codes = parts[0][1]
    for more, index in parts[1:]:
        codes = codes * len(more) + index
        joint = [(*v, m) for v in joint for m in more]
    return list(joint), codes


def _check_type(name: str, kind: Arrow) -> None:
    if kind_of(kind) not in ("number", "boolean", "category"):
        raise TableError(f"column {name!r} has type {kind}", "Name a column of texts, numbers or booleans")
