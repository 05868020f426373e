"""Columns become features: what each kind of column becomes, learned from a table and applied to any rows."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError, suggest
from fairask.tables.arrow import Arrow, Column, Out, frame_table, kind_of, optional
from fairask.tables.cells import as_numbers, coded, listed, text_of, unread_number
from fairask.tables.groups import GroupColumns
from fairask.tables.text import (
    WORDS_OF_NAMES,
    WORDS_OF_TEXT,
    ModelText,
    Text,
    TextSample,
    count_words,
    fit_model_text,
    fit_text,
)

Values = npt.NDArray[np.float64]

_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|nr|no|number)$|^id|[a-z]I[dD]$", re.IGNORECASE)
#: Hashes that are kept to estimate the number of different values; up to this number it is exact.
_HASHES = 1024


@dataclass(frozen=True)
class Number:
    """``(value - mean) / scale``; a missing value becomes 0.

    Attributes
    ----------
    fill : bool
        False refuses missing values.
    missing : bool
        Add a feature that is 1 where the value is missing.
    """

    name: str
    mean: float = 0.0
    scale: float = 1.0
    fill: bool = True
    missing: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        return [self.name, f"{self.name} is missing"] if self.missing else [self.name]

    def write(self, column: Column, out: Out) -> None:
        """Write this column's features into ``out`` of shape (features, rows)."""
        values = as_numbers(column, self.name)
        feature = out[0]
        if self.mean == 0.0 and self.scale == 1.0:
            feature[:] = values
        elif values.dtype == np.float32 and out.dtype == np.float32:
            np.subtract(values, np.float32(self.mean), out=feature)
            feature *= np.float32(1.0 / self.scale)
        else:
            # Large whole numbers and doubles are centred before they lose digits.
            feature[:] = (values.astype(np.float64) - self.mean) * (1.0 / self.scale)
        if self.missing:
            out[1] = np.isnan(feature)
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.isfinite(feature.sum())  # one cheap look; large numbers may also overflow it
        if not sound:
            self._repair(feature)

    def _repair(self, feature: Out) -> None:
        if np.isinf(feature).any():
            raise TableError(
                f"column {self.name!r} has infinite values", "Clip them, or leave the column out"
            )
        missing = np.isnan(feature)
        if missing.any() and not self.fill:
            raise TableError(
                f"column {self.name!r} has missing values", "Use preprocess='standardize', which fills them"
            )
        feature[missing] = 0.0

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return ["number", self.name, self.mean, self.scale, self.fill, self.missing]


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


def _rounded(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**20), exponent - 20)


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
            if (number := unread_number(self.texts())) is not None:
                return f"numbers written as texts, such as {number!r}"
            why = f"{how_many} different values in {self.known:,} rows"
            return f"{why}; --text {shlex.quote(name)} learns from their words" if self._has_words else why
        if n + (self.missing > 0) < 2:
            return None
        return Category(name, tuple(sorted(self.levels)), missing=self.missing > 0)


@dataclass(frozen=True)
class Vector:
    """One feature per dimension, centred and brought to one scale; a missing vector becomes 0.

    Attributes
    ----------
    name : str
    means : tuple of float
    scale : float
    missing : bool
        Add a feature that is 1 where the vector is missing.
    """

    name: str
    means: tuple[float, ...]
    scale: float = 1.0
    missing: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        names = [f"{self.name} {i + 1}" for i in range(len(self.means))]
        return [*names, f"{self.name} is missing"] if self.missing else names

    def write(self, column: Column, out: Out) -> None:
        """Write this column's features into ``out`` of shape (features, rows)."""
        width = len(self.means)
        vectors, known = _matrix(column, self.name, width)
        out[:width] = 0.0
        out[:width, known] = ((vectors - np.array(self.means)) / self.scale).T
        if self.missing:
            out[-1] = ~known

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return ["vector", self.name, list(self.means), self.scale, self.missing]


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


def _matrix(column: Column, name: str, width: int | None = None) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Return the vectors that are there, and which rows have one."""
    pa = optional("pyarrow", "parquet")
    if isinstance(column, Sequence | np.ndarray):
        plain = [None if v is None or np.isscalar(v) else np.asarray(v, dtype=np.float64) for v in column]
        column = pa.array(plain, pa.list_(pa.float64()))
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    known = np.asarray(column.is_valid())
    vectors = column.drop_null()
    lengths = np.asarray(optional("pyarrow.compute", "parquet").list_value_length(vectors))
    expected = width if width is not None else int(lengths[0]) if len(lengths) else 0
    if (lengths != expected).any():
        other = int(lengths[lengths != expected][0])
        raise TableError(
            f"lists of different lengths ({expected} and {other})", f"Give vectors of one length in {name!r}"
        )
    values = np.asarray(vectors.flatten(), dtype=np.float64).reshape(len(lengths), expected)
    if not np.isfinite(values).all():
        raise TableError("vectors with missing or infinite numbers", f"Correct them in {name!r}")
    return values, known


#: Most levels of a text column. More would give more features than a few hundred labels can tell apart.
MOST_LEVELS = 100
#: Why a column with one value is left out.
CONSTANT = "one value only"
#: Texts with so many different values, or fewer, are answers to choose from, however many words they have.
FEW_LEVELS = 12


class Part(Protocol):
    """What one column becomes: named features. A new kind of column needs a part and a tally."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def features(self) -> list[str]:
        """Names of the features."""

    def write(self, column: Column, out: Out) -> None:
        """Write the features of a batch into ``out`` of shape (features, rows)."""

    def to_list(self) -> list[object]:
        """Return plain values for JSON; the first is a key of ``PARTS``."""


#: How the parts in a study's log are read; "levels" is what version 0.1.0 called a category.
PARTS: dict[str, Callable[..., Part]] = {
    "number": Number,
    "levels": lambda name, levels, missing=False: Category(name, tuple(levels), missing),
    "vector": lambda name, means, *rest: Vector(name, tuple(means), *rest),
    "text": lambda name, words, pieces, *rest: Text(name, tuple(words), tuple(pieces), *rest),
    "model text": lambda name, model, digest, means, *rest: ModelText(
        name, model, digest, tuple(means), *rest
    ),
}


@dataclass(frozen=True)
class Encoder:
    """Fitted preprocessing: the same columns give the same features in memory and in a stream.

    Numbers, booleans and dates (in days) are standardised. Texts become one feature for each level but the
    first. Free text becomes the main directions of its n-grams. A column with missing values also has a
    feature that says where; a missing number becomes the mean. Identifiers, columns with too many levels and
    columns with one value are left out.

    Attributes
    ----------
    parts : tuple of Part
        In the order of the features.
    fitted_on : str
        What it was fitted on, in words.
    left_out : dict
        Columns that are no features, and why.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fairask.tables import fit_encoder
    >>> table = pa.table({"age": [20, 40, None], "job": ["b", "a", "c"], "country": ["x"] * 3})
    >>> encoder = fit_encoder(table)
    >>> encoder.feature_names_out
    ['age', 'age is missing', 'job=b', 'job=c']
    >>> encoder.transform(table).tolist()
    [[-1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    >>> encoder.left_out
    {'country': 'one value only'}
    """

    parts: tuple[Part, ...]
    fitted_on: str = "nothing: columns are used as they are"
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [part.name for part in self.parts]

    @property
    def feature_names_out(self) -> list[str]:
        """Names of the features, in order; a level's feature is named ``column=level``."""
        return [name for part in self.parts for name in part.features]

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the features, as scikit-learn's transformers do."""
        return np.array(self.feature_names_out, dtype=object)

    def __call__(self, batch: Arrow) -> npt.NDArray[np.float32]:
        """Encode a record batch in single precision; the matrix is stored feature by feature."""
        out = np.empty((len(self.feature_names_out), batch.num_rows), dtype=np.float32)
        self._write({part.name: batch.column(part.name) for part in self.parts}, out)
        return out.T

    def transform(self, data: Arrow) -> npt.NDArray[np.float64]:
        """Encode a table, a data frame, a mapping of columns, or a matrix of :attr:`columns` in order."""
        if isinstance(data, Mapping):
            batches: list[Mapping[str, Column]] = [data]
        elif isinstance(data, np.ndarray | list):
            matrix = np.asarray(data, dtype=object)
            if matrix.ndim != 2 or matrix.shape[1] != len(self.parts):
                raise TableError(
                    f"a matrix of shape {matrix.shape} was given",
                    f"Give one column for each of: {', '.join(self.columns)}",
                )
            batches = [{part.name: matrix[:, i] for i, part in enumerate(self.parts)}]
        else:
            parts = frame_table(data, self.columns).to_batches()
            batches = [{name: part.column(name) for name in self.columns} for part in parts]
        widths = [len(next(iter(batch.values()))) for batch in batches]
        out = np.empty((len(self.feature_names_out), sum(widths)), dtype=np.float64)
        at = 0
        for batch, rows in zip(batches, widths, strict=True):
            self._write(batch, out[:, at : at + rows])
            at += rows
        return np.ascontiguousarray(out.T)

    def _write(self, batch: Mapping[str, Column], out: Out) -> None:
        at = 0
        for part in self.parts:
            width = len(part.features)
            part.write(batch[part.name], out[at : at + width])
            at += width

    @property
    def unusable(self) -> dict[str, str]:
        """Columns left out because a model cannot learn from them, and why."""
        return {name: why for name, why in self.left_out.items() if why != CONSTANT}

    def notes(self) -> list[str]:
        """Say what was done to columns that their owner should know."""
        constant = [name for name, why in self.left_out.items() if why == CONSTANT]
        unusable = [f"{name!r} ({why})" for name, why in self.unusable.items()]
        texts = [part.name for part in self.parts if isinstance(part, Text | ModelText)]
        wordy = [
            f"{part.name!r} ({len(part.levels)} values; --text {shlex.quote(part.name)} learns from their "
            "words)"
            for part in self.parts
            if isinstance(part, Category)
            and len(part.levels) > FEW_LEVELS
            and count_words(part.levels) > WORDS_OF_NAMES
        ]
        marked = [part.name for part in self.parts if f"{part.name} is missing" in part.features]
        return [
            *([f"columns of free text train the model by their words: {listed(texts)}"] if texts else []),
            *([f"short texts are categories, one for each value: {', '.join(wordy)}"] if wordy else []),
            *([f"columns with one value were left out: {listed(constant)}"] if constant else []),
            *(
                [f"columns that a model cannot learn from were left out: {', '.join(unusable)}"]
                if unusable
                else []
            ),
            *([f"missing values were filled in, with an indicator: {listed(marked)}"] if marked else []),
        ]

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        parts = [part.to_list() for part in self.parts]
        return {"parts": parts, "fitted_on": self.fitted_on, "left_out": dict(self.left_out)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Arrow]) -> Encoder:
        """Rebuild from :meth:`to_dict`, also of version 0.1.0."""
        parts = tuple(PARTS[kind](*rest) for kind, *rest in data["parts"])
        return cls(parts, data["fitted_on"], data.get("left_out", {}))

    # A model file holds the encoder as JSON: its parts may be built in another way in a later version.
    def __getstate__(self) -> dict[str, str]:
        return {"encoder": json.dumps(self.to_dict())}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(Encoder.from_dict(json.loads(state["encoder"])).__dict__)


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


@dataclass(frozen=True)
class TextColumns:
    """Which columns are free text, besides those that look like it.

    Attributes
    ----------
    names : sequence of str
        Columns to read as free text, however few different values they have.
    model : str, optional
        Folder of a model2vec or sentence-transformers model that makes vectors of texts; by default word
        and character n-grams are counted.
    """

    names: Sequence[str] = ()
    model: str | None = None

    def check(self, columns: Sequence[str]) -> None:
        """Raise TableError for a column that cannot be learned from."""
        for name in self.names:
            if name not in columns:
                raise TableError(f"--text: no column {name!r} to learn from", suggest(name, columns))

    def part(self, name: str, tally: Tally) -> Part | str | None:
        """Return what a column becomes."""
        if not isinstance(tally, CategoryTally):
            if name in self.names:
                raise TableError(f"--text: column {name!r} does not hold texts", "Leave it out of --text")
            return tally.finish(name)
        if not (name in self.names or tally.is_text):
            return tally.finish(name)
        texts, missing = tally.texts(), tally.missing > 0
        if not texts:
            return None
        if self.model is not None:
            return fit_model_text(name, texts, missing, self.model)
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
            found = self.unusable.get(name) if tally is None else text.part(name, tally)
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


def fit_encoder(
    table: Arrow, columns: Sequence[str] | None = None, text: TextColumns | None = None
) -> Encoder:
    """Fit an encoder to a pyarrow table in memory.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fit_encoder(pa.table({"job": ["b", "a"]})).feature_names_out
    ['job=b']
    """
    names = list(table.column_names if columns is None else columns)
    found = survey(table.select(names).to_batches(), names)
    return found.encoder(names, f"all {table.num_rows:,} rows", text=text)
