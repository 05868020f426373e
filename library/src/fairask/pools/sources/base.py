"""Where rows come from: two protocols."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from fairask.metrics import Int
from fairask.pools.tasks import BlockTask

if TYPE_CHECKING:
    import pyarrow as pa

J = TypeVar("J")
R = TypeVar("R")
H = TypeVar("H")


class BlockSource(Protocol):
    """Rows as features and group codes, in blocks of consecutive rows. Every pool has one.

    A pool never reads rows itself: it asks its source to run a task on some blocks (count cells, find rows by
    cell and rank, fetch rows by number, rank rows by score; see :mod:`fairask.pools.tasks`). The usual source
    reads each block as chunks and calls the task on them. A source that has a faster way may recognise the
    task and answer without reading rows, as long as the result is the same: a database counts the cells of
    ``CountCells`` by one query, and answers ``Fetch`` by key. So a new kind of source is one new file.
    """

    @property
    def starts(self) -> Int:
        """First row of each block, ascending, then the number of all rows."""

    @property
    def local(self) -> bool:
        """Whether results stay in this process, so that large ones cost nothing."""

    def run(self, task: BlockTask[J, R], jobs: Mapping[int, J], excluded: Int) -> Generator[tuple[int, R]]:
        """Yield (block, result of the task) for each block that has a job, as blocks finish.

        ``excluded`` are the numbers of rows that may not be asked for, sorted.
        """


class TableSource(Protocol[H]):
    """A table cut into blocks of consecutive rows, before its columns become features.

    ``H`` is what stands for a block until the block is read: it travels to where the work is done.
    """

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""

    @property
    def sizes(self) -> Sequence[int] | None:
        """Rows of each block; None if only a pass over the table can tell."""

    @property
    def digest(self) -> str:
        """A text that changes when the table does."""

    @property
    def read(self) -> Callable[[H, Sequence[str]], Iterator[pa.RecordBatch]]:
        """Function that reads a block: record batches with the given columns, in row order."""

    def select(self, columns: Sequence[str]) -> Sequence[H]:
        """One handle per block, from which these columns can be read."""


#: A table whose kind of handle does not matter.
AnyTable: TypeAlias = TableSource[Any]
