"""Protected columns as groups: combinations, bands, spellings, missing values and small groups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError, UserError, suggest
from fairask.metrics import Metric, encode_groups, group_gap
from fairask.tables.arrow import Arrow, column_names, frame_table, kind_of
from fairask.tables.cells import as_numbers, coded, text_of


@dataclass(frozen=True)
class ProtectedColumn:
    """A protected column, and where its numbers are cut into bands.

    >>> ProtectedColumn.parse("age:30,50", ["age", "sex"]).bands
    ['under 30', '30 up to 50', '50 or more']
    """

    name: str
    cuts: tuple[float, ...] = ()

    @classmethod
    def parse(cls, spec: str, names: Sequence[str]) -> ProtectedColumn:
        """Read ``column`` or ``column:cut,cut``; a column whose name holds a colon comes first."""
        if spec in names:
            return cls(spec)
        name, colon, cuts = spec.rpartition(":")
        if not colon or name not in names:
            wanted = name if colon else spec
            hint = suggest(wanted, names)
            raise TableError(f"--protected: no column {wanted!r}", hint[0].upper() + hint[1:])
        try:
            numbers = tuple(float(cut) for cut in cuts.split(","))
        except ValueError:
            raise TableError(
                f"--protected {spec}: {cuts!r} are not numbers", f"Say where bands begin: {name}:30,50"
            ) from None
        if any(not a < b for a, b in pairwise(numbers)) or not np.isfinite(numbers).all():
            raise TableError(f"--protected {spec}: the numbers must grow", f"Order them: {name}:30,50")
        return cls(name, numbers)

    @property
    def bands(self) -> list[str]:
        """Names of the bands, from low to high."""
        cuts = [f"{cut:g}" for cut in self.cuts]
        between = [f"{low} up to {high}" for low, high in pairwise(cuts)]
        return [f"under {cuts[0]}", *between, f"{cuts[-1]} or more"]

    def band_codes(self, column: Arrow) -> npt.NDArray[np.int64]:
        """Return the band of each row, from 0; -1 where the number is missing."""
        if kind_of(column.type) != "number":
            raise TableError(
                f"column {self.name!r} has type {column.type}, which cannot be cut into bands",
                f"Name it without numbers: --protected {self.name}",
            )
        values = as_numbers(column, self.name).astype(np.float64)
        codes = np.searchsorted(self.cuts, values, side="right")
        return np.where(np.isnan(values), -1, codes).astype(np.int64)


def as_specs(protected: str | Sequence[str]) -> tuple[str, ...]:
    """Return the protected columns as they were named, one or several.

    >>> as_specs("sex"), as_specs(["race", "age:30"])
    (('sex',), ('race', 'age:30'))
    """
    return (protected,) if isinstance(protected, str) else tuple(protected)


def protected_columns(protected: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of the protected columns, or raise TableError for one that is not there.

    >>> protected_columns(["sex", "age:30"], ["age", "sex"])
    ['sex', 'age']
    """
    found = [ProtectedColumn.parse(spec, names).name for spec in as_specs(protected)]
    if not found:
        raise TableError("no protected column is named", "Name one: --protected sex")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise TableError(f"--protected names the column {twice!r} twice", "Name each column once")
    return found


#: Most groups of the protected column. A column with more values is usually a number to be cut into bands.
MOST_GROUPS = 50
#: Fewest rows of a combination of protected columns, in rows and as a share of a small table.
SMALL_GROUP = 30
SMALL_GROUP_SHARE = 0.05
#: The group of rows whose group is not known, and of combinations that are too small for a group.
UNKNOWN, OTHER = "(unknown)", "(other)"
#: How people write, in any case, that a group is not known. "None" and "prefer not to say" are answers.
_NOT_KNOWN = frozenset(("unknown", "not known", "not available", "missing", "n/a", "?", "-", "--"))


#: What can be done with rows whose group is not known; by default they are a group of their own.
MissingGroups = Literal["drop", "own", "unknown"]
_SHOWN = 8


def sort_out_missing(
    table: Arrow, protected: str | Sequence[str], how: MissingGroups | None, notes: list[str]
) -> npt.NDArray[np.bool_]:
    """Return which rows of a table stay, and note which have no group and what becomes of them.

    Parameters
    ----------
    table : pyarrow.Table
    protected : str or sequence of str
    how : {"drop", "own"}, optional
        "drop" leaves rows without a group out; "own", the default, makes them a group of their own, for which
        there must be enough of them.
    notes : list of str
        Gets the numbers of these rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["f", None, "m"]})
    >>> sort_out_missing(table, "sex", "drop", notes := []).tolist()
    [True, False, True]
    >>> notes
    ["1 row (33.3 %) has no known value in 'sex' and is left out: data row 2"]
    >>> sort_out_missing(table, "sex", "unknown", [])
    Traceback (most recent call last):
    fairask.errors.TableError: --missing-groups unknown is for audits, whose bounds allow for any group...
    """
    check_missing_groups(how)
    if how == "unknown":
        raise TableError(
            "--missing-groups unknown is for audits, whose bounds allow for any group",
            "Give drop, or own for a group of their own",
        )
    specs = as_specs(protected)
    values, codes = joint_values(table.combine_chunks(), specs)
    known = ~np.isin(codes, [at for at, value in enumerate(values) if is_missing(value)])
    gone = np.flatnonzero(~known)
    if not len(gone) or not known.any():
        return np.ones(len(known), dtype=bool)
    n, least, named = len(gone), _least(len(known)), ", ".join(specs)
    if how != "drop" and n < least:
        raise TableError(
            f"protected column {named!r} has missing values in {n:,} row{'s' * (n > 1)}, too few for a "
            f"group: {numbered(gone)}",
            f"--missing-groups drop leaves them out; from {least} rows on they are a group of their own",
        )
    notes.append(missing_note(named, how, n, len(known), numbered(gone)))
    return known if how == "drop" else np.ones(len(known), dtype=bool)


def missing_note(protected: str, how: MissingGroups | None, n: int, rows: int, which: str) -> str:
    """Say how many rows have no group, what becomes of them, and which they are, if that is known.

    >>> missing_note("sex", "own", 3, 60, "data rows 1, 2, 9")
    "3 rows (5.0 %) have no known value in 'sex' and are the group '(unknown)': data rows 1, 2, 9"
    >>> missing_note("sex", None, 3, 60, "")[-62:]
    "group '(unknown)'; --missing-groups drop leaves these rows out"
    """
    becomes = {"drop": " and are left out", "unknown": "; they may be of any group"}
    have = f"{n:,} row{'s' * (n > 1)} ({100 * n / rows:.1f} %) {'has' if n == 1 else 'have'} no known value"
    what = becomes.get(how or "own", f" and are the group {UNKNOWN!r}")
    if n == 1:
        what = what.replace(" are ", " is ").replace("they", "it")
    otherwise = "; --missing-groups drop leaves these rows out" if how is None else ""
    return f"{have} in {protected!r}{what}{which and ': '}{which}{otherwise}"


def check_missing_groups(how: str | None) -> MissingGroups | None:
    """Return the way to deal with rows without a group, or raise TableError for an unknown one."""
    known: tuple[MissingGroups, ...] = get_args(MissingGroups)
    found = next((way for way in known if way == how), None)
    if found is None and how is not None:
        raise TableError(f"--missing-groups {how!r} is unknown", f"Give {', '.join(known)}")
    return found


def numbered(rows: npt.NDArray[np.integer]) -> str:
    """Return the numbers of rows of a file, counted from 1 below the names of the columns.

    >>> numbered(np.array([4])), numbered(np.arange(20))
    ('data row 5', 'data rows 1, 2, 3, 4, 5, 6, 7, 8 and 12 more')
    """
    shown = ", ".join(f"{row + 1:,}" for row in rows[:_SHOWN].tolist())
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"data row{'s' * (len(rows) > 1)} {shown}{more}"


def group_text(value: Hashable) -> str:
    """Return a group as text; a combination's values are separated by commas.

    >>> group_text(("f", "under 30")), group_text(1.0)
    ('f, under 30', '1')
    """
    return (
        ", ".join(str(text_of(part)) for part in value) if isinstance(value, tuple) else str(text_of(value))
    )


def folding(
    protected: str, counts: Mapping[Hashable, int], *, any_size: bool = False
) -> Callable[[Hashable], Hashable]:
    """Return the group that each value belongs to, given the rows of each value.

    Rows without a value belong to the group UNKNOWN. Values that differ in case only are one group, named as
    most of its rows are. Combinations of several columns with fewer than 30 rows (fewer than 5 % of a table
    under 600 rows) belong to the group OTHER. Where UNKNOWN or OTHER would be that small itself, TableError
    is raised, unless groups of ``any_size`` will do.

    >>> fold = folding("race, sex", {("a", "f"): 90, ("b", "f"): 2, ("b", "m"): 4, ("a", None): 9})
    >>> [fold(("a", "f")), fold(("b", "f")), fold(("a", None))]
    [('a', 'f'), '(other)', '(unknown)']
    >>> folding("sex", {"F": 9, "f": 2, "m": 8})("f")
    'F'
    """
    alike = common_spellings(counts)
    given, counts = counts, Counter[Hashable]()
    for value, n in given.items():
        counts[alike.get(value, value)] += n
    rows = sum(counts.values())
    least = _least(rows)
    missing = sum(n for value, n in counts.items() if is_missing(value))
    if missing == rows:
        raise TableError(
            f"protected column {protected!r} has missing values only",
            "Name a column that says each row's group",
        )
    if 0 < missing < least and not any_size:
        raise TableError(
            f"protected column {protected!r} has missing values in {missing:,} row{'s' * (missing > 1)}, "
            "too few for a group",
            f"Leave these rows out (--missing-groups drop); from {least} rows on they are a group",
        )
    small = {v for v, n in counts.items() if isinstance(v, tuple) and not is_missing(v) and n < least}
    others = sum(counts[value] for value in small)
    if small and others < least and not any_size:
        shown = ", ".join(
            f"{group_text(value)!r} ({counts[value]:,})" for value in sorted(small, key=str)[:4]
        )
        raise TableError(
            f"protected columns {protected!r} have small groups: {shown}, {others:,} rows together",
            f"{least} rows are needed for a group: leave them out, or name fewer columns or wider bands",
        )

    def fold(value: Hashable) -> Hashable:
        value = alike.get(value, value)
        return UNKNOWN if is_missing(value) else OTHER if value in small else value

    return fold


def common_spellings(counts: Mapping[Hashable, int]) -> dict[Hashable, Hashable]:
    """Return the common spelling of each value that is written in several cases."""
    spellings: dict[Hashable, list[Hashable]] = {}
    for value in counts:
        spellings.setdefault(without_case(value), []).append(value)
    out = {}
    for values in spellings.values():
        if len(values) > 1:
            common = max(values, key=lambda value: (counts[value], str(value)))
            out.update({value: common for value in values if value != common})
    return out


def without_case(value: Hashable) -> Hashable:
    """Return a group without upper case."""
    if isinstance(value, tuple):
        return tuple(without_case(part) for part in value)
    return value.casefold() if isinstance(value, str) else value


def spelling_notes(protected: str, counts: Mapping[Hashable, int]) -> list[str]:
    """Say which groups are written in several cases, given the rows of each value.

    >>> spelling_notes("sex", {"F": 9, "f": 2, "m": 8})
    ["values of 'sex' that differ in case only are one group: 'f' is 'F'"]
    """
    alike = [
        f"{group_text(value)!r} is {group_text(common)!r}"
        for value, common in common_spellings(counts).items()
    ]
    more = f" and {len(alike) - 4} more" if len(alike) > 4 else ""
    shown = ", ".join(sorted(alike)[:4])
    return [f"values of {protected!r} that differ in case only are one group: {shown}{more}"] if alike else []


def group_notes(protected: str, groups: Mapping[Hashable, int]) -> list[str]:
    """Say which groups were merged, and which have few rows.

    >>> group_notes("sex, age", {"f, old": 50, "m, old": 20, "(other)": 30})
    ["small groups of 'sex, age' are merged into '(other)': 30 rows"]
    """
    rows, notes = sum(groups.values()), []
    if other := groups.get(OTHER, 0):
        notes.append(f"small groups of {protected!r} are merged into {OTHER!r}: {other:,} rows")
    least = _least(rows)
    tiny = [f"{group_text(value)!r} ({n:,})" for value, n in groups.items() if n < least]
    if tiny:
        notes.append(
            f"groups of {protected!r} with few rows can hardly be compared: {', '.join(tiny[:4])}"
            + (f" and {len(tiny) - 4} more" if len(tiny) > 4 else "")
            + f"; merge groups under {least} rows"
        )
    return notes


def _least(rows: int) -> int:
    """Return the fewest rows of a group, in a table of so many rows."""
    return max(1, min(SMALL_GROUP, math.ceil(SMALL_GROUP_SHARE * rows)))


def check_group_count(groups: Sequence[object]) -> None:
    """Raise UserError where there are more groups than can be compared, ValueError where there is one only.

    >>> check_group_count(range(400))
    Traceback (most recent call last):
    fairask.errors.UserError: sensitive_features has 400 groups; compare at most 50: cut numbers into...
    """
    if len(groups) > MOST_GROUPS:
        raise UserError(
            f"sensitive_features has {len(groups):,} groups",
            f"compare at most {MOST_GROUPS}: cut numbers into bands, or merge small groups",
        )
    if len(groups) < 2:
        raise ValueError(f"sensitive_features has one group only ({groups[0]!r}); two or more are needed")


class OneGroupError(TableError):
    """All rows are of one group: there is nothing to compare."""


def check_groups(protected: str, counts: Mapping[Hashable, int]) -> None:
    """Raise TableError unless there are two known groups, up to the limit.

    >>> check_groups("sex", {"f": 3, "m": 2})
    """
    names = sorted({group_text(value) for value in counts})
    known = [name for name in names if name != UNKNOWN]
    if len(known) == 1:
        raise OneGroupError(
            f"protected column {protected!r} has one group only: {known[0]!r}",
            "Two or more groups are needed: name another column, or a table with all groups",
        )
    if len(names) > MOST_GROUPS:
        shown = ", ".join(repr(name[:40]) for name in names[:4])
        raise TableError(
            f"protected column {protected!r} has {len(names):,} values: {shown} and {len(names) - 4:,} more",
            f"Compare at most {MOST_GROUPS} groups: cut numbers into bands "
            f"(--protected {protected}:30,50), or make a column of fewer groups",
        )


def is_missing(value: Hashable) -> bool:
    """Whether a group, or a part of a combination, is not known."""
    return value is None or (isinstance(value, tuple) and None in value)


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
    def of(
        cls,
        columns: Sequence[str],
        values: Mapping[Hashable, int] | Iterable[Hashable],
        *,
        any_size: bool = False,
    ) -> GroupColumns:
        """Check the groups and order them as :func:`fairask.metrics.encode_groups` does."""
        if not isinstance(values, Mapping):
            given = _ordered(values)
            check_groups(", ".join(columns), dict.fromkeys(given, 1))
            return cls(tuple(columns), given)
        fold = folding(", ".join(columns), values, any_size=any_size)
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
        values, codes = joint_values(batch, columns)
        total = np.bincount(codes, rows)
        out: Counter[Hashable] = Counter()
        for code in np.flatnonzero(total):
            out[values[code]] += int(total[code])
        return out

    @property
    def names(self) -> list[str]:
        """The groups as texts, in the order of the codes."""
        return [group_text(value) for value in self.values]

    def codes(self, batch: Arrow) -> npt.NDArray[Any]:
        """Return the group code of each row of a record batch, in the smallest unsigned type."""
        values, codes = joint_values(batch, self.columns, self.values)
        table = self._table(values)
        if len(new := np.flatnonzero(table[codes] < 0)):
            raise TableError(
                f"protected={list(self.columns)} has the group {values[codes[new[0]]]!r}, "
                f"which is not one of {list(self.values)}",
                "Give a table with the groups that were found before",
            )
        return table[codes].astype(np.min_scalar_type(max(len(self.values) - 1, 1)))

    def known(self, batch: Arrow) -> npt.NDArray[np.object_]:
        """Return the group of each row of a record batch as text; None where it has none of the groups."""
        values, codes = joint_values(batch, self.columns, self.values)
        names = np.array([*self.names, None], dtype=object)
        return np.asarray(names[self._table(values)][codes])

    def _table(self, values: Sequence[Hashable]) -> npt.NDArray[np.int64]:
        """The code of each candidate group, -1 for one that is none of the groups."""
        number = {value: code for code, value in enumerate(self.values)}
        any_case = {without_case(value): value for value in self.values}
        found = []
        for value in values:
            group = value if value in number else UNKNOWN if is_missing(value) else OTHER
            if group == OTHER:
                group = any_case.get(without_case(value), OTHER)
            found.append(number.get(group, -1))
        return np.array(found, dtype=np.int64)

    def named(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
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
    """Return the group of each row of a data frame, as text, or raise TableError.

    Examples
    --------
    >>> import pyarrow as pa
    >>> group_names(pa.table({"old": [1.0, 0.0]}), "old").tolist()
    ['1', '0']
    >>> group_names(pa.table({"age": [25, 60], "sex": ["f", "m"]}), ["sex", "age:30"]).tolist()
    ['f, under 30', 'm, 30 or more']
    """
    table = frame_table(table)
    groups = GroupColumns.in_table(table, protected)
    return np.asarray(np.array(groups.names)[groups.codes(table.combine_chunks())])


def column_gaps(
    table: Arrow,
    protected: str | Sequence[str],
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    metric: Metric = "tprp",
) -> dict[str, float]:
    """Gaps of each protected column by itself, and of their combinations.

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
    >>> column_gaps(people, ["sex", "old"], [1] * 8, [1, 0, 1, 0, 0, 1, 0, 1])
    {'sex': 0.0, 'old': 0.0, 'sex, old': 1.0}
    """
    specs = as_specs(protected)
    whole = frame_table(table, protected_columns(specs, column_names(table) or []))
    asked = [(spec,) for spec in specs] + ([specs] if len(specs) > 1 else [])
    return {
        ", ".join(one): float(group_gap(y_true, y_pred, group_names(whole, one), metric)) for one in asked
    }


def groups_by_column(table: Arrow, protected: str | Sequence[str]) -> dict[str, npt.NDArray[np.str_]]:
    """Return each row's group by each of several protected columns alone; columns of one value are left out.

    Of one protected column nothing is returned: its groups are the groups. Small groups are not merged.

    >>> import pyarrow as pa
    >>> found = groups_by_column(pa.table({"sex": ["f", "m"], "age": [25, 60]}), ["sex", "age:30"])
    >>> {column: groups.tolist() for column, groups in found.items()}
    {'sex': ['f', 'm'], 'age:30': ['under 30', '30 or more']}
    """
    specs, out = as_specs(protected), {}
    for spec in specs if len(specs) > 1 else ():
        whole = table.combine_chunks()
        values, codes = joint_values(whole, [spec])
        alike = common_spellings(GroupColumns.counted(whole, [spec]))
        names = np.array(
            [UNKNOWN if is_missing(value) else group_text(alike.get(value, value)) for value in values]
        )
        groups = np.asarray(names[codes])
        if len(np.unique(groups)) > 1:
            out[spec] = groups
    return out


def joint_values(
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
        plain = [v if v in known or not isinstance(v, str) else _group_of(v) for v in values]
        parts.append(([*plain, None], np.where(codes < 0, len(values), codes)))
    if len(parts) == 1:
        return parts[0]
    joint: list[tuple[Hashable, ...]] = [(v,) for v in parts[0][0]]
    codes = parts[0][1]
    for more, index in parts[1:]:
        codes = codes * len(more) + index
        joint = [(*v, m) for v in joint for m in more]
    return list(joint), codes


def _group_of(text: str) -> str | None:
    plain = text_of(text)
    return None if plain is None or plain.casefold() in _NOT_KNOWN else plain


def _check_type(name: str, kind: Arrow) -> None:
    if kind_of(kind) not in ("number", "boolean", "category"):
        raise TableError(f"column {name!r} has type {kind}", "Name a column of texts, numbers or booleans")
