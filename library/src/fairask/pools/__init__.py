"""Pools of unlabelled rows: in memory, on disk, on a cluster, or on a GPU."""

from fairask.pools.base import Pool
from fairask.pools.cells import Cells
from fairask.pools.coders import Model, SoftModel, is_randomised
from fairask.pools.memory import MemoryPool
from fairask.pools.open import open_pool
from fairask.pools.runners import PassProgress
from fairask.pools.sources.device import check_device
from fairask.pools.sources.engine import keyed
from fairask.pools.streamed import StreamedPool
from fairask.pools.sub_pool import SubPool, sub_pool_note, sub_pool_size
from fairask.pools.tensor import TensorPool
from fairask.tables import Encoder

__all__ = [
    "Cells",
    "Encoder",
    "MemoryPool",
    "Model",
    "PassProgress",
    "Pool",
    "SoftModel",
    "StreamedPool",
    "SubPool",
    "TensorPool",
    "check_device",
    "is_randomised",
    "keyed",
    "open_pool",
    "sub_pool_note",
    "sub_pool_size",
]
