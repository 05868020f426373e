"""The decisions and scores of a table by its protected columns: what forms are filled in from.

A tally is counted when an audit reads its table, before small groups are merged. It needs no label.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairask.tables.groups import common_spellings, group_text

if TYPE_CHECKING:
    from fairask.audit.rows import PoolRows


@dataclass(frozen=True)
class Category:
    """Rows of one combination of the protected columns.

    Attributes
    ----------
    values : tuple of (str or None)
        The value of each column, None where it is missing.
    rows, selected : int
        Rows, and those decided 1.
    scored : int
        Rows with a score; the next three are about these.
    above : int
        Rows whose score is above the median of all scores.
    mean, spread : float
        Mean of the scores, and the sum of squared distances from it.
    """

    values: tuple[str | None, ...]
    rows: int
    selected: int
    scored: int = 0
    above: int = 0
    mean: float = 0.0
    spread: float = 0.0

    def __add__(self, other: Category) -> Category:
        """Both together, under the values of the first."""
        n = self.scored + other.scored
        gap = other.mean - self.mean
        return Category(
            self.values,
            self.rows + other.rows,
            self.selected + other.selected,
            n,
            self.above + other.above,
            self.mean + (gap * other.scored / n if n else 0.0),
            self.spread + other.spread + (gap**2 * self.scored * other.scored / n if n else 0.0),
        )

    @property
    def known(self) -> bool:
        """Whether every column has a value."""
        return None not in self.values

    @property
    def rate(self) -> float:
        """The selection rate."""
        return self.selected / self.rows if self.rows else math.nan

    @property
    def scoring_rate(self) -> float:
        """The share of scores above the median of all."""
        return self.above / self.scored if self.scored else math.nan


def _missing_last(values: Sequence[str | None]) -> tuple[tuple[bool, str], ...]:
    return tuple((value is None, value or "") for value in values)


@dataclass(frozen=True)
class Tally:
    """The categories of a table.

    Attributes
    ----------
    columns : tuple of str
        The protected columns, as they were named.
    categories : tuple of Category
    score : str or None
        The column of the scores.
    median : float or None
        The median of all scores, of whatever category.

    Examples
    --------
    >>> tally = Tally(("sex", "race"), (Category(("f", "a"), 4, 2), Category(("f", None), 2, 0)))
    >>> [(one.values, one.rows, one.selected) for one in tally.by("sex")]
    [(('f',), 6, 2)]
    """

    columns: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    score: str | None = None
    median: float | None = None

    @classmethod
    def of(
        cls, columns: Sequence[str], groups: Sequence[Hashable], pool: PoolRows, score: str | None
    ) -> Self:
        """Count the rows of a pool, given the value of the protected columns in each of its cells."""
        one = len(columns) == 1
        parts: list[tuple[Hashable, ...]] = [
            (group,) if one or not isinstance(group, tuple) else group for group in groups
        ]
        alike = []
        for place in range(len(columns)):
            counts: Counter[Hashable] = Counter()
            for part, n in zip(parts, pool.counts.tolist(), strict=True):
                counts[part[place]] += n
            alike.append(common_spellings({value: n for value, n in counts.items() if value is not None}))
        named = [
            tuple(None if v is None else group_text(s.get(v, v)) for v, s in zip(part, alike, strict=True))
            for part in parts
        ]
        held, middle = np.empty(0), None
        if pool.score is not None and pool.cell is not None:
            held = pool.score.astype(np.float64)
            middle = None if np.isnan(held).all() else float(np.nanmedian(held))
        found: dict[tuple[str | None, ...], Category] = {}
        for cell, values in enumerate(named):
            n = int(pool.counts[cell])
            mine = Category(values, n, n * int(pool.decision[0][cell]))
            if middle is not None:
                scores = held[(pool.cell == cell) & ~np.isnan(held)]
                if len(scores):
                    above, mean = int((scores > middle).sum()), float(scores.mean())
                    spread = float(((scores - mean) ** 2).sum())
                    mine = replace(mine, scored=len(scores), above=above, mean=mean, spread=spread)
            found[values] = found[values] + mine if values in found else mine
        return cls(tuple(columns), tuple(found[v] for v in sorted(found, key=_missing_last)), score, middle)

    def by(self, *columns: str) -> list[Category]:
        """The categories of some of the columns, in the order of their names; missing values are last."""
        at = [self.columns.index(column) for column in columns]
        found: dict[tuple[str | None, ...], Category] = {}
        for one in self.categories:
            values = tuple(one.values[place] for place in at)
            mine = replace(one, values=values)
            found[values] = found[values] + mine if values in found else mine
        return [found[values] for values in sorted(found, key=_missing_last)]

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return sum(one.rows for one in self.categories)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a tally from :meth:`to_dict`."""
        each = (Category(**{**one, "values": tuple(one["values"])}) for one in values["categories"])
        return cls(tuple(values["columns"]), tuple(each), values["score"], values.get("median"))
