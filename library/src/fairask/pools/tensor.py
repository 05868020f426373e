"""A pool of rows in a PyTorch tensor, on any device."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.errors import UserError
from fairask.metrics import Int, encode_groups
from fairask.pools.base import Pool
from fairask.pools.memory import Pool as Pool
from fairask.pools.runners import ProgressCallback
from fairask.pools.sources.tensor import MOST_GROUPS, TensorSource
from fairask.tables.arrow import optional

if TYPE_CHECKING:
    from torch import Tensor

#: Values of a protected tensor that are looked up in a table; a wider range is sorted.
_WIDEST = 1 << 16


def is_tensor(source: object) -> TypeGuard[Tensor]:
    """Whether a source is a PyTorch tensor; does not import PyTorch.

    Examples
    --------
    >>> is_tensor("people.parquet")
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.Tensor)


class TensorPool(Pool):
    """Rows of a tensor, which stays on its device; see :class:`Pool`.

    Parameters
    ----------
    X : Tensor of shape (rows, features)
        float16, bfloat16 or float32; double precision is refused, because scores are single precision.
    protected : array-like or Tensor of shape (rows,)
        The protected attribute. A tensor of whole numbers or booleans is coded on its device.
    progress : callable, optional
        Called with a :class:`PassProgress` after every block of a pass.

    Examples
    --------
    >>> import torch
    >>> pool = TensorPool(torch.tensor([[-1.0], [0.5], [2.0]]), ["f", "f", "m"])
    >>> pool.by_group().counts.tolist(), pool.group_values
    ([2, 1], ['f', 'm'])
    """

    def __init__(
        self, X: Tensor, protected: ArrayLike | Tensor, *, progress: ProgressCallback | None = None
    ) -> None:
        torch = optional("torch", "torch")
        if X.ndim != 2 or X.dtype not in (torch.float16, torch.bfloat16, torch.float32):
            raise UserError(
                f"the tensor has shape {tuple(X.shape)} and type {X.dtype}",
                "Give rows by features, in float32, float16 or bfloat16",
            )
        values, codes = _coded(protected, X)
        if len(codes) != len(X):
            raise UserError(
                f"protected has {len(codes):,} rows and the tensor {len(X):,}", "Give one group per row"
            )
        if not len(X):
            raise UserError("the tensor has no rows", "Give rows to draw from")
        self._tensors = TensorSource(X.detach(), codes)
        super().__init__(self._tensors, len(X), values, progress)

    def __repr__(self) -> str:
        X = self._tensors.X
        return f"<TensorPool {self.n_rows:,} rows, {X.shape[1]} features, {X.dtype} on {X.device}>"

    def take(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Features of these rows, in this order, as an array."""
        return np.asarray(self._tensors.fetch(np.asarray(rows, dtype=np.int64)).X)

    def groups_of(self, rows: ArrayLike) -> Int:
        """Group codes of these rows."""
        return self._tensors.fetch(np.asarray(rows, dtype=np.int64)).groups

    def fingerprint(self) -> str:
        """Digest of shape, type and of sums of all bits by block, which are taken on the device."""
        torch, X, groups = self._tensors.torch, self._tensors.X, self._tensors.groups
        digest = hashlib.sha256(repr((tuple(X.shape), str(X.dtype), self.group_values)).encode())
        bits = torch.int32 if X.dtype == torch.float32 else torch.int16
        for block in range(self.n_blocks):
            start, stop = self._span(block)
            words = X[start:stop].contiguous().view(bits).long()
            place = torch.arange(1, 2 * len(words), 2, device=X.device)  # odd: each change changes the sum
            column = torch.arange(1, 2 * X.shape[1], 2, device=X.device)
            sums = [(words * column).sum(1).mul_(place).sum(), (groups[start:stop] * place).sum()]
            digest.update(repr([int(one) for one in sums]).encode())
        return digest.hexdigest()

    def in_memory(self) -> Pool:
        """The same rows as arrays, for strategies that must see all of them at once."""
        X, groups = self._tensors.X, self._tensors.groups
        return Pool(
            X.float().cpu().numpy(),
            groups.long().cpu().numpy(),
            self.n_groups,
            group_values=self.group_values,
        ).excluding(self.excluded)


def _coded(protected: ArrayLike | Tensor, X: Tensor) -> tuple[list[object], Tensor]:
    """The groups, and one code per row on the device of ``X``."""
    torch = optional("torch", "torch")
    if is_tensor(protected) and protected.ndim == 1 and not protected.is_floating_point():
        given = protected.to(X.device)
        given = given.byte() if given.dtype == torch.bool else given
        low, high = (int(one) for one in torch.aminmax(given))
        if high - low < _WIDEST:
            # Through a table, block by block: sorting would take many bytes per row.
            parts = torch.split(given, 1 << 24)
            seen = sum(torch.bincount(part.long() - low, minlength=high - low + 1) > 0 for part in parts) > 0
            table = (seen.cumsum(0) - 1).to(torch.uint8)
            values = (seen.nonzero()[:, 0] + low).tolist()
            _check_groups(values)
            return values, torch.cat([table[part.long() - low] for part in parts])
    values, codes = encode_groups(protected.cpu().numpy() if is_tensor(protected) else protected, "protected")
    _check_groups(values)
    return values, torch.from_numpy(codes.astype(np.uint8)).to(X.device)


def _check_groups(values: list[object]) -> None:
    if len(values) > MOST_GROUPS:
        raise UserError(f"protected has {len(values):,} groups", f"Give at most {MOST_GROUPS}")
