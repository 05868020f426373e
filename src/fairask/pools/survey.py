"""The first pass over a table: what must be known of its columns before rows can be encoded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairask.data.extras import optional
from fairask.pools.groups import GroupColumns

__all__ = ["MOST_LEVELS", "Moments", "Survey", "is_number", "is_text", "survey"]

#: Distinct texts above which a column is taken for an identifier and refused.
MOST_LEVELS = 1000


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations, least and largest; those of two parts give the whole's.

    Examples
    --------
    >>> both = Moments.of(np.array([1.0])).plus(Moments.of(np.array([3.0])))
    >>> both.n, both.mean, both.squares
    (2, 2.0, 2.0)
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, values: Any) -> Moments:
        """Moments of an array without missing values."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        squares = float(np.square(values - mean).sum())
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def plus(self, other: Moments) -> Moments:
        """Moments of both parts (Chan, Golub and LeVeque 1979)."""
        if not self.n or not other.n:
            return self if self.n else other
        n, step = self.n + other.n, other.mean - self.mean
        return Moments(
            n,
            self.mean + step * other.n / n,
            self.squares + other.squares + step * step * self.n * other.n / n,
            min(self.low, other.low),
            max(self.high, other.high),
        )


@dataclass
class Survey:
    """What one pass found: rows, moments of numbers, levels of texts, groups and their rows.

    A text column with more than ``MOST_LEVELS`` levels is refused; with ``most_levels`` it is named in
    ``crowded`` above that number, and its levels are forgotten.
    """

    n_rows: int = 0
    numbers: dict[str, Moments] = field(default_factory=dict)
    levels: dict[str, set[str]] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    groups: Counter[Any] = field(default_factory=Counter)
    crowded: set[str] = field(default_factory=set)
    most_levels: int | None = None

    def add(self, other: Survey) -> None:
        """Take in another part's findings."""
        self.n_rows += other.n_rows
        self.groups.update(other.groups)
        self.crowded |= other.crowded
        for name, moments in other.numbers.items():
            self.numbers[name] = self.numbers.get(name, Moments()).plus(moments)
        for name, levels in other.levels.items():
            known = self.levels.setdefault(name, set())
            known |= levels
            if self.most_levels is not None and len(known) > self.most_levels:
                self.crowded.add(name)
            elif self.most_levels is None and len(known) > MOST_LEVELS:
                raise ValueError(
                    f"column {name!r} has more than {MOST_LEVELS} distinct texts, which looks like an "
                    "identifier; leave it out with columns= or drop="
                )
        for name, count in other.missing.items():
            self.missing[name] = self.missing.get(name, 0) + count
        for name in self.crowded:
            self.levels.pop(name, None)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is used as a number."""
    types = optional("pyarrow", "parquet").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is used as levels."""
    types = optional("pyarrow", "parquet").types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def survey(
    batches: Iterable[Any],
    features: Sequence[str],
    protected: Sequence[str],
    most_levels: int | None = None,
) -> Survey:
    """Look through record batches once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = survey([pa.record_batch({"a": [1.0, None], "sex": ["f", "m"]})], ["a"], ["sex"])
    >>> found.n_rows, found.numbers["a"].n, found.missing, dict(found.groups)
    (2, 1, {'a': 1}, {'f': 1, 'm': 1})
    """
    total = Survey(most_levels=most_levels)
    for batch in batches:
        part = Survey(batch.num_rows)
        for name in features:
            column = batch.column(name)
            if is_text(column.type):
                # Not the dictionary: it may hold levels that do not occur.
                levels = column.unique()
                if most_levels is not None and (name in total.crowded or len(levels) > most_levels + 1):
                    part.crowded.add(name)
                    continue
                part.levels[name] = {v for v in levels.to_pylist() if v is not None}
                part.missing[name] = column.null_count
                continue
            values = column.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
            values = values[~np.isnan(values)]
            moments = Moments.of(values)
            if not np.isfinite(moments.squares):
                raise ValueError(f"column {name!r} has infinite values; clip them or leave the column out")
            part.numbers[name] = moments
            part.missing[name] = batch.num_rows - len(values)
        if protected:
            part.groups = GroupColumns.counted(batch, protected)
        total.add(part)
    total.missing = {name: count for name, count in total.missing.items() if count}
    return total
