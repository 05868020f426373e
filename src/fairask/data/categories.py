"""Columns of texts: one feature for each level but the first, and one that says where it is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairask.data.extras import Arrow, Column, Out, optional
from fairask.data.limits import MOST_LEVELS

__all__ = ["Category", "CategoryTally", "coded", "text_of", "texts"]


def text_of(value: object) -> str | None:
    """Return a value as a person would write it; None where it is missing.

    Examples
    --------
    >>> [text_of(v) for v in (1.0, 2.5, True, " a  b ", " ", float("nan"), None)]
    ['1', '2.5', 'True', 'a b', None, None, None]
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).split()) or None


def texts(column: Column) -> list[str | None]:
    """Return a column's values as text; each different value is converted once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> texts(pa.chunked_array([[1.0, 2.5, None]])), texts(pa.chunked_array([[True]]))
    (['1', '2.5', None], ['True'])
    """
    values, codes = coded(column)
    found = np.array([*map(text_of, values), None], dtype=object)
    out: list[str | None] = found[codes].tolist()
    return out


def coded(column: Column) -> tuple[list[object], npt.NDArray[np.int64]]:
    """Return the different values of a column and each row's position among them, -1 where missing.

    Examples
    --------
    >>> coded(["b", "a", None, "b"])
    (['b', 'a'], array([ 0,  1, -1,  0]))
    """
    if isinstance(column, Sequence | np.ndarray):
        place: dict[object, int] = {}
        found = [-1 if v is None or v != v else place.setdefault(v, len(place)) for v in column]
        return list(place), np.array(found, dtype=np.int64)
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    values = encoded.dictionary.to_pylist()
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    gone = [i for i, v in enumerate(values) if v is None or v != v]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes)
    return values, codes


@dataclass(frozen=True)
class Category:
    """One feature for each level but the first; missing and unknown values have none of them set.

    ``missing`` adds a feature that is 1 where the value is missing.
    """

    name: str
    levels: tuple[str, ...]
    missing: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        names = [f"{self.name}={level}" for level in self.levels[1:]]
        return [*names, f"{self.name} is missing"] if self.missing else names

    def write(self, column: Column, out: Out) -> None:
        """Write this column's features into ``out`` of shape (features, rows)."""
        values, codes = coded(column)
        number = {level: code for code, level in enumerate(self.levels)}
        table = np.zeros(len(values) + 1, dtype=np.int64)
        table[-1] = -1
        for at, value in enumerate(values):
            # A level as it stands comes first: one of version 0.1.0 may have blanks around it.
            known = number.get(value) if isinstance(value, str) else None
            text = text_of(value)
            table[at] = known if known is not None else -1 if text is None else number.get(text, 0)
        level = table[codes]
        for code in range(1, len(self.levels)):
            out[code - 1] = level == code
        if self.missing:
            out[-1] = level == -1

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return ["levels", self.name, list(self.levels), self.missing]


@dataclass
class CategoryTally:
    """Levels of a column of texts; two tallies add up. Above the limit the levels are forgotten."""

    rows: int = 0
    known: int = 0
    levels: set[str] = field(default_factory=set)
    crowded: bool = False
    words: float = 0.0  #: words of a level, on average, where there are too many levels

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.known

    def add(self, column: Arrow) -> None:
        """Take in the next batch."""
        if self.crowded:
            self.rows, self.known = self.rows + len(column), self.known + len(column) - column.null_count
            return
        values, codes = coded(column)
        # Not the dictionary alone: it may hold levels that do not occur.
        seen = np.bincount(codes[codes >= 0], minlength=len(values))
        found = {
            text: int(n) for value, n in zip(values, seen, strict=True) if n and (text := text_of(value))
        }
        blank = sum(int(n) for value, n in zip(values, seen, strict=True) if text_of(value) is None)
        self.rows, self.known = self.rows + len(codes), self.known + int(seen.sum()) - blank
        self._take(found)

    def merge(self, other: CategoryTally) -> None:
        """Take in the tally of the rows that follow."""
        self.rows, self.known = self.rows + other.rows, self.known + other.known
        if other.crowded and not self.crowded:
            self.crowded, self.words, self.levels = True, other.words, set()
        elif not self.crowded:
            self._take(other.levels)

    def _take(self, levels: Iterable[str]) -> None:
        self.levels.update(levels)
        if len(self.levels) > MOST_LEVELS:
            self.crowded, self.words, self.levels = True, _words(self.levels), set()

    def finish(self, name: str) -> Category | str | None:
        """Return the fitted part, why the column cannot train, or None where it has one value only."""
        n = len(self.levels)
        if self.crowded or (n > 20 and n > 0.5 * self.known):
            words = self.words if self.crowded else _words(self.levels)
            if words > 5:
                return f"free text, {words:.0f} words on average"
            how_many = f"more than {MOST_LEVELS}" if self.crowded else f"{n:,}"
            return f"{how_many} different values in {self.known:,} rows"
        if n + (self.missing > 0) < 2:
            return None
        return Category(name, tuple(sorted(self.levels)), missing=self.missing > 0)


def _words(levels: Iterable[str]) -> float:
    return float(np.mean([len(level.split()) for level in levels]))
