"""Running tasks where the data is: one Dask task a block, and only small results come back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from fairask.data.extras import optional

__all__ = ["DaskFrame", "OnDask"]


class OnDask:
    """Run calls as Dask tasks: on a client's cluster, or by Dask's own scheduler without one.

    Calls are free of side effects, so one that a dead worker took with it is simply run again.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of this process, if there is one.
    """

    #: Whether results stay in this process.
    local = False

    def __init__(self, client: Any = None) -> None:
        optional("dask", "dask")
        self.client = _current_client() if client is None else client

    def run(
        self,
        function: Callable[..., Any],
        shared: Any,
        calls: Sequence[tuple[Any, ...]],
        *,
        threads: bool = True,
    ) -> Generator[tuple[int, Any]]:
        """Yield (position, ``function(shared, *call)``) as calls finish."""
        dask = optional("dask", "dask")
        # The classifiers travel once a graph, not once a partition.
        common = dask.delayed(shared, pure=False, traverse=False)
        lazy = dask.delayed(function, pure=False)
        tasks = [lazy(common, *call) for call in calls]
        if self.client is None:
            yield from enumerate(dask.compute(*tasks))
            return
        futures = self.client.compute(tasks)
        position = {future.key: i for i, future in enumerate(futures)}
        try:
            done = optional("distributed", "dask").as_completed(futures, with_results=True)
            for future, result in done:
                yield position[future.key], result
        finally:
            self.client.cancel([future for future in futures if not future.done()])


def _current_client() -> Any:
    distributed = optional("distributed", "dask")
    try:
        return distributed.get_client()
    except ValueError:
        return None


class DaskFrame:
    """The partitions of a Dask DataFrame as blocks, not computed.

    Examples
    --------
    >>> import pandas as pd, dask.dataframe as dd
    >>> frame = dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), npartitions=2)
    >>> [list(part.compute()) for part in DaskFrame(frame).select(["a"])]
    [['a'], ['a']]
    """

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.schema = optional("pyarrow", "parquet").Schema.from_pandas(frame._meta, preserve_index=False)
        self.sizes = None
        self.digest = hashlib.sha256(repr(self.schema.names).encode()).hexdigest()
        self._selected: dict[tuple[str, ...], list[Any]] = {}

    def select(self, columns: Sequence[str]) -> list[Any]:
        """The partitions with these columns; a frame from files then reads no others."""
        names = tuple(dict.fromkeys(columns))
        if names not in self._selected:
            self._selected[names] = list(self.frame[list(names)].to_delayed())
        return self._selected[names]
