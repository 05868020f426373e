"""Columns of vectors, such as embeddings: lists of numbers of one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow, Column, Out, optional

Values = npt.NDArray[np.float64]


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
