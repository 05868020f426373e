"""Pools of unlabelled rows: in memory, or sampled once from files or from an engine."""

from fairask.pools.engine import Engine
from fairask.pools.files import Files
from fairask.pools.memory import Cells, Model, Pool, SoftModel, is_randomised
from fairask.pools.sample import SAMPLE, RowSample
from fairask.pools.source import open_pool, open_source

# The rest goes when nothing uses it any more.
from fairask.pools.runners import PassProgress  # isort: skip
from fairask.pools.sources.device import check_device  # isort: skip
from fairask.pools.streamed import StreamedPool  # isort: skip
from fairask.pools.sub_pool import SubPool, sub_pool_note, sub_pool_size  # isort: skip

__all__ = [
    "SAMPLE",
    "Cells",
    "Engine",
    "Files",
    "Model",
    "PassProgress",
    "Pool",
    "RowSample",
    "SoftModel",
    "StreamedPool",
    "SubPool",
    "check_device",
    "is_randomised",
    "open_pool",
    "open_source",
    "sub_pool_note",
    "sub_pool_size",
]
