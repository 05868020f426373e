"""Pools of unlabelled rows: in memory, or sampled once from files or from an engine."""

from fairask.pools.engine import Engine
from fairask.pools.files import Files
from fairask.pools.memory import Cells, Model, Pool, is_randomised
from fairask.pools.sample import SAMPLE, RowSample
from fairask.pools.source import open_pool, open_source

__all__ = [
    "SAMPLE",
    "Cells",
    "Engine",
    "Files",
    "Model",
    "Pool",
    "RowSample",
    "is_randomised",
    "open_pool",
    "open_source",
]
