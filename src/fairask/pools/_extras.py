"""Optional packages, imported when first needed, with a message that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["optional"]


def optional(module: str, extra: str) -> Any:
    """Import a module, or say which extra brings it.

    Examples
    --------
    >>> optional("math", "parquet").sqrt(4.0)
    2.0
    >>> optional("no_such_module", "dask")
    Traceback (most recent call last):
        ...
    ImportError: no_such_module is not installed: pip install 'fairask[dask]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(f"{module} is not installed: pip install 'fairask[{extra}]'") from error
