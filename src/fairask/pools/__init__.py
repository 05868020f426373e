"""Pools of unlabelled rows: in memory, memory-mapped, streamed from Parquet, or on a Dask cluster."""

from fairask.pools._array import Pool
from fairask.pools._audit import AuditOrder, audit_order
from fairask.pools._base import AnyPool, BlockPool
from fairask.pools._cells import Cells
from fairask.pools._encode import Encoder
from fairask.pools._open import open_pool
from fairask.pools._runners import Progress
from fairask.pools._streamed import StreamedPool

__all__ = [
    "AnyPool",
    "AuditOrder",
    "BlockPool",
    "Cells",
    "Encoder",
    "Pool",
    "Progress",
    "StreamedPool",
    "audit_order",
    "open_pool",
]
