"""Checks of the learner's arguments: each error names the argument, what was given and what is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from fairask.errors import suggest
from fairask.metrics import encode_groups
from fairask.pools import MemoryPool, Pool
from fairask.sampling import WEIGHTS

__all__ = ["as_pool", "check_count", "check_margin", "check_weights"]

#: Margins by name.
MARGINS = ("auto", "evidence", "sqrt_n")


def as_pool(X: Any, sensitive_features: ArrayLike | None, fast: bool) -> Pool:
    """The pool as the learner reads it: a pool as it is, a table with its groups as one in memory."""
    if isinstance(X, Pool):
        if sensitive_features is not None:
            raise ValueError("X is a pool, which knows its groups: leave sensitive_features out")
        return X
    if sensitive_features is None:
        raise TypeError("sensitive_features is missing: give the protected attribute of each row of X")
    rows = check_array(X, dtype=[np.float64, np.float32], input_name="X") if fast else X
    groups, codes = encode_groups(sensitive_features, "sensitive_features")
    if len(codes) != len(rows):
        raise ValueError(f"lengths disagree: X has {len(rows)} rows, sensitive_features {len(codes)}")
    return MemoryPool(rows, codes, len(groups), group_values=groups)


def check_margin(margin: Any) -> str | float | None:
    """Return ``margin`` if it is a name of ``MARGINS``, a number in [0, 1] or None."""
    if margin is None or (isinstance(margin, str) and margin in MARGINS):
        return margin
    if isinstance(margin, str):
        raise ValueError(
            f"margin={margin!r} is unknown; {suggest(margin, MARGINS)}, or give a number or None"
        )
    if isinstance(margin, bool) or not 0 <= margin <= 1:
        raise ValueError(f"margin={margin!r} must be {', '.join(MARGINS)}, a number in [0, 1] or None")
    return float(margin)


def check_weights(kind: Any, name: str) -> str:
    """Return the kind of weights if it is known."""
    if kind not in WEIGHTS:
        raise ValueError(f"{name}={kind!r} is unknown; {suggest(kind, WEIGHTS)}")
    return str(kind)


def check_count(n: Any, name: str) -> int:
    """Return ``n`` if it is a whole number, 1 or more."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"{name}={n!r} must be a whole number, 1 or more")
    return int(n)
