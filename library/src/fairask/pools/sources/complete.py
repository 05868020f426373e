"""A table without the rows that have no value in one column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.pools.sources.base import AnyTable
from fairask.tables.cells import coded, text_of

if TYPE_CHECKING:
    import pyarrow as pa

Read = Callable[[Any, Sequence[str]], "Iterator[pa.RecordBatch]"]


class CompleteTable:
    """The rows of a table that have a value in ``column``; they are numbered without the others.

    Parameters
    ----------
    table : TableSource
    column : str
    """

    #: Only a pass over the table can tell.
    sizes = None

    def __init__(self, table: AnyTable, column: str) -> None:
        self.schema, self.digest = table.schema, table.digest
        self._table, self._column = table, column

    @property
    def read(self) -> Read:
        """See :class:`TableSource`."""
        return partial(_read, self._table.read, self._column)

    def select(self, columns: Sequence[str]) -> Sequence[Any]:
        """See :class:`TableSource`."""
        return self._table.select(list(dict.fromkeys([*columns, self._column])))


def _read(read: Read, column: str, block: object, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in read(block, list(dict.fromkeys([*columns, column]))):
        values, codes = coded(batch.column(column))
        known = np.array([*(text_of(value) is not None for value in values), False])
        yield batch.filter(known[codes]).select(list(columns))
