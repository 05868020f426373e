"""A uniform number for each row that depends on its values and a seed alone."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from fairask.metrics import Float

__all__ = ["row_uniforms"]

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def row_uniforms(X: Any, seed: int) -> Float:
    """Return one number in [0, 1) a row.

    Randomised predictions drawn with them do not change when rows are reordered or dropped.

    Examples
    --------
    >>> a = row_uniforms(np.array([[1.0], [2.0]]), seed=0)
    >>> b = row_uniforms(np.array([[2.0], [1.0]]), seed=0)
    >>> bool((a == b[::-1]).all())
    True
    """
    array = np.asarray(X)
    if array.dtype.kind in "biuf":
        values = np.asarray(array, dtype=np.float64)
        words = np.where(values == 0.0, 0.0, values).view(np.uint64)  # -0.0 and 0.0 are one value
    else:
        texts = ["\x1f".join(map(repr, row)).encode() for row in array.tolist()]
        words = np.array([[zlib.crc32(t), zlib.adler32(t)] for t in texts], dtype=np.uint64)
    state = np.full(len(words), np.uint64(seed), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in words.reshape(len(words), -1).T:
            state = _mix(state ^ column)
        state = _mix(state)
    return np.asarray((state >> np.uint64(11)).astype(np.float64) / 2.0**53)


def _mix(z: Any) -> Any:
    # The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit.
    z = z + _MIX[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX[1]
    z = (z ^ (z >> np.uint64(27))) * _MIX[2]
    return z ^ (z >> np.uint64(31))
