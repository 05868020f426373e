"""Columns of texts: one feature for each level but the first, and one that says where it is missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from fairask.tables.extras import Arrow, Column, Out
from fairask.tables.limits import MOST_LEVELS
from fairask.tables.text import WORDS_OF_NAMES, WORDS_OF_TEXT, TextSample, count_words
from fairask.tables.values import coded, text_of
from fairask.tables.written import written_number


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
    """Levels of a column of texts; two tallies add up. Above the limit, a sample of texts is kept instead."""

    rows: int = 0
    known: int = 0
    levels: set[str] = field(default_factory=set)
    sample: TextSample | None = None

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.known

    def add(self, column: Arrow) -> None:
        """Take in the next batch."""
        values, codes = coded(column)
        # Not the dictionary alone: it may hold levels that do not occur.
        seen = np.bincount(codes[codes >= 0], minlength=len(values))
        found = [(text_of(value), int(n)) for value, n in zip(values, seen, strict=True) if n]
        self.rows += len(codes)
        self.known += sum(n for text, n in found if text is not None)
        self._take([text for text, _ in found if text is not None])

    def merge(self, other: CategoryTally) -> None:
        """Take in the tally of the rows that follow."""
        self.rows, self.known = self.rows + other.rows, self.known + other.known
        self._take(other.levels if other.sample is None else other.sample.kept)

    def _take(self, found: Iterable[str]) -> None:
        if self.sample is None:
            self.levels.update(found)
            if len(self.levels) <= MOST_LEVELS:
                return
            found, self.levels, self.sample = self.levels, set(), TextSample()
        self.sample.add(found)

    def texts(self) -> list[str]:
        """Return different texts of the column: all of them, or a sample."""
        return sorted(self.levels) if self.sample is None else self.sample.finish()

    @property
    def is_text(self) -> bool:
        """Whether the values are free text: many different ones, of several words."""
        return self._is_crowded and count_words(self.texts()) > WORDS_OF_TEXT

    @property
    def _is_crowded(self) -> bool:
        n = len(self.levels)
        return self.sample is not None or (n > 20 and n > 0.5 * self.known)

    @property
    def _has_words(self) -> bool:
        """Whether the values are short texts rather than codes or names."""
        return count_words(self.texts()) > WORDS_OF_NAMES

    def finish(self, name: str) -> Category | str | None:
        """Return the fitted part, why the column cannot train, or None where it has one value only."""
        n = len(self.levels)
        if self._is_crowded:
            how_many = f"more than {MOST_LEVELS}" if self.sample is not None else f"{n:,}"
            if (number := written_number(self.texts())) is not None:
                return f"numbers written as texts, such as {number!r}"
            why = f"{how_many} different values in {self.known:,} rows"
            return f"{why}; --text {shlex.quote(name)} learns from their words" if self._has_words else why
        if n + (self.missing > 0) < 2:
            return None
        return Category(name, tuple(sorted(self.levels)), missing=self.missing > 0)
