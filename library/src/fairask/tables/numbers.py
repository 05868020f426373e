"""Columns of numbers, booleans and dates: one standardised feature, and one that says where it is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairask.tables.categories import Category
from fairask.tables.dates import parse_dates
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow, Column, Out, optional

Values = npt.NDArray[np.float64]

_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|nr|no|number)$|^id|[a-z]I[dD]$", re.IGNORECASE)
_DAY = 86_400.0
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


def as_numbers(column: Column, name: str = "") -> npt.NDArray[np.generic]:
    """Return a column as numbers: booleans as 0 and 1, dates and times as days, NaN where missing.

    Examples
    --------
    >>> import pyarrow as pa, datetime
    >>> as_numbers(pa.array([datetime.date(1970, 1, 3), None])), as_numbers([1, None])
    (array([ 2., nan]), array([ 1., nan]))
    >>> as_numbers(["1970-01-03"]), as_numbers(["03.01.1970"])
    (array([2.]), array([2.]))
    """
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return column
    if isinstance(column, Sequence | np.ndarray):
        try:
            return np.array([np.nan if v is None else v for v in column], dtype=np.float64)
        except (TypeError, ValueError):
            column = optional("pyarrow", "parquet").array(list(column), from_pandas=True)
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = pc.cast(column, kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _without_words(column)
        kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        micros = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
        return _floats(pc.cast(micros, pa.float64())) / (_DAY * 1e6)
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = pc.cast(column, pa.int32() if kind.bit_width == 32 else pa.int64())
        return _floats(pc.cast(whole, pa.float64())) / (_DAY * unit)
    # A float stays what it is: a feature must not depend on whether its block has missing values.
    if pa.types.is_boolean(kind) and column.null_count:
        column = pc.cast(column, pa.int8())
    if not pa.types.is_floating(kind) and (column.null_count or not _is_plain(kind)):
        try:
            column = pc.cast(column, pa.float64(), safe=False)
        except pa.ArrowException as error:
            raise TableError(
                f"column {name!r} holds something that is not a number",
                f"Correct it ({error}), or read the file with fairask.tables.read_table, which knows how "
                "dates and decimal commas are written",
            ) from error
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _without_words(column: Arrow) -> Arrow:
    """Return texts as dates where all of them are dates, as in a frame that pandas read from CSV."""
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    dates = parse_dates(column)[1]
    if dates is not None:
        return dates
    if not pc.any(pc.match_substring_regex(column, "^[0-9]{4}-[0-9]{2}-[0-9]{2}")).as_py():
        return column
    try:
        return pc.cast(column, pa.timestamp("us"))
    except pa.ArrowException:
        return column


def _floats(column: Arrow) -> Values:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_plain(kind: Arrow) -> bool:
    types = optional("pyarrow", "parquet").types
    return bool(types.is_integer(kind) or types.is_boolean(kind))


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
