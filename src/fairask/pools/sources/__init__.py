"""Sources of rows: arrays, ``.npy`` files, Parquet files and Dask frames, one file each.

To add a source, write one file. Rows that can be read as Arrow record batches need a
:class:`~fairask.pools.sources.base.TableSource`, and :func:`fairask.pools.open_pool` then encodes them. Rows
that are held or counted in another way (tensors on a device, a database that groups and counts) need a
:class:`~fairask.pools.sources.base.BlockSource`, which runs the tasks of a pool itself.
"""

from fairask.pools.sources.array import ArraySource
from fairask.pools.sources.base import BlockSource, TableSource
from fairask.pools.sources.dask import DaskFrame, OnDask
from fairask.pools.sources.encoded import EncodedTable
from fairask.pools.sources.npy import open_npy
from fairask.pools.sources.parquet import FileRecord, ParquetFiles, open_parquet

__all__ = [
    "ArraySource",
    "BlockSource",
    "DaskFrame",
    "EncodedTable",
    "FileRecord",
    "OnDask",
    "ParquetFiles",
    "TableSource",
    "open_npy",
    "open_parquet",
]
