"""Pools of unlabelled rows: in memory, memory-mapped, streamed from Parquet, or on a Dask cluster."""

from fairask.data import Encoder
from fairask.pools.base import Pool
from fairask.pools.cells import Cells
from fairask.pools.coders import Model, SoftModel, is_randomised
from fairask.pools.memory import MemoryPool
from fairask.pools.open import open_pool
from fairask.pools.runners import PassProgress
from fairask.pools.streamed import StreamedPool

__all__ = [
    "Cells",
    "Encoder",
    "MemoryPool",
    "Model",
    "PassProgress",
    "Pool",
    "SoftModel",
    "StreamedPool",
    "is_randomised",
    "open_pool",
]
