"""Clopper-Pearson limits per group, combined by the union bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from fairask.metrics import Float


def clopper_pearson(hits: ArrayLike, n: ArrayLike, level: float) -> tuple[Float, Float]:
    """One-sided exact limits for a proportion, each failing with probability at most ``level``.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, 0.05)
    >>> float(low), round(float(high), 4)  # 1 - 0.05 ** (1 / 10)
    (0.0, 0.2589)
    """
    t, size = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    # The beta quantile is undefined at the corners, where the limits are 0 and 1.
    low = np.where(t > 0, betaincinv(np.maximum(t, 1), size - np.maximum(t, 1) + 1, level), 0.0)
    inner = np.minimum(t, size - 1)
    high = np.where(t < size, betaincinv(inner + 1, np.maximum(size - inner, 1), 1 - level), 1.0)
    return low, high


def clopper_pearson_upper(
    hits_a: ArrayLike, n_a: ArrayLike, hits_b: ArrayLike, n_b: ArrayLike, level: float
) -> Float:
    """Upper limit for ``p_a - p_b``: each group's limit at ``level / 2``. Exact, and wide.

    Examples
    --------
    >>> round(float(clopper_pearson_upper(56, 70, 48, 80, 0.05)), 3)
    0.402
    """
    _, high = clopper_pearson(hits_a, n_a, level / 2)
    low, _ = clopper_pearson(hits_b, n_b, level / 2)
    return high - low
