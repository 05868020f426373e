"""Sources of rows: arrays, ``.npy`` files, Parquet files and Dask frames, one file each.

To add a source, write one file. Rows that can be read as Arrow record batches need a
:class:`~fairask.pools.sources.base.TableSource`, and :func:`fairask.pools.open_pool` then encodes them. Rows
that are held or counted in another way (tensors on a device, a database that groups and counts) need a
:class:`~fairask.pools.sources.base.BlockSource`, which runs the tasks of a pool itself.
"""

from fairask.pools.sources.base import BlockSource, TableSource

__all__ = ["BlockSource", "TableSource"]
