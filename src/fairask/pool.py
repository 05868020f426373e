"""The unlabelled pool and its cells; see :mod:`fairask.pools` for those that do not fit in memory."""

from fairask.pools import AnyPool, BlockPool, Cells, Pool

__all__ = ["AnyPool", "BlockPool", "Cells", "Pool"]
