"""Rows of a table, read block by block; columns become features and group codes where the block is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairask.matrix import within
from fairask.metrics import Int
from fairask.pools.coders import Chunk
from fairask.pools.runners import Runner
from fairask.pools.sources.base import AnyTable
from fairask.pools.sources.engine import EngineTable
from fairask.pools.tasks import BlockTask
from fairask.tables import Encoder, GroupColumns
from fairask.tables.arrow import optional
from fairask.tables.groups import protected_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from fairask.pools.sources.queries import EngineQueries

J = TypeVar("J")
R = TypeVar("R")

Read = Callable[[object, Sequence[str]], Iterator["pa.RecordBatch"]]


@dataclass(frozen=True)
class _Work(Generic[J, R]):
    """A task with all that turns a block into chunks; travels to the block."""

    task: BlockTask[J, R]
    read: Read
    encoder: Encoder
    protected: GroupColumns
    group_columns: Sequence[str]

    @property
    def columns(self) -> list[str]:
        """Columns that the task reads."""
        features = self.encoder.columns if self.task.needs_features else []
        return list(dict.fromkeys([*self.group_columns, *features]))

    def chunks(self, block: object, first: int) -> Iterator[Chunk]:
        """The block in row order."""
        for batch in self.read(block, self.columns):
            yield Chunk(first, self.protected.codes(batch), partial(_features, self.encoder, batch))
            first += batch.num_rows


def _features(encoder: Encoder, batch: pa.RecordBatch, rows: Int | None) -> NDArray[np.float32]:
    return encoder(batch if rows is None else batch.take(rows))


def _run_task(work: _Work[J, R], block: object, first: int, excluded: Int, job: J) -> R:
    return work.task(work.chunks(block, first), excluded, job)


def _raw_rows(read: Read, columns: Sequence[str], block: object, first: int, rows: Int) -> pa.Table:
    """The given rows of a block, as they are stored."""
    pyarrow, parts = optional("pyarrow", "parquet"), []
    for batch in read(block, columns):
        parts.append(pyarrow.Table.from_batches([batch]).take(within(rows, first, first + batch.num_rows)))
        first += batch.num_rows
    return pyarrow.concat_tables(parts, promote_options="permissive")


@dataclass
class EncodedTable:
    """A table with an encoder and protected columns; see :class:`fairask.pools.sources.BlockSource`.

    ``given`` is the table, or a function that opens it when it is first needed. ``sizes`` are the rows of
    each block, if they are known; by default the table is asked.
    """

    given: AnyTable | Callable[[], AnyTable]
    runner: Runner
    encoder: Encoder
    protected: GroupColumns
    sizes: Sequence[int] | None = None

    @cached_property
    def table(self) -> AnyTable:
        """The table, opened when it is first needed."""
        return self.given() if callable(self.given) else self.given

    @property
    def local(self) -> bool:
        """See :class:`fairask.pools.sources.BlockSource`."""
        return self.runner.local

    @cached_property
    def starts(self) -> Int:
        """See :class:`fairask.pools.sources.BlockSource`."""
        sizes = self.table.sizes if self.sizes is None else self.sizes
        return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])

    @cached_property
    def queries(self) -> EngineQueries | None:
        """Queries that answer tasks, if the table is in an engine."""
        if not isinstance(self.table, EngineTable):
            return None
        from fairask.pools.sources.queries import EngineQueries  # needs narwhals

        return EngineQueries(self.table, self.encoder, self.protected, self.starts)

    def run(self, task: BlockTask[J, R], jobs: Mapping[int, J], excluded: Int) -> Generator[tuple[int, R]]:
        """See :class:`fairask.pools.sources.BlockSource`; an engine answers by queries where it can."""
        answer = None if self.queries is None else self.queries.answer(task, jobs, excluded)
        if answer is not None:
            yield from answer
            return
        groups = protected_columns(self.protected.columns, self.table.schema.names)
        work = _Work(task, self.table.read, self.encoder, self.protected, groups)
        blocks, bounds = self.table.select(work.columns), np.searchsorted(excluded, self.starts)
        calls = {
            b: (blocks[b], int(self.starts[b]), excluded[bounds[b] : bounds[b + 1]], job)
            for b, job in jobs.items()
        }
        yield from self.runner.run(_run_task, work, calls, threads=task.threads)

    def raw_rows(self, columns: Sequence[str], jobs: Mapping[int, Int]) -> Generator[tuple[int, pa.Table]]:
        """Yield (block, its rows with these numbers, as they are stored) as blocks finish."""
        if isinstance(self.table, EngineTable):
            for block, rows in jobs.items():
                yield block, self.table.fetch(rows, columns)
            return
        blocks = self.table.select(columns)
        calls = {b: (list(columns), blocks[b], int(self.starts[b]), rows) for b, rows in jobs.items()}
        yield from self.runner.run(_raw_rows, self.table.read, calls)
