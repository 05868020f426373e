"""Optional packages, imported when first needed, and names for their untyped objects."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairask.errors import MissingExtra

#: An object of pyarrow, which has no type stubs.
Arrow: TypeAlias = Any
#: What a column can be: a pyarrow array, or a plain sequence.
Column: TypeAlias = Arrow | Sequence[object] | npt.NDArray[np.generic]
#: A matrix of features: float32 in a streamed pool, float64 in memory.
Out: TypeAlias = npt.NDArray[np.floating]


def optional(module: str, extra: str) -> ModuleType:
    """Import a module, or raise an error that names the extra that installs it.

    Examples
    --------
    >>> optional("math", "parquet").sqrt(4.0)
    2.0
    >>> optional("no_such_module", "dask")
    Traceback (most recent call last):
        ...
    fairask.errors.MissingExtra: no_such_module is not installed; pip install 'fairask[dask]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{module} is not installed", extra) from error
