"""Columns become features: what each kind of column becomes, learned from a table and applied to any rows."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError, suggest
from fairask.tables.arrow import Arrow, Column, Out, frame_table, is_text, kind_of, optional
from fairask.tables.cells import Reading, as_numbers, coded, listed, recognise, text_of, unread_number
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

#: Most levels of a text column. More would give more features than a few hundred labels can tell apart.
MOST_LEVELS = 100
#: Why a column with one value is left out.
CONSTANT = "one value only"
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


def fit_number(name: str, column: Arrow) -> Number | Category | str | None:
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
    if whole and _names_rows(name, known):
        return f"an identifier: {n:,} different whole numbers"
    if not squares > 0.0:
        # One value: whether it is there may still tell rows apart.
        return Category(name, (f"{mean:g}",), missing=True) if missing else None
    # Rounded, because the last bits depend on how a sum is taken and features must not.
    scale = _rounded(math.sqrt(squares / n))
    mean = round(mean / scale * 2**20) / 2**20 * scale
    return Number(name, mean, scale, missing=missing)


def _names_rows(name: str, values: Values) -> bool:
    """Whether whole numbers are different in (nearly) every row, and count rows or are named so."""
    n = len(values)
    if n < 20:
        return False
    different = len(np.unique(values))
    counts = values.max() - values.min() < 1.5 * n
    return different >= (n if n <= 1024 else 0.9 * n) and bool(counts or _ID_NAME.search(name))


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


def fit_category(name: str, column: Arrow, text: TextColumns) -> Category | Text | ModelText | str | None:
    """Return the part of a column of texts, why it cannot train, or None where it has one value only."""
    values, codes = coded(column)
    # Not the dictionary alone: it may hold levels that do not occur.
    rows = np.bincount(codes[codes >= 0], minlength=len(values))
    found = [(text_of(value), int(n)) for value, n in zip(values, rows, strict=True) if n]
    known = sum(n for word, n in found if word is not None)
    levels = sorted({word for word, _ in found if word is not None})
    n, missing = len(levels), known < len(codes)
    crowded = n > MOST_LEVELS or (n > 20 and n > 0.5 * known)
    words = sample_texts(levels) if n > MOST_LEVELS else levels
    if levels and (name in text.names or (crowded and count_words(words) > WORDS_OF_TEXT)):
        if text.model is not None:
            return fit_model_text(name, words, missing, text.model)
        return fit_text(name, words, missing)
    if crowded:
        if (number := unread_number(words)) is not None:
            return f"numbers written as texts, such as {number!r}"
        how_many = f"more than {MOST_LEVELS}" if n > MOST_LEVELS else f"{n:,}"
        why = f"{how_many} different values in {known:,} rows"
        wordy = count_words(words) > WORDS_OF_NAMES  # short texts rather than codes or names
        return f"{why}; --text {shlex.quote(name)} learns from their words" if wordy else why
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
            column = batch[part.name]
            if part.name in self.readings and _is_text(column):
                # Words among numbers were gaps when the encoder was fitted, or there were none.
                gaps = f"{part.name} is missing" in part.features
                column = self.readings[part.name].read(column, strict=None if gaps else part.name)
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
        return {
            "parts": parts,
            "fitted_on": self.fitted_on,
            "left_out": dict(self.left_out),
            "readings": {name: reading.to_list() for name, reading in self.readings.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Arrow]) -> Encoder:
        """Rebuild from :meth:`to_dict`."""
        parts = tuple(PARTS[kind](*rest) for kind, *rest in data["parts"])
        readings = {name: Reading(*values) for name, values in data["readings"].items()}
        return cls(parts, data["fitted_on"], data["left_out"], readings)

    # A model file holds the encoder as JSON: its parts may be built in another way in a later version.
    def __getstate__(self) -> dict[str, str]:
        return {"encoder": json.dumps(self.to_dict())}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(Encoder.from_dict(json.loads(state["encoder"])).__dict__)


def _is_text(column: Column) -> bool:
    if isinstance(column, Sequence | np.ndarray):
        return any(isinstance(value, str) for value in column)
    kind = column.type
    if optional("pyarrow", "parquet").types.is_dictionary(kind):
        kind = kind.value_type
    return is_text(kind)


def fit_encoder(
    table: Arrow,
    columns: Sequence[str] | None = None,
    text: TextColumns | None = None,
    *,
    fitted_on: str | None = None,
    required: Iterable[str] = (),
) -> Encoder:
    """Fit an encoder to a pyarrow table in memory.

    Parameters
    ----------
    table : pyarrow.Table
    columns : sequence of str, optional
        Columns to make features of; by default all.
    text : TextColumns, optional
        Which columns are free text, besides those that look like it.
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
    names = list(table.column_names if columns is None else columns)
    text = TextColumns() if text is None else text
    text.check(names)
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    readings: dict[str, Reading] = {}
    for name in names:
        column = table.column(name)
        if name not in text.names and (read := recognise(column)) is not None and read.reading is not None:
            column, readings[name] = read.values, read.reading
        found = _fit_part(name, column, text)
        if found is None or isinstance(found, str):
            left_out[name] = found or CONSTANT
            readings.pop(name, None)
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
    return Encoder(tuple(parts), fitted_on or f"all {table.num_rows:,} rows", left_out, readings)


def _fit_part(name: str, column: Arrow, text: TextColumns) -> Part | str | None:
    kind = kind_of(column.type)
    if kind == "category":
        return fit_category(name, column, text)
    if name in text.names:
        raise TableError(f"--text: column {name!r} does not hold texts", "Leave it out of --text")
    if kind is None:
        types = optional("pyarrow", "parquet").types
        nested = types.is_nested(column.type)
        return f"nested values ({column.type})" if nested else f"values of type {column.type}"
    return fit_vector(name, column) if kind == "vector" else fit_number(name, column)
