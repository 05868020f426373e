"""A pool that is read block by block: from Parquet files, or from partitions on a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Int
from fairask.pools import base
from fairask.pools.base import Pool
from fairask.pools.memory import Pool as Pool
from fairask.pools.runners import ProgressCallback, Runner, collect
from fairask.pools.sources.base import AnyTable
from fairask.pools.sources.encoded import EncodedTable
from fairask.pools.tasks import Fetch, Found, Read
from fairask.tables import Encoder, GroupColumns
from fairask.tables.arrow import optional

if TYPE_CHECKING:
    import pyarrow as pa

#: Drawn rows whose features are kept in memory: every fit needs them again.
_MOST_CACHED = 1 << 16


class StreamedPool(Pool):
    """Rows that stay where they are; made by :func:`open_pool`.

    Parameters
    ----------
    table : TableSource, or callable
        The table, or a function that opens it when it is first needed.
    sizes : list of int or None
        Rows of each block; None to ask the table when they are needed.
    runner : Runner
    encoder : Encoder
    protected : GroupColumns
    progress : callable, optional
        Called with a :class:`PassProgress` after every block of a pass.
    n_rows : int, optional
        All rows, if they are known before the table is opened.

    Attributes
    ----------
    encoder : Encoder
        Preprocessing, and what it was fitted on.
    protected : GroupColumns
    """

    def __init__(
        self,
        table: AnyTable | Callable[[], AnyTable],
        sizes: Sequence[int] | None,
        runner: Runner,
        encoder: Encoder,
        protected: GroupColumns,
        progress: ProgressCallback | None = None,
        n_rows: int | None = None,
    ) -> None:
        self._encoded = EncodedTable(table, runner, encoder, protected, sizes)
        rows = int(self._encoded.starts[-1]) if n_rows is None else n_rows
        super().__init__(self._encoded, rows, protected.values, progress)
        self.encoder, self.protected = encoder, protected
        self._cached: dict[int, tuple[NDArray[np.float32], int]] = {}

    def __repr__(self) -> str:
        return (
            f"<StreamedPool {self.n_rows:,} rows in {self.n_blocks:,} blocks, "
            f"{len(self.feature_names)} features; preprocessing fitted on {self.encoder.fitted_on}>"
        )

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return self.encoder.feature_names_out

    @property
    def column_names(self) -> list[str]:
        """All columns of the table."""
        return list(self._encoded.table.schema.names)

    @property
    def X(self) -> NoReturn:
        """Not available: the features are not in memory."""
        raise TypeError(
            "this pool is streamed and has no X: the strategy needs a pool in memory; "
            "use pool.in_memory() if it fits"
        )

    @property
    def groups(self) -> NoReturn:
        """Not available: the groups are not in memory."""
        raise TypeError(
            "this pool is streamed and has no array of groups; use groups_of(rows), or pool.in_memory()"
        )

    def fingerprint(self) -> str:
        """Digest of the files' footers (or of the partitions' sizes) and of the encoding."""
        sizes = np.diff(self._encoded.starts).tolist()
        text = repr((self._encoded.table.digest, sizes, self.encoder.parts, self.protected))
        return hashlib.sha256(text.encode()).hexdigest()

    def take(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Features of these rows, in this order; only blocks that hold new ones are read, once."""
        known = self._fetch(rows)
        empty = np.zeros((0, len(self.feature_names)), dtype=np.float32)
        return np.stack([known[row][0] for row in np.asarray(rows).tolist()]) if len(known) else empty

    def groups_of(self, rows: ArrayLike) -> Int:
        """Group codes of these rows."""
        known = self._fetch(rows)
        return np.array([known[row][1] for row in np.asarray(rows).tolist()], dtype=np.int64)

    def sample(self, rows: ArrayLike) -> tuple[NDArray[np.float32], Int]:
        """See :class:`Pool`: one pass over the blocks that hold a row."""
        wanted, where = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
        jobs = self._by_block(wanted, self._source.starts)
        parts = list(self._run(Fetch(), jobs, "fetching").values())
        X, groups = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return X[where], groups[where]

    def table(self, rows: ArrayLike, columns: Sequence[str] | None = None) -> pa.Table:
        """These rows as they are stored, as an Arrow table: to show them, or to look up their labels."""
        names = self.column_names if columns is None else list(columns)
        for name in names:
            if name not in self.column_names:
                raise ValueError(f"columns names {name!r}, which is not one of {self.column_names}")
        wanted = np.asarray(rows, dtype=np.int64)
        starts = self._encoded.starts
        jobs = self._by_block(np.unique(wanted), starts)
        sizes = {block: int(starts[block + 1] - starts[block]) for block in jobs}
        parts = collect(self._encoded.raw_rows(names, jobs), sizes, "fetching", self.progress)
        table = optional("pyarrow", "parquet").concat_tables(parts.values(), promote_options="permissive")
        return table.take(np.searchsorted(np.unique(wanted), wanted)).select(names)

    def cache_rows(self, rows: ArrayLike, table: pa.Table) -> None:
        """Keep rows that the caller has already, as :meth:`table` returns them; they are not fetched again.

        Examples
        --------
        >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> from fairask.pools import open_pool
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"age": [20, 30], "sex": ["f", "m"]}), f"{folder}/p.parquet")
        ...     pool = open_pool(f"{folder}/p.parquet", "sex")
        ...     pool.cache_rows([1], pool.table([1]))
        >>> pool.take([1]).tolist()
        [[1.0]]
        """
        at = np.asarray(rows, dtype=np.int64)
        if len(at):
            batch = table.combine_chunks().to_batches()[0]
            X = np.ascontiguousarray(self.encoder(batch))
            self._cached.update(_by_row(Found(at, X, self.protected.codes(batch))))

    def in_memory(self) -> Pool:
        """The same rows as arrays, for strategies that must see all of them at once."""
        parts = self._run(
            Read(), dict.fromkeys(np.flatnonzero(np.diff(self._source.starts)).tolist()), "reading"
        )
        pool = Pool(
            np.concatenate([part.X for part in parts.values()]),
            np.concatenate([part.groups for part in parts.values()]),
            self.n_groups,
            group_values=self.group_values,
        )
        return pool.excluding(self.excluded)

    def _keeps_features(self) -> bool:
        return 4 * self.n_rows * len(self.feature_names) <= base.MOST_KEPT

    def _cache_drawn_rows(self, found: Found) -> None:
        if len(self._cached) + len(found.rows) <= _MOST_CACHED:
            self._cached.update(_by_row(found))

    def _by_block(self, rows: Int, starts: Int) -> dict[int, Int]:
        """Sorted row numbers by the block that holds them."""
        if len(rows) and (rows[0] < 0 or rows[-1] >= self.n_rows):
            bad = rows[0] if rows[0] < 0 else rows[-1]
            raise ValueError(f"no row {bad}: the pool has rows 0 to {self.n_rows - 1}")
        block = np.searchsorted(starts, rows, side="right") - 1
        return {int(b): rows[block == b] for b in np.unique(block)}

    def _fetch(self, rows: ArrayLike) -> dict[int, tuple[NDArray[np.float32], int]]:
        """Features and group of each of these rows, by row number."""
        wanted = np.unique(np.asarray(rows, dtype=np.int64)).tolist()
        known = {row: self._cached[row] for row in wanted if row in self._cached}
        new = np.array([row for row in wanted if row not in known], dtype=np.int64)
        if len(new):
            for found in self._run(Fetch(), self._by_block(new, self._source.starts), "fetching").values():
                known.update(_by_row(found))
                self._cache_drawn_rows(found)
        return known


def _by_row(found: Found) -> dict[int, tuple[NDArray[np.float32], int]]:
    return {int(row): (x, int(g)) for row, x, g in zip(found.rows, found.X, found.groups, strict=True)}
