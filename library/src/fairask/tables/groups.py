"""Protected columns as group codes: combinations of columns and bands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fairask.metrics import Metric, encode_groups, violation
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow
from fairask.tables.folding import (
    OTHER,
    UNKNOWN,
    check_groups,
    common_spellings,
    folding,
    group_text,
    is_missing,
    without_case,
)
from fairask.tables.frames import column_names, frame_table
from fairask.tables.kinds import kind_of
from fairask.tables.protected import ProtectedColumn, as_specs, protected_columns
from fairask.tables.values import coded, text_of


@dataclass(frozen=True)
class GroupColumns:
    """Turns the protected columns of a table into group codes.

    Attributes
    ----------
    columns : tuple of str
        One column, or several whose combinations are the groups; ``age:30,50`` cuts numbers into bands.
    values : tuple
        The group of each code; tuples where there are several columns.
    rows : tuple of int
        Rows of each group, where they were counted.

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
    rows: tuple[int, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, columns: Sequence[str], values: Mapping[Hashable, int] | Iterable[Hashable]) -> GroupColumns:
        """Check the groups and order them as :func:`fairask.metrics.encode_groups` does."""
        if not isinstance(values, Mapping):
            given = _ordered(values)
            check_groups(", ".join(columns), dict.fromkeys(given, 1))
            return cls(tuple(columns), given)
        fold = folding(", ".join(columns), values)
        counts: Counter[Hashable] = Counter()
        for value, n in values.items():
            counts[fold(value)] += n
        check_groups(", ".join(columns), counts)
        order = _ordered(counts)
        return cls(tuple(columns), order, tuple(counts[value] for value in order))

    @classmethod
    def in_table(cls, table: Arrow, protected: str | Sequence[str]) -> GroupColumns:
        """Find the groups of a table in memory."""
        specs = as_specs(protected)
        return cls.of(specs, cls.counted(table.combine_chunks(), specs))

    @staticmethod
    def counted(
        batch: Arrow, columns: Sequence[str], rows: npt.NDArray[np.integer] | None = None
    ) -> Counter[Hashable]:
        """Count the rows of each group of a record batch; None stands for a missing value.

        A line of a table of counts stands for as many ``rows``.
        """
        values, codes = _joint(batch, columns)
        found, line = np.unique(codes, return_inverse=True)
        total = np.bincount(line, rows)
        out: Counter[Hashable] = Counter()
        for code, n in zip(found, total, strict=True):
            out[values[code]] += int(n)
        return out

    @property
    def names(self) -> list[str]:
        """The groups as texts, in the order of the codes."""
        return [group_text(value) for value in self.values]

    def codes(self, batch: Arrow) -> npt.NDArray[Any]:
        """Return the group code of each row of a record batch, in the smallest unsigned type."""
        values, codes = _joint(batch, self.columns, self.values)
        number = {value: code for code, value in enumerate(self.values)}
        any_case = {without_case(value): value for value in self.values}
        table = np.zeros(len(values), dtype=np.min_scalar_type(max(len(self.values) - 1, 1)))
        for at, value in enumerate(values):
            group = value if value in number else UNKNOWN if is_missing(value) else OTHER
            if group == OTHER:
                group = any_case.get(without_case(value), OTHER)
            if group in number:
                table[at] = number[group]
            elif (codes == at).any():
                raise TableError(
                    f"protected={list(self.columns)} has the group {value!r}, "
                    f"which is not one of {list(self.values)}",
                    "Give a table with the groups that were found before",
                )
        return np.asarray(table[codes])

    def named(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
        """Return the groups with these codes: values of :attr:`values`."""
        values = np.empty(len(self.values), dtype=object)
        values[:] = self.values  # one by one: tuples stay whole
        return np.asarray(values[codes])

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"columns": list(self.columns), "values": list(self.values)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GroupColumns:
        """Rebuild from :meth:`to_dict`; JSON has lists for tuples."""
        values = [tuple(value) if isinstance(value, list) else value for value in data["values"]]
        return cls(tuple(data["columns"]), tuple(values))


def _ordered(values: Iterable[Any]) -> tuple[Hashable, ...]:
    return tuple(encode_groups(list(values), "protected")[0])


def group_names(table: Arrow, protected: str | Sequence[str]) -> npt.NDArray[np.str_]:
    """Return the group of each row of a table in memory, as text, or raise TableError.

    Examples
    --------
    >>> import pyarrow as pa
    >>> group_names(pa.table({"old": [1.0, 0.0]}), "old").tolist()
    ['1', '0']
    >>> group_names(pa.table({"age": [25, 60], "sex": ["f", "m"]}), ["sex", "age:30"]).tolist()
    ['f, under 30', 'm, 30 or more']
    """
    groups = GroupColumns.in_table(table, protected)
    return np.asarray(np.array(groups.names)[groups.codes(table.combine_chunks())])


def column_violations(
    table: Arrow,
    protected: str | Sequence[str],
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    metric: Metric = "tprp",
) -> dict[str, float]:
    """Violations of each protected column by itself, and of their combinations.

    Parameters
    ----------
    table : data frame
        Holds the protected columns.
    protected : str or sequence of str
        As they are named in a study: ``["sex", "age:30,50"]``.
    y_true, y_pred : array-like
        Labels 0 and 1, and predictions.
    metric : {"tprp", "fprp", "eo", "dp"}

    Returns
    -------
    dict
        By column, then, if there are several, their combinations (``"sex, age:30,50"``).

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "m"] * 4, "old": [True] * 4 + [False] * 4})
    >>> column_violations(people, ["sex", "old"], [1] * 8, [1, 0, 1, 0, 0, 1, 0, 1])
    {'sex': 0.0, 'old': 0.0, 'sex, old': 1.0}
    """
    specs = as_specs(protected)
    whole = frame_table(table, protected_columns(specs, column_names(table) or []))
    asked = [(spec,) for spec in specs] + ([specs] if len(specs) > 1 else [])
    return {
        ", ".join(one): float(violation(y_true, y_pred, group_names(whole, one), metric)) for one in asked
    }


def groups_by_column(table: Arrow, protected: str | Sequence[str]) -> dict[str, npt.NDArray[np.str_]]:
    """Return each row's group by each of several protected columns alone; columns of one value are left out.

    Of one protected column nothing is returned: its groups are the groups. Small groups are not merged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = groups_by_column(pa.table({"sex": ["f", "m"], "age": [25, 60]}), ["sex", "age:30"])
    >>> {column: groups.tolist() for column, groups in found.items()}
    {'sex': ['f', 'm'], 'age:30': ['under 30', '30 or more']}
    """
    specs, out = as_specs(protected), {}
    for spec in specs if len(specs) > 1 else ():
        whole = table.combine_chunks()
        values, codes = _joint(whole, [spec])
        alike = common_spellings(GroupColumns.counted(whole, [spec]))
        names = np.array(
            [UNKNOWN if is_missing(value) else group_text(alike.get(value, value)) for value in values]
        )
        groups = np.asarray(names[codes])
        if len(np.unique(groups)) > 1:
            out[spec] = groups
    return out


def _joint(
    batch: Arrow, columns: Sequence[str], known: Sequence[Hashable] = ()
) -> tuple[list[Hashable], npt.NDArray[np.int64]]:
    """Return the candidate groups of a batch, and which of them each row is in."""
    parts: list[tuple[list[Hashable], npt.NDArray[np.int64]]] = []
    for spec in columns:
        found = ProtectedColumn.parse(spec, batch.schema.names)
        column = batch.column(found.name)
        values: Sequence[object]
        if found.cuts:
            values, codes = found.bands, found.band_codes(column)
        else:
            _check_type(found.name, column.type)
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
