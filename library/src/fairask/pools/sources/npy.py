"""An ``.npy`` file as a memory map: the system reads and caches what is used."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Int, encode_groups


def open_npy(
    path: str, protected: ArrayLike | str | os.PathLike[str]
) -> tuple[NDArray[np.floating], Int, list[object]]:
    """Features of an ``.npy`` file, group codes and what each code stands for.

    ``protected`` is the protected attribute per row, as an array or another ``.npy`` file.
    """
    X = np.load(path, mmap_mode="r")
    values, codes = encode_groups(
        np.load(os.fspath(protected)) if isinstance(protected, str | os.PathLike) else protected, "protected"
    )
    if X.ndim != 2 or X.dtype.kind != "f" or len(X) != len(codes):
        raise ValueError(
            f"{Path(path).name} has shape {X.shape} and type {X.dtype}, protected {len(codes)} rows; "
            "expected a matrix of floats and one group per row"
        )
    return X, codes.astype(np.min_scalar_type(len(values))), values
