"""Pools of unlabelled rows: in memory, or sampled once from files or from an engine."""

from fairask.pools.memory import Pool
from fairask.pools.source import open_pool, open_source

__all__ = [
    "Pool",
    "open_pool",
    "open_source",
]
