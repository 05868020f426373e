"""From the columns of a table to a float32 feature matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.data.extras import optional
from fairask.pools.survey import Survey, is_number, is_text

__all__ = ["Encoder", "Levels", "Number", "plain_encoder"]

Single = NDArray[np.float32]


@dataclass(frozen=True)
class Number:
    """``(value - mean) / scale``; a missing value becomes the mean, or is refused if ``fill`` is off."""

    name: str
    mean: float = 0.0
    scale: float = 1.0
    fill: bool = True

    @property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        return [self.name]

    def write(self, column: Any, out: Single) -> None:
        """Write this column's feature into ``out`` of shape (1, rows)."""
        # A float stays what it is: a feature must not depend on whether its block has missing values.
        if column.null_count and not optional("pyarrow", "parquet").types.is_floating(column.type):
            column = optional("pyarrow.compute", "parquet").cast(column, "float64")
        values = column.to_numpy(zero_copy_only=False)
        feature = out[0]
        if self.mean == 0.0 and self.scale == 1.0:
            feature[:] = values
        elif values.dtype == np.float32:
            np.subtract(values, np.float32(self.mean), out=feature)
            feature *= np.float32(1.0 / self.scale)
        else:
            # Large whole numbers and doubles are centred before they lose digits.
            feature[:] = (values.astype(np.float64) - self.mean) * (1.0 / self.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.isfinite(feature.sum())  # one cheap look; large numbers may also overflow it
        if not sound:
            self._repair(feature)

    def _repair(self, feature: Single) -> None:
        if np.isinf(feature).any():
            raise ValueError(f"column {self.name!r} has infinite values; clip them or leave the column out")
        missing = np.isnan(feature)
        if missing.any() and not self.fill:
            raise ValueError(
                f"column {self.name!r} has missing values; use preprocess='standardize', which fills them"
            )
        feature[missing] = 0.0


@dataclass(frozen=True)
class Levels:
    """One feature for each level but the first; missing and unknown values have none of them set."""

    name: str
    levels: tuple[str, ...]

    @property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        return [f"{self.name}={level}" for level in self.levels[1:]]

    def write(self, column: Any, out: Single) -> None:
        """Write this column's features into ``out`` of shape (levels - 1, rows)."""
        pc = optional("pyarrow.compute", "parquet")
        encoded = column if hasattr(column, "dictionary") else pc.dictionary_encode(column)
        number = {level: code for code, level in enumerate(self.levels)}
        table = np.array([number.get(v, 0) for v in encoded.dictionary.to_pylist()] + [0], dtype=np.int64)
        index = encoded.indices
        if index.null_count:
            index = pc.fill_null(index, len(table) - 1)
        codes = table[index.to_numpy(zero_copy_only=False).astype(np.int64)]
        for code in range(1, len(self.levels)):
            out[code - 1] = codes == code


@dataclass(frozen=True)
class Encoder:
    """Fitted preprocessing: numbers standardised and filled, texts one-hot without their first level.

    Attributes
    ----------
    parts : tuple of Number and Levels
        In the order of the features.
    fitted_on : str
        What the numbers in it come from, in words.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fairask.pools.survey import survey
    >>> batch = pa.record_batch({"age": [20, 40, None], "job": ["b", "a", "c"]})
    >>> encoder = Encoder.fit(survey([batch], ["age", "job"], []), ["age", "job"], "all 3 rows")
    >>> encoder.features
    ['age', 'job=b', 'job=c']
    >>> encoder(batch).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    parts: tuple[Number | Levels, ...]
    fitted_on: str

    @classmethod
    def fit(cls, found: Survey, columns: Sequence[str], fitted_on: str) -> Encoder:
        """Make the encoder that a survey calls for; columns with one value only are left out."""
        return cls(tuple(_plan(found, columns)), fitted_on)

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [part.name for part in self.parts]

    @property
    def features(self) -> list[str]:
        """Names of the features, in order; a level's feature is named ``column=level``."""
        return [name for part in self.parts for name in part.features]

    def __call__(self, batch: Any) -> Single:
        """Encode a record batch; the matrix is stored feature by feature, as the columns are."""
        out = np.empty((len(self.features), batch.num_rows), dtype=np.float32)
        at = 0
        for part in self.parts:
            width = len(part.features)
            part.write(batch.column(part.name), out[at : at + width])
            at += width
        return out.T


def _plan(found: Survey, columns: Sequence[str]) -> Iterator[Number | Levels]:
    for name in columns:
        if name in found.levels:
            if len(levels := sorted(found.levels[name])) > 1:
                yield Levels(name, tuple(levels))
            continue
        moments = found.numbers[name]
        if not moments.squares > 0.0:
            continue
        # Rounded, because the last bits depend on how the rows are cut into blocks and features must not.
        scale = _rounded(math.sqrt(moments.squares / moments.n))
        yield Number(name, round(moments.mean / scale * 2**20) / 2**20 * scale, scale)


def _rounded(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**20), exponent - 20)


def plain_encoder(schema: Any, columns: Sequence[str]) -> Encoder:
    """Numbers as they are, for tables that were prepared beforehand.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_encoder(pa.schema([("a", pa.float32())]), ["a"]).fitted_on
    'nothing: columns are used as they are'
    """
    for name in columns:
        if is_text(kind := schema.field(name).type) or not is_number(kind):
            raise ValueError(
                f"column {name!r} has type {kind}; preprocess='none' takes numbers, "
                "preprocess='standardize' also texts"
            )
    return Encoder(
        tuple(Number(name, fill=False) for name in columns), "nothing: columns are used as they are"
    )
