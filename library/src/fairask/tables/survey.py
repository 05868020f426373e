"""Fitting an encoder batch by batch, for the streamed pools and audits only: it goes when they have gone."""

from __future__ import annotations

import heapq
import math
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError
from fairask.tables.arrow import Arrow, kind_of, optional
from fairask.tables.cells import as_numbers, coded, text_of, unread_number
from fairask.tables.encoder import (
    _ID_NAME,
    CONSTANT,
    MOST_LEVELS,
    Category,
    Encoder,
    Number,
    Part,
    TextColumns,
    Values,
    Vector,
    _matrix,
    _rounded,
)
from fairask.tables.groups import GroupColumns
from fairask.tables.text import (
    LONGEST_TEXT,
    MOST_TEXTS,
    WORDS_OF_NAMES,
    WORDS_OF_TEXT,
    count_words,
    fit_model_text,
    fit_text,
)

_HASHES = 1024


@dataclass
class TextSample:
    """Different texts of a column, those with the smallest hashes: the same however the rows are cut.

    Examples
    --------
    >>> sample = TextSample()
    >>> sample.add(["b", "a", "b"])
    >>> sample.texts
    ['a', 'b']
    """

    kept: dict[str, int] = field(default_factory=dict)
    most: int = MOST_TEXTS
    _highest: int = 1 << 32

    @property
    def texts(self) -> list[str]:
        """The texts, in sorted order."""
        return sorted(self.kept)

    def add(self, texts: Iterable[str]) -> None:
        """Take in texts."""
        for text in texts:
            text = text[:LONGEST_TEXT]
            number = zlib.crc32(text.encode("utf-8", "surrogatepass"))
            if number <= self._highest:
                self.kept[text] = number
        if len(self.kept) > 2 * self.most:
            self._cut()

    def merge(self, other: TextSample) -> None:
        """Take in the sample of other rows."""
        self.add(other.kept)

    def finish(self) -> list[str]:
        """Return the texts that a model is fitted on, in sorted order."""
        self._cut()
        return self.texts

    def _cut(self) -> None:
        if len(self.kept) > self.most:
            smallest = heapq.nsmallest(self.most, ((number, text) for text, number in self.kept.items()))
            self.kept = {text: number for number, text in smallest}
            self._highest = smallest[-1][0]


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations, smallest and largest value; two parts add up to the whole.

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
    def of(cls, values: Values) -> Moments:
        """Return the moments of an array without missing values."""
        if not len(values):
            return cls()
        with np.errstate(over="ignore"):
            mean = float(values.mean())
            squares = float(np.square(values - mean).sum())
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both parts (Chan, Golub and LeVeque 1979)."""
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
class NumberTally:
    """What batches of a column of numbers have in common; two tallies add up."""

    rows: int = 0
    moments: Moments = field(default_factory=Moments)
    infinite: int | None = None  #: the first row with an infinite value
    hashes: npt.NDArray[np.uint64] | None = None  #: the smallest hashes of whole numbers

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.moments.n

    def add(self, column: Arrow) -> None:
        """Take in the next batch."""
        values = as_numbers(column)
        # Whole numbers only: a measurement may well be different in every row.
        whole = values.dtype.kind in "iu" or optional("pyarrow", "parquet").types.is_integer(column.type)
        numbers = values.astype(np.float64)
        known = numbers[~np.isnan(numbers)]
        tally = NumberTally(len(numbers))
        if np.isinf(known).any():
            tally.infinite = int(np.flatnonzero(np.isinf(numbers))[0])
            known = known[np.isfinite(known)]
        tally.moments = Moments.of(known)
        tally.hashes = _smallest(_hashed(known)) if whole else None
        self.merge(tally)

    def merge(self, other: NumberTally) -> None:
        """Take in the tally of the rows that follow."""
        if self.infinite is None and other.infinite is not None:
            self.infinite = self.rows + other.infinite
        if self.hashes is not None and other.hashes is not None:
            self.hashes = _smallest(np.concatenate([self.hashes, other.hashes]))
        elif not self.rows:
            self.hashes = other.hashes
        self.rows, self.moments = self.rows + other.rows, self.moments.plus(other.moments)

    def finish(self, name: str) -> Number | Category | str | None:
        """Return the fitted part, why the column cannot train, or None where it has one value only."""
        if self.infinite is not None:
            raise TableError(
                f"column {name!r} is infinite in data row {self.infinite + 1}",
                "Correct the value, or leave the column out",
            )
        found = self.moments
        if not math.isfinite(found.squares):
            raise TableError(
                f"column {name!r} has numbers up to {found.high:g}, too large to standardise",
                "Give them in another unit, or leave the column out",
            )
        if self._names_rows(name):
            return f"an identifier: {found.n:,} different whole numbers"
        if not found.squares > 0.0:
            # One value or none: which of the two it is may still tell rows apart.
            return Category(name, (f"{found.mean:g}",), missing=True) if found.n and self.missing else None
        # Rounded, because the last bits depend on how the rows are cut into batches and features must not.
        scale = _rounded(math.sqrt(found.squares / found.n))
        mean = round(found.mean / scale * 2**20) / 2**20 * scale
        return Number(name, mean, scale, missing=self.missing > 0)

    def _names_rows(self, name: str) -> bool:
        """Whether whole numbers are different in (nearly) every row, and count rows or are named so."""
        n = self.moments.n
        if self.hashes is None or n < 20:
            return False
        if n <= _HASHES:
            different = len(self.hashes) == n
        else:
            full = len(self.hashes) == _HASHES
            different = full and (_HASHES - 1) * 2.0**64 / float(self.hashes[-1]) >= 0.9 * n
        counts = self.moments.high - self.moments.low < 1.5 * n
        return different and (counts or _ID_NAME.search(name) is not None)


def _hashed(values: Values) -> npt.NDArray[np.uint64]:
    """Mix the bits of each number (SplitMix64): equal numbers have equal hashes, others look random."""
    x = (values + 0.0).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _smallest(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the smallest different hashes; a set of values has the same ones however it is cut."""
    if len(hashes) > 16 * _HASHES:
        # Equal hashes crowd the beginning if values repeat, so the cut may leave too few.
        few = np.partition(hashes, 8 * _HASHES)[: 8 * _HASHES]
        found = np.unique(few)
        if len(found) >= _HASHES:
            return found[:_HASHES]
    return np.unique(hashes)[:_HASHES]


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
            if (number := unread_number(self.texts())) is not None:
                return f"numbers written as texts, such as {number!r}"
            why = f"{how_many} different values in {self.known:,} rows"
            return f"{why}; --text {shlex.quote(name)} learns from their words" if self._has_words else why
        if n + (self.missing > 0) < 2:
            return None
        return Category(name, tuple(sorted(self.levels)), missing=self.missing > 0)


@dataclass
class VectorTally:
    """Means and spread of a column of vectors; two tallies add up."""

    rows: int = 0
    known: int = 0
    mean: Values | None = None
    squares: Values | None = None
    trouble: str | None = None  #: why the column cannot train

    @property
    def missing(self) -> int:
        """Rows without a vector."""
        return self.rows - self.known

    def add(self, column: Arrow) -> None:
        """Take in the next batch."""
        tally = VectorTally(len(column))
        try:
            vectors, known = _matrix(column, "")
            tally.known = int(known.sum())
            if tally.known:
                tally.mean = vectors.mean(axis=0)
                tally.squares = np.square(vectors - tally.mean).sum(axis=0)
        except TableError as error:
            tally.trouble = error.what
        self.merge(tally)

    def merge(self, other: VectorTally) -> None:
        """Take in the tally of the rows that follow."""
        self.rows += other.rows
        self.trouble = self.trouble or other.trouble
        if other.mean is None or other.squares is None:
            return
        if self.mean is None or self.squares is None:
            self.known, self.mean, self.squares = other.known, other.mean, other.squares
            return
        if len(self.mean) != len(other.mean):
            self.trouble = f"lists of different lengths ({len(self.mean)} and {len(other.mean)})"
            return
        n, step = self.known + other.known, other.mean - self.mean
        self.squares = self.squares + other.squares + step**2 * (self.known * other.known / n)
        self.mean = self.mean + step * (other.known / n)
        self.known = n

    def finish(self, name: str) -> Vector | str | None:
        """Return the fitted part, why the column cannot train, or None where it has one value only."""
        if self.trouble is not None or self.mean is None or self.squares is None:
            return self.trouble
        spread = float(np.sqrt(self.squares.max(initial=0.0) / self.known))
        if not spread > 0.0:
            return None
        # Rounded, because the last bits depend on how the rows are cut into batches and features must not.
        scale = float(f"{spread:.6g}")
        means = np.round(self.mean / scale * 2**16) / 2**16 * scale
        return Vector(name, tuple(means.tolist()), scale, self.missing > 0)


class Tally(Protocol):
    """What must be known of a column before its part is fitted; taken batch by batch, in row order."""

    @property
    def missing(self) -> int:
        """Rows without a value."""

    def add(self, column: Arrow) -> None:
        """Take in the next batch."""

    def merge(self, other: Self) -> None:
        """Take in a tally of the rows that follow."""

    def finish(self, name: str) -> Part | str | None:
        """Return the part, the reason why the column cannot train, or None for one value only."""


#: How each kind of column is learned.
TALLIES: dict[str, Callable[[], Tally]] = {
    "number": NumberTally,
    "boolean": NumberTally,
    "date": NumberTally,
    "category": CategoryTally,
    "vector": VectorTally,
}


def _part(text: TextColumns, name: str, tally: Tally) -> Part | str | None:
    """Return what a column becomes."""
    if not isinstance(tally, CategoryTally):
        if name in text.names:
            raise TableError(f"--text: column {name!r} does not hold texts", "Leave it out of --text")
        return tally.finish(name)
    if not (name in text.names or tally.is_text):
        return tally.finish(name)
    texts, missing = tally.texts(), tally.missing > 0
    if not texts:
        return None
    if text.model is not None:
        return fit_model_text(name, texts, missing, text.model)
    return fit_text(name, texts, missing)


@dataclass
class Survey:
    """What one pass over rows found; surveys of parts, in row order, add up.

    Attributes
    ----------
    n_rows : int
    tallies : dict
        What was found of each column.
    unusable : dict
        Columns of a type that cannot train, and why.
    groups : Counter
        Rows of each value (or tuple of values) of the protected columns; None stands for a missing value.
    """

    n_rows: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    groups: Counter[Hashable] = field(default_factory=Counter)

    def add(self, batch: Arrow, columns: Iterable[str], protected: Sequence[str]) -> None:
        """Take in the next record batch."""
        self.n_rows += batch.num_rows
        for name in columns:
            column = batch.column(name)
            kind = kind_of(column.type)
            if kind is None:
                self.unusable[name] = _why_not(column.type)
            else:
                self.tallies.setdefault(name, TALLIES[kind]()).add(column)
        if protected:
            self.groups.update(GroupColumns.counted(batch, protected))

    def merge(self, other: Survey) -> None:
        """Take in a survey of the rows that follow."""
        self.n_rows += other.n_rows
        self.groups.update(other.groups)
        self.unusable |= other.unusable
        for name, tally in other.tallies.items():
            if name in self.tallies:
                self.tallies[name].merge(tally)
            else:
                self.tallies[name] = tally

    def encoder(
        self,
        columns: Sequence[str],
        fitted_on: str,
        *,
        required: Iterable[str] = (),
        text: TextColumns | None = None,
    ) -> Encoder:
        """Return the encoder of ``columns``; one of the ``required`` ones that cannot train is an error."""
        text = TextColumns() if text is None else text
        text.check(columns)
        parts: list[Part] = []
        left_out: dict[str, str] = {}
        for name in columns:
            tally = self.tallies.get(name)
            found = self.unusable.get(name) if tally is None else _part(text, name, tally)
            if found is None or isinstance(found, str):
                left_out[name] = found or CONSTANT
            else:
                parts.append(found)
        for name in required:
            if left_out.get(name, CONSTANT) != CONSTANT:
                raise TableError(
                    f"column {name!r} cannot be a feature: {left_out[name]}",
                    "Leave it out with columns= or drop=",
                )
        if not parts:
            why = ", ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:8])
            raise TableError(
                "no column is left to learn from" + (f" ({why})" if why else ""),
                "Give a table with features besides label and group",
            )
        return Encoder(tuple(parts), fitted_on, left_out)


def survey(batches: Iterable[Arrow], columns: Sequence[str], protected: Sequence[str] = ()) -> Survey:
    """Look through record batches once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = survey([pa.record_batch({"a": [1.0, None], "sex": ["f", "m"]})], ["a"], ["sex"])
    >>> found.n_rows, found.tallies["a"].missing, dict(found.groups)
    (2, 1, {'f': 1, 'm': 1})
    """
    total = Survey()
    for batch in batches:
        total.add(batch, columns, protected)
    return total


def _why_not(kind: Arrow) -> str:
    types = optional("pyarrow", "parquet").types
    return f"nested values ({kind})" if types.is_nested(kind) else f"values of type {kind}"


def plain_encoder(schema: Arrow, columns: Sequence[str]) -> Encoder:
    """Return an encoder that takes numbers as they are, for tables that were prepared beforehand.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_encoder(pa.schema([("a", pa.float32())]), ["a"]).fitted_on
    'nothing: columns are used as they are'
    """
    for name in columns:
        if kind_of(kind := schema.field(name).type) not in ("number", "boolean"):
            raise TableError(
                f"column {name!r} has type {kind}",
                "preprocess='none' takes numbers, preprocess='standardize' also texts and dates",
            )
    return Encoder(tuple(Number(name, fill=False) for name in columns))
