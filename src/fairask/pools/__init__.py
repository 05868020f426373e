"""Pools of unlabelled rows: in memory, memory-mapped, streamed from Parquet, or on a Dask cluster."""

from fairask.pools._array import Pool
from fairask.pools._base import AnyPool, BlockPool
from fairask.pools._cells import Cells
from fairask.pools._runners import Progress

__all__ = ["AnyPool", "BlockPool", "Cells", "Pool", "Progress"]
