"""A table in the user's own engine: Polars, DuckDB, Ibis or PySpark, through narwhals.

The table needs whole numbers that tell its rows apart and order them. A Polars frame counts its rows, a table
of DuckDB has its ``rowid``, any other names a column (:func:`keyed`). Blocks are ranges of that key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairask.errors import UserError, suggest
from fairask.metrics import Int
from fairask.pools.sources.parquet import FileRecord
from fairask.tables.arrow import Arrow, kind_of, optional

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

#: Rows of a block, about.
_BLOCK = 1 << 18
#: Keys that are held at a time to see that none occurs twice.
_CHECKED = 1 << 22
#: Rows up to which each is fetched by a slice of its own; more are found by one scan.
_SLICED = 100
#: The column that holds the key inside queries.
KEY = "__fairask_key__"
#: The engine that multiplies faster in single precision.
_SINGLE = "polars"


class KeyRange(NamedTuple):
    """A block: keys from ``first`` up to ``last``, which is not in it."""

    first: int
    last: int


def is_engine_frame(source: object) -> bool:
    """Whether a source is a lazy frame of Polars, or a table of DuckDB, Ibis or PySpark; imports none.

    Examples
    --------
    >>> is_engine_frame("people.parquet")
    False
    """
    kind = type(source)
    return (kind.__module__.split(".")[0].lstrip("_"), kind.__name__) in {
        ("polars", "LazyFrame"), ("duckdb", "DuckDBPyRelation"), ("ibis", "Table"), ("pyspark", "DataFrame"),
    }  # fmt: skip


def keyed(frame: object, key: str | None = None, name: str = "") -> EngineTable:
    """Return a frame of an engine as a table for :func:`fairask.pools.open_pool`.

    Parameters
    ----------
    frame : Polars LazyFrame, DuckDB relation, Ibis table or PySpark DataFrame
    key : str, optional
        A column of whole numbers, different in every row; rows are numbered in its order. It is no feature.
        By default a Polars frame's rows are counted in their order, and a table of DuckDB has its ``rowid``.
        A key with gaps takes eight bytes per row in memory, one without gaps none.
    name : str
        What the table is called where a study records it.

    Examples
    --------
    >>> import polars as pl
    >>> table = keyed(pl.LazyFrame({"age": [20, 30, 40]}))
    >>> table.sizes, table.schema.names
    ([3], ['age'])
    """
    narwhals = optional("narwhals", "parquet")
    if key is None:
        lazy = narwhals.from_native(_with_own_key(frame))
        plain = True
    else:
        lazy = narwhals.from_native(frame).lazy()
        names = lazy.collect_schema().names()
        if key not in names:
            raise UserError(f"no column {key!r} to be the key", suggest(key, names))
        if not lazy.collect_schema()[key].is_integer():
            raise UserError(f"the key {key!r} does not hold whole numbers", "Name a column that does")
        lazy = lazy.with_columns(narwhals.col(key).cast(narwhals.Int64()).alias(KEY)).drop(key)
        plain = False
    return EngineTable(lazy, plain, name)


def _with_own_key(frame: Any) -> object:
    name = type(frame).__name__
    if name == "LazyFrame":
        return frame.with_row_index(KEY).with_columns(optional("polars", "polars").col(KEY).cast(int))
    if name == "DuckDBPyRelation":
        duckdb = optional("duckdb", "duckdb")
        try:
            return frame.select(f"rowid AS {KEY}, *")
        except duckdb.Error:
            pass
    raise UserError(
        "the rows of this table have no numbers of their own",
        "Name a column of whole numbers that tells rows apart: open_pool(keyed(table, 'id'), ...)",
    )


@dataclass(frozen=True)
class EngineTable:
    """See :class:`fairask.pools.sources.TableSource`; made by :func:`keyed`.

    ``frame`` is a narwhals LazyFrame with the key in a column of its own.
    """

    frame: nw.LazyFrame[Any]
    unique: bool
    name: str = ""
    #: A connection answers one query at a time.
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def single(self) -> bool:
        """Whether scores are computed in single precision."""
        return bool(self.frame.implementation.value == _SINGLE)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns but the key."""
        return self.frame.drop(KEY).head(0).collect("pyarrow").to_native().schema

    @cached_property
    def _span(self) -> tuple[int, int, int]:
        """Rows, least key and largest key."""
        nw = optional("narwhals", "parquet")
        found = self.collect(
            self.frame.select(n=nw.len(), low=nw.col(KEY).min(), high=nw.col(KEY).max())
        ).to_pylist()[0]
        if not found["n"]:
            raise UserError("the table has no rows", "Give rows to draw from")
        return int(found["n"]), int(found["low"]), int(found["high"])

    @cached_property
    def keys(self) -> Int | None:
        """The keys, sorted; None where they have no gap, so that a row's number is its key less the first."""
        rows, low, high = self._span
        dense = high - low + 1 == rows
        if dense:
            if not self.unique:
                self._check_dense(low, high)
            return None
        keys = np.sort(self.collect(self.frame.select(KEY)).column(KEY).to_numpy().astype(np.int64))
        if (keys[1:] == keys[:-1]).any() or len(keys) != rows:
            raise UserError("the key is not different in every row", "Name a column that tells rows apart")
        return keys

    def _check_dense(self, low: int, high: int) -> None:
        """Refuse a key that occurs twice; a range of keys at a time, so that few are held."""
        for first in range(low, high + 1, _CHECKED):
            part = KeyRange(first, min(first + _CHECKED, high + 1))
            found = self.collect(self.between([part]).select(KEY)).column(KEY).to_numpy()
            seen = np.zeros(part.last - part.first, dtype=bool)
            seen[found - part.first] = True
            if not seen.all():
                raise UserError(
                    "the key is not different in every row", "Name a column that tells rows apart"
                )

    @cached_property
    def width(self) -> int:
        """Keys per block."""
        rows, low, high = self._span
        return max(1, (high - low + 1) * _BLOCK // rows) if self.keys is not None else _BLOCK

    @cached_property
    def blocks(self) -> list[KeyRange]:
        """Ranges of keys."""
        _, low, high = self._span
        return [
            KeyRange(first, min(first + self.width, high + 1)) for first in range(low, high + 1, self.width)
        ]

    @cached_property
    def sizes(self) -> list[int]:
        """Rows of each block."""
        if self.keys is None:
            return [block.last - block.first for block in self.blocks]
        ends = np.searchsorted(self.keys, [*(block.first for block in self.blocks), self.blocks[-1].last])
        return [int(n) for n in np.diff(ends)]

    def numbers(self, keys: Int) -> Int:
        """Row numbers of keys."""
        return keys - self._span[1] if self.keys is None else np.searchsorted(self.keys, keys)

    def keys_of(self, rows: Int) -> Int:
        """Keys of row numbers."""
        return rows + self._span[1] if self.keys is None else self.keys[rows]

    @cached_property
    def digest(self) -> str:
        """Digest of names, types, rows, and the number, least and largest of the values of each column."""
        narwhals = optional("narwhals", "parquet")
        told = [f for f in self.schema if kind_of(f.type) is not None]
        looks: dict[str, nw.Expr] = {}
        for i, one in enumerate(told):
            column = narwhals.col(one.name)
            looks |= {f"n {i}": column.count(), f"low {i}": column.min(), f"high {i}": column.max()}
        found = self.collect(self.frame.select(**looks)).to_pylist()[0] if looks else {}
        text = repr((str(self.schema), self._span, sorted((name, str(v)) for name, v in found.items())))
        return hashlib.sha256(text.encode()).hexdigest()

    def records(self) -> list[FileRecord]:
        """What identifies the table: name, rows and digest."""
        return [FileRecord(self.name, 0, self._span[0], self.digest)]

    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        """Run a query; the result as an Arrow table."""
        if self.single:
            pl = optional("polars", "polars")
            # A scan that several slices share would be held in memory whole.
            apart = pl.QueryOptFlags(comm_subplan_elim=False)
            return frame.to_native().collect(engine="streaming", optimizations=apart).to_arrow()
        with self._lock:
            return frame.collect("pyarrow").to_native()

    def select(self, columns: Sequence[str]) -> Sequence[KeyRange]:
        """See :class:`fairask.pools.sources.TableSource`."""
        return self.blocks

    def read(self, block: KeyRange, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See :class:`fairask.pools.sources.TableSource`."""
        names = list(dict.fromkeys(columns))
        part = self.collect(self.between([block]).select(KEY, *names))
        yield from _in_order(part).select(list(columns)).to_batches()

    def between(self, blocks: Sequence[KeyRange]) -> nw.LazyFrame[Any]:
        """The rows of these blocks."""
        narwhals = optional("narwhals", "parquet")
        if sum(block.last - block.first for block in blocks) > self._span[2] - self._span[1]:
            return self.frame
        if self.single and self.unique:
            # Slices are pushed into the scan of a file; a filter on counted rows is not.
            parts = [self.frame.to_native().slice(b.first, b.last - b.first) for b in blocks]
            joined: nw.LazyFrame[Any] = narwhals.from_native(optional("polars", "polars").concat(parts))
            return joined
        runs: list[list[int]] = []
        for block in blocks:
            if runs and runs[-1][1] == block.first:
                runs[-1][1] = block.last
            else:
                runs.append([block.first, block.last])
        key = narwhals.col(KEY)
        return self.frame.filter(
            narwhals.any_horizontal(*[(key >= a) & (key < b) for a, b in runs], ignore_nulls=True)
        )

    def fetch(self, rows: Int, columns: Sequence[str]) -> pa.Table:
        """These rows, sorted by number, as they are stored; found by their keys."""
        nw = optional("narwhals", "parquet")
        keys = self.keys_of(rows)
        if self.single and self.unique and len(keys) <= _SLICED:
            pl = optional("polars", "polars")
            native = self.frame.to_native()
            frame = nw.from_native(pl.concat([native.slice(int(key), 1) for key in keys]))
        else:
            frame = self.frame.filter(nw.col(KEY).is_in(keys.tolist()))
        return _in_order(self.collect(frame.select(KEY, *dict.fromkeys(columns)))).select(list(columns))


def _in_order(table: Arrow) -> Arrow:
    """Sorted by key, with dictionaries as plain values, in one chunk."""
    pa = optional("pyarrow", "parquet")
    table = table.sort_by(KEY)
    for i, one in enumerate(table.schema):
        if pa.types.is_dictionary(one.type):
            table = table.set_column(i, one.name, table.column(i).cast(one.type.value_type))
    return table.combine_chunks()
