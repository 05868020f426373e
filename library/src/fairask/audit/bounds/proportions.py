"""Limits of one proportion and of a difference of two: Wilson's and Newcombe's, and Clopper and Pearson's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from fairask.metrics import Float


def wilson(hits: ArrayLike, n: ArrayLike, z: ArrayLike) -> tuple[Float, Float]:
    """Wilson's score limits for a proportion; ``n`` need not be whole (effective sizes serve).

    Examples
    --------
    >>> low, high = wilson(8, 10, 1.645)
    >>> round(float(low), 3), round(float(high), 3)
    (0.541, 0.931)
    """
    t, size, q = (np.asarray(v, dtype=np.float64) for v in (hits, n, z))
    middle = t + q * q / 2
    spread = q * np.sqrt(np.maximum(t * (size - t) / size, 0) + q * q / 4)
    total = size + q * q
    return np.maximum((middle - spread) / total, 0.0), np.minimum((middle + spread) / total, 1.0)


def newcombe_upper(
    hits_a: ArrayLike, n_a: ArrayLike, hits_b: ArrayLike, n_b: ArrayLike, level: float
) -> Float:
    """Upper limit for ``p_a - p_b`` that is exceeded with probability about ``level``.

    Works elementwise on arrays. Asymptotic: the coverage approaches ``1 - level`` as the counts grow.

    Examples
    --------
    >>> round(float(newcombe_upper(56, 70, 48, 80, 0.025)), 4)
    0.3339
    """
    ta, na, tb, nb = (np.asarray(v, dtype=np.float64) for v in (hits_a, n_a, hits_b, n_b))
    z = -ndtri(level)
    pa, pb = ta / na, tb / nb
    _, high = wilson(ta, na, z)
    low, _ = wilson(tb, nb, z)
    return np.asarray(pa - pb + np.hypot(high - pa, pb - low))


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
