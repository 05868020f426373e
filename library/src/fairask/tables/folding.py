"""Which values of the protected columns are one group: spellings, missing values, small combinations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

from fairask.errors import UserError
from fairask.tables.errors import TableError
from fairask.tables.limits import MOST_GROUPS, SMALL_GROUP, SMALL_GROUP_SHARE
from fairask.tables.values import text_of

#: The group of rows whose group is not known, and of combinations that are too small for a group.
UNKNOWN, OTHER = "(unknown)", "(other)"


def group_text(value: Hashable) -> str:
    """Return a group as text; a combination's values are separated by commas.

    Examples
    --------
    >>> group_text(("f", "under 30")), group_text(1.0)
    ('f, under 30', '1')
    """
    return (
        ", ".join(str(text_of(part)) for part in value) if isinstance(value, tuple) else str(text_of(value))
    )


def folding(protected: str, counts: Mapping[Hashable, int]) -> Callable[[Hashable], Hashable]:
    """Return the group that each value belongs to, given the rows of each value.

    Rows without a value belong to the group UNKNOWN. Values that differ in case only are one group, named as
    most of its rows are. Combinations of several columns with fewer than 30 rows (fewer than 5 % of a table
    under 600 rows) belong to the group OTHER.

    Examples
    --------
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
    if 0 < missing < least:
        raise TableError(
            f"protected column {protected!r} has missing values in {missing:,} row{'s' * (missing > 1)}, "
            "too few for a group",
            f"Leave these rows out of the file; from {least} rows on they are a group of their own",
        )
    small = {v for v, n in counts.items() if isinstance(v, tuple) and not is_missing(v) and n < least}
    others = sum(counts[value] for value in small)
    if small and others < least:
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

    Examples
    --------
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
    """Say what was done to rows whose group is unknown or small, and which groups have few rows.

    Examples
    --------
    >>> group_notes("sex", {"f": 50, "m": 20, "(unknown)": 30})
    ["30.0 % of rows have no value in 'sex': they are kept, as the group '(unknown)'"]
    """
    rows, notes = sum(groups.values()), []
    if unknown := groups.get(UNKNOWN, 0):
        notes.append(
            f"{100 * unknown / rows:.1f} % of rows have no value in {protected!r}: "
            f"they are kept, as the group {UNKNOWN!r}"
        )
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

    Examples
    --------
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


def check_groups(protected: str, counts: Mapping[Hashable, int]) -> None:
    """Raise TableError unless there are two known groups, up to the limit.

    Examples
    --------
    >>> check_groups("sex", {"f": 3, "m": 2})
    """
    names = sorted({group_text(value) for value in counts})
    known = [name for name in names if name != UNKNOWN]
    if len(known) == 1:
        raise TableError(
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
