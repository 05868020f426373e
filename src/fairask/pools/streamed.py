"""A pool that is read block by block: from Parquet files, or from partitions on a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.data.extras import optional
from fairask.metrics import Int
from fairask.pools import base
from fairask.pools._tasks import Chunk, Fetch, FindRows, Found
from fairask.pools.base import Pool
from fairask.pools.encode import Encoder
from fairask.pools.groups import GroupColumns
from fairask.pools.memory import MemoryPool
from fairask.pools.rows import within
from fairask.pools.runners import ProgressCallback, tracked

__all__ = ["FrameBlock", "StreamedPool", "as_block"]

#: Rows whose features are remembered once they were drawn; they are asked for again at every fit.
_MOST_KNOWN = 1 << 16
_BATCH = 1 << 16


class FrameBlock:
    """A pandas data frame as a block."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with these columns, in row order."""
        table = optional("pyarrow", "parquet").Table
        part = self.frame[list(dict.fromkeys(columns))]
        yield from table.from_pandas(part, preserve_index=False).to_batches(max_chunksize=_BATCH)


def as_block(block: Any) -> Any:
    """A block as it arrives where it is worked on: a data frame partition is wrapped there."""
    return block if hasattr(block, "batches") else FrameBlock(block)


def _columns(task: Any, encoder: Encoder, protected: GroupColumns) -> list[str]:
    """Columns that a task reads."""
    return list(dict.fromkeys([*protected.columns, *(encoder.columns if task.needs_features else ())]))


def _features(encoder: Encoder, batch: Any, rows: NDArray[Any] | None) -> Any:
    return encoder(batch if rows is None else batch.take(rows))


def _work(shared: tuple[Any, Encoder, GroupColumns], block: Any, first: int, excluded: Int, job: Any) -> Any:
    """Run a task on a block, where the block is."""
    task, encoder, protected = shared
    columns = _columns(task, encoder, protected)

    def chunks() -> Iterator[Chunk]:
        at = first
        for batch in as_block(block).batches(columns):
            yield Chunk(at, protected.codes(batch), partial(_features, encoder, batch))
            at += batch.num_rows

    return task(chunks(), excluded, job)


def _raw_rows(columns: list[str], block: Any, first: int, rows: Int) -> Any:
    """The given rows of a block, as they are stored."""
    pa, at, parts = optional("pyarrow", "parquet"), first, []
    for batch in as_block(block).batches(columns):
        parts.append(pa.Table.from_batches([batch]).take(within(rows, at, at + batch.num_rows)))
        at += batch.num_rows
    return pa.concat_tables(parts, promote_options="permissive")


class Layout:
    """Rows of each block, and the first row of each; a table that is opened late is asked when needed."""

    def __init__(self, table: Any, sizes: Sequence[int] | None) -> None:
        self._table, self._given = table, sizes

    @cached_property
    def sizes(self) -> list[int]:
        """Rows of each block."""
        return list(self._table.sizes if self._given is None else self._given)

    @cached_property
    def starts(self) -> Int:
        """First row of each block, and the number of all rows."""
        return np.concatenate([[0], np.cumsum(np.asarray(self.sizes, dtype=np.int64))])


class StreamedPool(Pool):
    """Rows that stay where they are; made by :func:`open_pool`.

    Attributes
    ----------
    encoder : Encoder
        Preprocessing, and what it was fitted on.
    feature_names : list of str
    progress : callable or None
        Called with a :class:`PassProgress` after every block of a pass.
    """

    def __init__(
        self,
        table: Any,
        sizes: Sequence[int] | None,
        runner: Any,
        encoder: Encoder,
        protected: GroupColumns,
        progress: ProgressCallback | None = None,
        n_rows: int | None = None,
    ) -> None:
        self._table, self._runner, self._layout = table, runner, Layout(table, sizes)
        self.encoder, self.protected, self.progress = encoder, protected, progress
        self.n_rows = int(self._starts[-1]) if n_rows is None else n_rows
        self.n_groups = len(protected.values)
        self.group_values = list(protected.values)
        self.column_names = list(table.schema.names)
        self.excluded = np.zeros(0, dtype=np.int64)
        self._known: dict[int, tuple[NDArray[np.float32], int]] = {}

    def __repr__(self) -> str:
        return (
            f"<StreamedPool {self.n_rows:,} rows in {self.n_blocks:,} blocks, "
            f"{len(self.feature_names)} features; preprocessing fitted on {self.encoder.fitted_on}>"
        )

    @property
    def _sizes(self) -> list[int]:
        return self._layout.sizes

    @property
    def _starts(self) -> Int:
        return self._layout.starts

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return self.encoder.features

    @property
    def n_blocks(self) -> int:
        """Blocks the pool is made of."""
        return len(self._sizes)

    @property
    def X(self) -> Any:
        """Nothing: the features are not in memory, and this says so."""
        raise TypeError(
            "this pool is streamed and has no X: the strategy needs a pool in memory; "
            "use pool.in_memory() if it fits"
        )

    @property
    def groups(self) -> Any:
        """Nothing: the groups are not in memory, and this says so."""
        raise TypeError(
            "this pool is streamed and has no array of groups; use groups_of(rows), or pool.in_memory()"
        )

    def fingerprint(self) -> str:
        """Digest of the files' footers (or of the partitions' sizes) and of the encoding."""
        text = repr((self._table.digest, self._sizes, self.encoder.parts, self.protected))
        return hashlib.sha256(text.encode()).hexdigest()

    def take(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Features of these rows, in this order; only blocks that hold them are read, once."""
        known = self._fetch(rows)
        empty = np.zeros((0, len(self.feature_names)), dtype=np.float32)
        return np.stack([known[row][0] for row in np.asarray(rows).tolist()]) if len(known) else empty

    def groups_of(self, rows: ArrayLike) -> Int:
        """Group codes of these rows."""
        known = self._fetch(rows)
        return np.array([known[row][1] for row in np.asarray(rows).tolist()], dtype=np.int64)

    def table(self, rows: ArrayLike, columns: Sequence[str] | None = None) -> Any:
        """These rows as they are stored, as an Arrow table: to show them, or to look up their labels."""
        names = self.column_names if columns is None else list(columns)
        for name in names:
            if name not in self.column_names:
                raise ValueError(f"columns names {name!r}, which is not one of {self.column_names}")
        wanted = np.asarray(rows, dtype=np.int64)
        jobs = self._by_block(np.unique(wanted))
        blocks = self._table.select(names)
        calls = [(blocks[b], int(self._starts[b]), job) for b, job in jobs.items()]
        found = tracked(
            self._runner.run(_raw_rows, names, calls),
            [self._sizes[b] for b in jobs],
            "fetching",
            self.progress,
        )
        pa = optional("pyarrow", "parquet")
        table = pa.concat_tables(found.values(), promote_options="permissive")
        position = np.searchsorted(np.unique(wanted), wanted)
        return table.take(position).select(names)

    def remember(self, rows: ArrayLike, table: Any) -> None:
        """Take rows that are at hand, as :meth:`table` gives them, so that they need not be fetched again.

        Examples
        --------
        >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> from fairask.pools import open_pool
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"age": [20, 30], "sex": ["f", "m"]}), f"{folder}/p.parquet")
        ...     pool = open_pool(f"{folder}/p.parquet", "sex")
        ...     pool.remember([1], pool.table([1]))
        >>> pool.take([1]).tolist()
        [[1.0]]
        """
        at = np.asarray(rows, dtype=np.int64)
        if not len(at):
            return
        batch = table.combine_chunks().to_batches()[0]
        X, groups = np.ascontiguousarray(self.encoder(batch)), self.protected.codes(batch)
        self._known.update({int(r): (x, int(g)) for r, x, g in zip(at, X, groups, strict=True)})

    def in_memory(self) -> MemoryPool:
        """The same rows as arrays, for strategies that must see all of them at once."""
        parts = self._run(Fetch(), {b: self._rows_of(b) for b in range(self.n_blocks)}, "reading")
        pool = MemoryPool(
            np.concatenate([f.X for f in parts.values()]),
            np.concatenate([f.groups for f in parts.values()]),
            self.n_groups,
            group_values=self.group_values,
        )
        return pool.excluding(self.excluded)

    def _span(self, block: int) -> tuple[int, int]:
        return int(self._starts[block]), int(self._starts[block + 1])

    def _keeps(self, k: int) -> bool:
        # A worker's keys stay on the worker, and are gone with the task.
        return bool(self._runner.local) and super()._keeps(k)

    def _noting(self) -> Callable[[int, Int, Int, list[Any]], None] | None:
        size = 4 * self.n_rows * len(self.feature_names)
        return self._take_note if self._runner.local and size <= base.MOST_KEPT else None

    def _take_note(self, start: int, inside: Int, groups: Int, features: list[Any]) -> None:
        ends = np.cumsum([len(part) for part in features])
        which = np.searchsorted(ends, inside, side="right")
        fresh = {}
        for at, part, group in zip(inside.tolist(), which.tolist(), groups.tolist(), strict=True):
            X = features[part]
            fresh[start + at] = (np.array(X[at - int(ends[part]) + len(X)]), int(group))
        self._remember(fresh)

    def _rows_of(self, block: int) -> Int:
        return np.arange(self._starts[block], self._starts[block + 1])

    def _by_block(self, rows: Int) -> dict[int, Int]:
        """Sorted row numbers by the block that holds them."""
        if len(rows) and (rows[0] < 0 or rows[-1] >= self.n_rows):
            bad = rows[0] if rows[0] < 0 else rows[-1]
            raise ValueError(f"no row {bad}: the pool has rows 0 to {self.n_rows - 1}")
        block = np.searchsorted(self._starts, rows, side="right") - 1
        return {int(b): rows[block == b] for b in np.unique(block)}

    def _fetch(self, rows: ArrayLike) -> dict[int, tuple[NDArray[np.float32], int]]:
        """Features and groups of at least these rows, by row number."""
        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        new = np.array([row for row in wanted.tolist() if row not in self._known], dtype=np.int64)
        found = self._run(Fetch(), self._by_block(new), "fetching") if len(new) else {}
        fresh = _by_row(found.values())
        known = {**{row: self._known[row] for row in wanted.tolist() if row in self._known}, **fresh}
        self._remember(fresh)
        return known

    def _remember(self, fresh: dict[int, tuple[NDArray[np.float32], int]]) -> None:
        if len(self._known) + len(fresh) <= _MOST_KNOWN:
            self._known.update(fresh)

    def _run(self, task: Any, jobs: Mapping[int, Any], stage: str) -> dict[int, Any]:
        where, blocks = self._table.select(_columns(task, self.encoder, self.protected)), list(jobs)
        bounds = np.searchsorted(self.excluded, self._starts)
        calls = [
            (where[b], int(self._starts[b]), self.excluded[bounds[b] : bounds[b + 1]], jobs[b])
            for b in blocks
        ]
        shared = (task, self.encoder, self.protected)
        results = self._runner.run(_work, shared, calls, threads=task.threads)
        found = tracked(results, [self._sizes[b] for b in blocks], stage, self.progress)
        return {blocks[position]: result for position, result in found.items()}

    def _find(self, coder: Any, jobs: Mapping[int, Any]) -> dict[int, Int]:
        found = self._run(FindRows(coder), jobs, "drawing")
        # The blocks were read to find the rows; their features need not be fetched again for the fit.
        self._remember(_by_row(found.values()))
        return {block: part.rows for block, part in found.items()}


def _by_row(parts: Any) -> dict[int, tuple[NDArray[np.float32], int]]:
    found: list[Found] = list(parts)
    return {
        int(row): (x, int(g))
        for part in found
        for row, x, g in zip(part.rows, part.X, part.groups, strict=True)
    }
