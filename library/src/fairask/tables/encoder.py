"""Columns become features: what each kind of column becomes, learned from a table and applied to any rows."""

from __future__ import annotations

import datetime
import json
import math
import re
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fairask.errors import InputWarning, TableError, suggest
from fairask.tables.arrow import Arrow, Column, Out, frame_table, is_text, kind_of, optional
from fairask.tables.cells import (
    MOST_LEVELS,
    Reading,
    as_numbers,
    coded,
    crowded,
    listed,
    recognise_all,
    text_of,
    unread_number,
    without_gaps,
)
from fairask.tables.text import (
    WORDS_OF_NAMES,
    WORDS_OF_TEXT,
    ModelText,
    Text,
    count_words,
    fit_model_text,
    fit_text,
    sample_texts,
)

Values = npt.NDArray[np.float64]

#: The level of a column that was kept with too many values: all but the most frequent ones.
REST = "(rest)"
#: Why a column with one value is left out.
CONSTANT = "one value only"
#: Numbers from 2 up to this may be people's ages.
_OLDEST = 120
#: Rows from which on their numbers are compared with those of the fit as a whole, the share of them that may
#: be beyond a percentile of it, and how many times larger or smaller they must be to be in another unit.
_ENOUGH, _MOST_BEYOND, _OTHER_UNIT = 20, 0.25, 30.0
#: Columns that are named in a warning.
_NAMED = 5
#: Texts with so many different values, or fewer, are answers to choose from, however many words they have.
FEW_LEVELS = 12
#: How the names of columns look that hold identifiers.
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|nr|no|number)$|^id|[a-z]I[dD]$", re.IGNORECASE)


class Part(Protocol):
    """What one column becomes: named features. A new kind of column needs a part and a way to fit it."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def missing(self) -> bool:
        """Whether one of the features is 1 where the value is missing."""

    @property
    def features(self) -> list[str]:
        """Names of the features."""

    def write(self, column: Column, out: Out) -> None:
        """Write the features of a batch into ``out`` of shape (features, rows)."""

    def to_list(self) -> list[object]:
        """Return plain values for JSON; the first is a key of ``PARTS``."""


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
class Seen:
    """What a column of numbers held when the encoder was fitted.

    Attributes
    ----------
    kind : {"number", "boolean", "date"}
    low, high : float
        Percentiles 1 and 99; of dates, in days.
    size : float
        Median of the absolute values other than 0.
    """

    kind: str
    low: float = 0.0
    high: float = 0.0
    size: float = 0.0

    @classmethod
    def of(cls, kind: str, values: Values) -> Seen:
        """Look at the values of a column, NaN where missing."""
        known = values[np.isfinite(values)]
        if not len(known):
            return cls(kind)
        low, high = np.percentile(known, [1, 99])
        return cls(kind, float(low), float(high), _size(known))

    def differs(self, values: Values) -> str | None:
        """Say how other values of the column are unlike these; None if they are like them.

        >>> pay = Seen.of("number", np.arange(20_000.0, 60_000.0, 400.0))
        >>> pay.differs(np.arange(20.0, 60.0)), pay.differs(np.full(30, 30_000.0))
        ('40 of 40 known values are below 20396, and 1 % of the fitted were', None)
        """
        known = values[np.isfinite(values)]
        span = self.high - self.low
        if not len(known) or self.kind == "boolean" or not span > 0.0:
            return None
        n = len(known)
        far, most = (0.0, _MOST_BEYOND) if n >= _ENOUGH else (10.0 * span, 0.5)
        for side, bound, beyond in (
            ("below", self.low, known < self.low - far),
            ("above", self.high, known > self.high + far),
        ):
            if (count := int(np.count_nonzero(beyond))) > most * n:
                return f"{count:,} of {n:,} known values are {side} {bound:.5g}, and 1 % of the fitted were"
        size = _size(known)
        if n >= _ENOUGH and size and self.size and not 1 / _OTHER_UNIT < size / self.size < _OTHER_UNIT:
            return f"values are about {size:.2g} in size, and the fitted were about {self.size:.2g}"
        return None

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return [self.kind, self.low, self.high, self.size]


def _size(known: Values) -> float:
    sizes = np.abs(known[known != 0.0])
    return float(np.median(sizes)) if len(sizes) else 0.0


def fit_number(name: str, column: Arrow, *, keep: bool = False) -> Number | Category | str | None:
    """Return the part of a column of numbers, why it cannot train, or None where it has one value only."""
    values = as_numbers(column, name)
    # Whole numbers only: a measurement may well be different in every row.
    whole = values.dtype.kind in "iu" or optional("pyarrow", "parquet").types.is_integer(column.type)
    numbers = values.astype(np.float64)
    known = numbers[~np.isnan(numbers)]
    if np.isinf(known).any():
        raise TableError(
            f"column {name!r} is infinite in data row {np.flatnonzero(np.isinf(numbers))[0] + 1}",
            "Correct the value, or leave the column out",
        )
    n, missing = len(known), len(known) < len(numbers)
    if not n:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(known.mean())
        squares = float(np.square(known - mean).sum())
    if not math.isfinite(squares):
        raise TableError(
            f"column {name!r} has numbers up to {known.max():g}, too large to standardise",
            "Give them in another unit, or leave the column out",
        )
    if whole and not keep and _names_rows(name, known):
        return f"an identifier: {n:,} different whole numbers; {_keeps(name)}"
    if not squares > 0.0:
        # One value: whether it is there may still tell rows apart.
        value = next(text for value in coded(column)[0] if (text := text_of(value)) is not None)
        return Category(name, (value,), missing=True) if missing else None
    # Rounded, because the last bits depend on how a sum is taken and features must not.
    scale = _rounded(math.sqrt(squares / n))
    mean = round(mean / scale * 2**20) / 2**20 * scale
    return Number(name, mean, scale, missing=missing)


def _names_rows(name: str, values: Values) -> bool:
    """Whether whole numbers are different in (nearly) every row, and count rows or are named so."""
    n = len(values)
    if n < 20:
        return False
    different, low, high = len(np.unique(values)), values.min(), values.max()
    ages = low > 1 and high <= _OLDEST
    counts = high - low < 1.5 * n and not ages
    return different >= (n if n <= 1024 else 0.9 * n) and bool(counts or _ID_NAME.search(name))


def _keeps(name: str) -> str:
    return f"--keep {shlex.quote(name)} learns from it"


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
            text = text_of(value)
            table[at] = -1 if text is None else number.get(text, 0)
        level = table[codes]
        for code in range(1, len(self.levels)):
            out[code - 1] = level == code
        if self.missing:
            out[-1] = level == -1

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return ["category", self.name, list(self.levels), self.missing]


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


def fit_category(
    name: str, column: Arrow, text: TextColumns, *, keep: bool = False
) -> Category | Text | ModelText | str | None:
    """Return the part of a column of texts, why it cannot train, or None where it has one value only.

    A column with too many values to learn from, if it is to be kept, has a feature for each of its most
    frequent ones.
    """
    values, codes = coded(column)
    # Not the dictionary alone: it may hold levels that do not occur.
    rows = np.bincount(codes[codes >= 0], minlength=len(values))
    found = [(text_of(value), int(n)) for value, n in zip(values, rows, strict=True) if n]
    known = sum(n for word, n in found if word is not None)
    levels = sorted({word for word, _ in found if word is not None})
    n, missing = len(levels), known < len(codes)
    too_many = crowded(n, known)
    words = sample_texts(levels) if n > MOST_LEVELS else levels
    if levels and (name in text.names or (too_many and count_words(words) > WORDS_OF_TEXT)):
        if text.model is not None:
            return fit_model_text(name, words, missing, text.model)
        return fit_text(name, words, missing)
    if too_many and keep:
        found.sort(key=lambda one: (-one[1], str(one[0])))
        often = sorted(word for word, _ in found[: MOST_LEVELS + missing] if word is not None)[:MOST_LEVELS]
        return Category(name, (REST, *often), missing)
    if too_many:
        if (number := unread_number(words)) is not None:
            return f"numbers written as texts, such as {number!r}; {_keeps(name)} as categories"
        how_many = f"more than {MOST_LEVELS}" if n > MOST_LEVELS else f"{n:,}"
        why = f"{how_many} different values in {known:,} rows"
        wordy = count_words(words) > WORDS_OF_NAMES  # short texts rather than codes or names
        if wordy:
            return f"{why}; --text {shlex.quote(name)} learns from their words"
        return f"{why}; --keep {shlex.quote(name)} learns from the {MOST_LEVELS} most frequent ones"
    return Category(name, tuple(levels), missing) if n + missing > 1 else None


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


def fit_vector(name: str, column: Arrow) -> Vector | str | None:
    """Return the part of a column of vectors, why it cannot train, or None where it has one value only."""
    try:
        vectors, known = _matrix(column, name)
    except TableError as error:
        return error.what
    spread = float(vectors.std(axis=0).max(initial=0.0)) if len(vectors) else 0.0
    if not spread > 0.0:
        return None
    # Rounded, because the last bits depend on how a sum is taken and features must not.
    scale = float(f"{spread:.6g}")
    means = np.round(vectors.mean(axis=0) / scale * 2**16) / 2**16 * scale
    return Vector(name, tuple(means.tolist()), scale, not bool(known.all()))


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


#: How parts are read from JSON.
PARTS: dict[str, Callable[..., Part]] = {
    "number": Number,
    "category": lambda name, levels, missing=False: Category(name, tuple(levels), missing),
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
    readings : dict
        How texts are written that mean numbers, dates or vectors, by column.
    seen : dict
        What columns of numbers held when the encoder was fitted. Rows to encode are compared with it: a date
        in place of a number is refused, and a warning names columns whose values are others.

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
    readings: Mapping[str, Reading] = field(default_factory=dict)
    seen: Mapping[str, Seen] = field(default_factory=dict)

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
        self._write({part.name: self._read(part, batch.column(part.name)) for part in self.parts}, out)
        return out.T

    def transform(self, data: Arrow) -> npt.NDArray[np.float64]:
        """Encode a table, a data frame, a mapping of columns, or a matrix of :attr:`columns` in order.

        A column that is unlike the one of the fit is named by an ``InputWarning``, or refused where its
        values mean something else.
        """
        columns: Mapping[str, Column]
        if isinstance(data, Mapping):
            if gone := [name for name in self.columns if name not in data]:
                raise TableError(f"there is no column {gone[0]!r}", suggest(gone[0], list(data)))
            single = [name for name in self.columns if data[name] is None or np.isscalar(data[name])]
            if single:
                raise TableError(
                    f"column {single[0]!r} is one value, {data[single[0]]!r}",
                    "Give a list for each column, also for one row",
                )
            columns = data
        elif isinstance(data, np.ndarray | list):
            matrix = np.asarray(data, dtype=object)
            if matrix.ndim != 2 or matrix.shape[1] != len(self.parts):
                raise TableError(
                    f"a matrix of shape {matrix.shape} was given",
                    f"Give one column for each of: {', '.join(self.columns)}",
                )
            columns = {part.name: matrix[:, i] for i, part in enumerate(self.parts)}
        else:
            table = frame_table(data, self.columns).combine_chunks()
            columns = {name: table.column(name) for name in self.columns}
        columns = {part.name: self._read(part, columns[part.name]) for part in self.parts}
        out = np.empty((len(self.feature_names_out), len(columns[self.columns[0]])), dtype=np.float64)
        self._write(columns, out)
        if unlike := list(filter(None, (self._unlike(part, columns[part.name]) for part in self.parts))):
            warnings.warn(
                "rows are unlike those that the model was fitted on: "
                + "; ".join(unlike[:_NAMED])
                + (f"; and {len(unlike) - _NAMED:,} more columns" if len(unlike) > _NAMED else ""),
                InputWarning,
                stacklevel=3,
            )
        return np.ascontiguousarray(out.T)

    def _unlike(self, part: Part, column: Column) -> str | None:
        """Say how a column differs from the one of the fit."""
        if isinstance(part, Number) and part.name in self.seen:
            numbers = as_numbers(column, part.name).astype(np.float64)
            gone, why = np.isnan(numbers), self.seen[part.name].differs(numbers)
        elif isinstance(part, Category) and REST not in part.levels:
            values, codes = coded(column)
            gone, why = codes < 0, _new_levels(part, values, codes)
        else:
            return None
        n = int(gone.sum())
        if len(gone) >= _ENOUGH and n == len(gone):
            why = f"all {n:,} values are missing, and some were known when it was fitted"
        elif not part.missing and len(gone) >= _ENOUGH and 2 * n > len(gone):
            why = f"{n:,} of {len(gone):,} values are missing, and none was when it was fitted"
        return why and f"column {part.name!r}: {why}"

    def _read(self, part: Part, column: Column) -> Column:
        """Return a column with its texts read as they were for the fit."""
        column = without_gaps(column)
        if part.name in self.readings and _is_text(column):
            # Words among numbers were gaps when the encoder was fitted, or there were none.
            column = self.readings[part.name].read(column, strict=None if part.missing else part.name)
        if part.name in self.seen:
            _check_kind(part.name, self.seen[part.name].kind, column)
        return column

    def _write(self, batch: Mapping[str, Column], out: Out) -> None:
        at = 0
        for part in self.parts:
            width = len(part.features)
            column = batch[part.name]
            part.write(column, out[at : at + width])
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
        marked = [part.name for part in self.parts if part.missing]
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
        return {
            "parts": parts,
            "fitted_on": self.fitted_on,
            "left_out": dict(self.left_out),
            "readings": {name: reading.to_list() for name, reading in self.readings.items()},
            "seen": {name: seen.to_list() for name, seen in self.seen.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Arrow]) -> Encoder:
        """Rebuild from :meth:`to_dict`."""
        parts = tuple(PARTS[kind](*rest) for kind, *rest in data["parts"])
        readings = {name: Reading(*values) for name, values in data["readings"].items()}
        seen = {name: Seen(*values) for name, values in data["seen"].items()}
        return cls(parts, data["fitted_on"], data["left_out"], readings, seen)

    # A model file holds the encoder as JSON: its parts may be built in another way in a later version.
    def __getstate__(self) -> dict[str, str]:
        return {"encoder": json.dumps(self.to_dict())}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(Encoder.from_dict(json.loads(state["encoder"])).__dict__)


def _new_levels(part: Category, values: Sequence[object], codes: npt.NDArray[np.int64]) -> str | None:
    """Say that most values are none of the categories, if they are."""
    words = [text_of(value) for value in values]
    new = [at for at, word in enumerate(words) if word is not None and word not in part.levels]
    unknown, known = int(np.isin(codes, new).sum()), int((codes >= 0).sum())
    if 2 * unknown <= known:
        return None
    return (
        f"{unknown:,} of {known:,} known values are none of its {len(part.levels):,} categories, such as "
        f"{str(words[new[0]])[:40]!r}"
    )


def _is_text(column: Column) -> bool:
    if isinstance(column, Sequence | np.ndarray):
        return any(isinstance(value, str) for value in column)
    kind = column.type
    if optional("pyarrow", "parquet").types.is_dictionary(kind):
        kind = kind.value_type
    return is_text(kind)


def _check_kind(name: str, kind: str, column: Column) -> None:
    """Refuse numbers in place of dates, and dates in place of numbers: there is no telling what they mean."""
    if isinstance(column, Sequence | np.ndarray):
        values = np.asarray(column)
        if values.dtype.kind == "O":
            dates = any(isinstance(value, datetime.date) for value in values)
            numbers = any(isinstance(value, int | float) and value == value for value in values)
        else:
            dates, numbers = values.dtype.kind in "mM", values.dtype.kind in "iuf"
    else:
        dates, numbers = (kind_of(column.type) == one for one in ("date", "number"))
    if (kind == "date" and numbers) or (kind != "date" and dates):
        given, meant = ("numbers", "dates") if numbers else ("dates", "numbers")
        raise TableError(
            f"column {name!r} holds {given}, and held {meant} when the model was fitted",
            f"Give {meant}, as then",
        )


def fit_encoder(
    table: Arrow,
    columns: Sequence[str] | None = None,
    text: TextColumns | None = None,
    *,
    keep: Collection[str] = (),
    fitted_on: str | None = None,
    required: Iterable[str] = (),
) -> Encoder:
    """Fit an encoder to a data frame.

    Parameters
    ----------
    table : data frame
    columns : sequence of str, optional
        Columns to make features of; by default all.
    text : TextColumns, optional
        Which columns are free text, besides those that look like it.
    keep : collection of str
        Columns to learn from although they look like identifiers or have too many values; of texts the most
        frequent values become features.
    fitted_on : str, optional
        What the table is, in words.
    required : iterable of str
        Columns that must become features; one that cannot is an error.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fit_encoder(pa.table({"job": ["b", "a"], "pay": ["$1,200", "$950"]})).feature_names_out
    ['job=b', 'pay']
    """
    table = frame_table(table)
    names = list(table.column_names if columns is None else columns)
    text = TextColumns() if text is None else text
    text.check(names)
    for name in keep:
        if name not in names:
            raise TableError(f"--keep: no column {name!r} to learn from", suggest(name, names))
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    readings: dict[str, Reading] = {}
    seen: dict[str, Seen] = {}
    recognised = recognise_all({name: table.column(name) for name in names if name not in text.names})
    for name in names:
        column, reading = without_gaps(table.column(name)), Reading.of(table.schema.field(name))
        if name in recognised and (found_out := recognised[name]).reading is not None:
            column, reading = found_out.values, found_out.reading
        found = _fit_part(name, column, text, keep=name in keep)
        if found is None or isinstance(found, str):
            left_out[name] = found or CONSTANT
            continue
        parts.append(found)
        if reading is not None:
            readings[name] = reading
        if isinstance(found, Number):
            kind = str(kind_of(column.type))
            seen[name] = Seen.of(kind, as_numbers(column, name).astype(np.float64))
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
    return Encoder(tuple(parts), fitted_on or f"all {table.num_rows:,} rows", left_out, readings, seen)


def _fit_part(name: str, column: Arrow, text: TextColumns, *, keep: bool) -> Part | str | None:
    kind = kind_of(column.type)
    if kind == "category":
        return fit_category(name, column, text, keep=keep)
    if name in text.names:
        raise TableError(f"--text: column {name!r} does not hold texts", "Leave it out of --text")
    if kind is None:
        types = optional("pyarrow", "parquet").types
        nested = types.is_nested(column.type)
        return f"nested values ({column.type})" if nested else f"values of type {column.type}"
    return fit_vector(name, column) if kind == "vector" else fit_number(name, column, keep=keep)
