"""Rows of any source, held as a tensor on a device that counts them."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy.sparse import issparse

from fairask.errors import UserError
from fairask.metrics import Int
from fairask.pools.runners import PassProgress, ProgressCallback
from fairask.pools.sources.base import BlockSource
from fairask.pools.sources.tensor import MOST_GROUPS, TensorSource
from fairask.pools.tasks import BlockTask, Read
from fairask.tables.arrow import optional

J = TypeVar("J")
R = TypeVar("R")


def check_device(device: str) -> str:
    """Return the name of a device of PyTorch that this machine has, or raise UserError.

    Examples
    --------
    >>> check_device("cpu")
    'cpu'
    >>> check_device("gpu")
    Traceback (most recent call last):
        ...
    fairask.errors.UserError: device 'gpu' is unknown to PyTorch; Give cuda, cuda:1, mps or cpu
    """
    try:
        torch = optional("torch", "torch")
    except ImportError as error:
        raise UserError(
            f"device {device!r} needs PyTorch, which is not installed", "pip install 'fairask[torch]'"
        ) from error
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise UserError(
            f"device {device!r} is unknown to PyTorch", "Give cuda, cuda:1, mps or cpu"
        ) from error
    remedy = "Leave the device out, or give cpu"
    if kind == "cuda":
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (torch.device(device).index or 0) >= found:
            raise UserError(f"device {device!r}: PyTorch {torch.__version__} sees {found} GPUs", remedy)
    elif kind == "mps" and not torch.backends.mps.is_available():
        raise UserError(f"device {device!r}: PyTorch {torch.__version__} sees no such GPU", remedy)
    elif kind not in ("cpu", "mps"):
        raise UserError(f"device {device!r} cannot hold a pool", "Give cuda, cuda:1, mps or cpu")
    return device


class DeviceSource:
    """See :class:`fairask.pools.sources.BlockSource`: the rows of another source, read once, as a tensor.

    Parameters
    ----------
    rows : BlockSource
    device : str
    progress : callable, optional
        Called while rows are read.
    """

    #: Keys stay on the device.
    local = False

    def __init__(self, rows: BlockSource, device: str, progress: ProgressCallback | None = None) -> None:
        self.rows, self.device, self.progress = rows, device, progress

    @cached_property
    def tensors(self) -> TensorSource:
        """The rows on the device: float32 features and one byte for the group."""
        check_device(self.device)
        torch, starts, began = optional("torch", "torch"), self.rows.starts, time.perf_counter()
        full = np.flatnonzero(np.diff(starts)).tolist()
        n, done, X, groups = int(starts[-1]), 0, None, None
        if not full:
            raise UserError("the pool has no rows", "Give rows to draw from")
        for _, part in self.rows.run(Read(), dict.fromkeys(full), np.zeros(0, dtype=np.int64)):
            if issparse(part.X):
                raise UserError("sparse features cannot be held on a device", "Leave the device out")
            if int(part.groups.max()) >= MOST_GROUPS:
                raise UserError("the pool has too many groups for a device", f"Give at most {MOST_GROUPS}")
            if X is None or groups is None:
                X = torch.empty((n, part.X.shape[1]), dtype=torch.float32, device=self.device)
                groups = torch.empty(n, dtype=torch.uint8, device=self.device)
            at = slice(int(part.rows[0]), int(part.rows[-1]) + 1)
            X[at] = torch.from_numpy(np.ascontiguousarray(part.X, dtype=np.float32))
            groups[at] = torch.from_numpy(part.groups.astype(np.uint8))
            done += len(part.rows)
            if self.progress is not None:
                self.progress(PassProgress("loading", done, n, time.perf_counter() - began))
        assert X is not None
        assert groups is not None
        return TensorSource(X, groups)

    @property
    def starts(self) -> Int:
        """See :class:`fairask.pools.sources.BlockSource`."""
        return self.tensors.starts

    def run(self, task: BlockTask[J, R], jobs: Mapping[int, J], excluded: Int) -> Generator[tuple[int, R]]:
        """See :class:`fairask.pools.sources.BlockSource`."""
        yield from self.tensors.run(task, jobs, excluded)
