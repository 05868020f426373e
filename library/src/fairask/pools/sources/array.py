"""Rows of an array, a memory map or a data frame, read in place."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TypeVar

import numpy as np

from fairask.matrix import take_rows
from fairask.metrics import Int, Matrix
from fairask.pools.coders import Chunk
from fairask.pools.runners import Runner
from fairask.pools.tasks import BlockTask

J = TypeVar("J")
R = TypeVar("R")

#: Rows per block.
_BLOCK = 1 << 18


class ArraySource:
    """See :class:`fairask.pools.sources.BlockSource`: blocks are slices of ``X`` and ``groups``."""

    #: Threads share the arrays.
    local = True

    def __init__(self, X: Matrix, groups: Int, runner: Runner) -> None:
        self.X, self.groups, self.runner = X, groups, runner
        self.starts: Int = np.append(np.arange(0, len(groups), _BLOCK), len(groups))

    def run(self, task: BlockTask[J, R], jobs: Mapping[int, J], excluded: Int) -> Generator[tuple[int, R]]:
        """See :class:`fairask.pools.sources.BlockSource`."""

        def work(task: BlockTask[J, R], block: int, job: J) -> R:
            start, stop = (int(at) for at in self.starts[block : block + 2])
            chunk = Chunk(
                start,
                self.groups[start:stop],
                lambda rows: take_rows(self.X, slice(start, stop) if rows is None else start + rows),
            )
            return task([chunk], excluded, job)

        calls = {block: (block, job) for block, job in jobs.items()}
        return self.runner.run(work, task, calls, threads=task.threads)
