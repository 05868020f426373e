"""Dask: a data frame as a table of partitions, and tasks that run where the partitions are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeGuard, TypeVar, TypeVarTuple, cast

from fairask.tables.arrow import optional

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    from dask.delayed import Delayed
    from distributed import Client

S = TypeVar("S")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")

#: Rows of a partition that become one record batch.
_BATCH = 1 << 16


class OnDask:
    """Run calls as Dask tasks: on a client's cluster, or by Dask's own scheduler without a client.

    Only small results come back. The calls of a worker that dies are run again.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of this process, if there is one.
    """

    #: See :class:`fairask.pools.runners.Runner`.
    local = False

    def __init__(self, client: Client | None = None) -> None:
        optional("dask", "dask")
        self.client = _current_client() if client is None else client

    def run(
        self, work: Callable[[S, *Ts], R], shared: S, calls: Mapping[int, tuple[*Ts]], threads: bool = True
    ) -> Generator[tuple[int, R]]:
        """See :class:`fairask.pools.runners.Runner`."""
        dask = optional("dask", "dask")
        # The shared part, which holds the classifiers, travels once per graph, not once per partition.
        common = dask.delayed(shared, pure=False, traverse=False)
        lazy = dask.delayed(work, pure=False)
        tasks = [lazy(common, *call) for call in calls.values()]
        if self.client is None:
            yield from zip(calls, dask.compute(*tasks), strict=True)
            return
        futures = self.client.compute(tasks)
        block_of = {future.key: block for future, block in zip(futures, calls, strict=True)}
        try:
            done = optional("distributed", "dask").as_completed(futures, with_results=True)
            for future, result in done:
                yield block_of[future.key], result
        finally:
            self.client.cancel([future for future in futures if not future.done()])


def _current_client() -> Client | None:
    distributed = optional("distributed", "dask")
    try:
        return cast("Client", distributed.get_client())
    except ValueError:
        return None


def is_dask_frame(source: object) -> TypeGuard[dd.DataFrame]:
    """Whether a source is a Dask DataFrame; does not import Dask.

    Examples
    --------
    >>> is_dask_frame("people.parquet")
    False
    """
    # Dask's classes moved between modules over its versions, and Dask may not be installed.
    return hasattr(source, "to_delayed") and hasattr(source, "npartitions")


class DaskFrame:
    """The partitions of a Dask DataFrame as blocks; see :class:`fairask.pools.sources.TableSource`.

    Examples
    --------
    >>> import pandas as pd, dask.dataframe as dd
    >>> frame = dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), npartitions=2)
    >>> [list(part.compute()) for part in DaskFrame(frame).select(["a"])]
    [['a'], ['a']]
    """

    #: Only a pass over the partitions can tell.
    sizes = None

    def __init__(self, frame: dd.DataFrame) -> None:
        self.frame = frame
        # Made from the types alone: no partition is computed.
        pandas = optional("pandas", "dask")
        empty = pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in frame.dtypes.items()})
        self.schema: pa.Schema = optional("pyarrow", "parquet").Schema.from_pandas(
            empty, preserve_index=False
        )
        self.digest = hashlib.sha256(repr(self.schema.names).encode()).hexdigest()
        self._selected: dict[tuple[str, ...], list[Delayed]] = {}

    @staticmethod
    def read(partition: pd.DataFrame, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See :class:`fairask.pools.sources.TableSource`; the partition has been computed by then."""
        table = optional("pyarrow", "parquet").Table
        part = partition[list(dict.fromkeys(columns))]
        yield from table.from_pandas(part, preserve_index=False).to_batches(max_chunksize=_BATCH)

    def select(self, columns: Sequence[str]) -> list[Delayed]:
        """The partitions with these columns; a frame that reads files then reads no others."""
        names = tuple(dict.fromkeys(columns))
        if names not in self._selected:
            self._selected[names] = list(self.frame[list(names)].to_delayed())
        return self._selected[names]
