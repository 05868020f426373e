"""Where to sample: the disagreement design (lambda_diff) and the group design (lambda_fair).

Rows on which the k classifiers give the same pattern, up to complement, and which are in the same group
are exchangeable: every distribution of the method treats them alike. Such rows form a *cell*, and a
design is a probability a row for each cell. Its cost depends on the number of cells, not of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Float, Int

__all__ = ["Design", "disagreement_design", "group_design"]


@dataclass(frozen=True)
class Design:
    """A sampling distribution, constant within cells.

    Attributes
    ----------
    per_row : ndarray of shape (cells,)
        Probability of each row of a cell; ``counts @ per_row`` is 1.
    value : float
        The worst pair's cost, max over pairs of the sum over x of 1[h_i(x) != h_j(x)] / lambda_x.
    bound : float
        No distribution has a smaller value.
    n_iter : int
    """

    per_row: Float
    value: float
    bound: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative duality gap, ``value / bound - 1``."""
        return self.value / self.bound - 1.0


def disagreement_design(
    patterns: ArrayLike, counts: ArrayLike, *, tol: float = 1e-4, max_iter: int = 20_000
) -> Design | None:
    """lambda_diff: the minimax design that tells k classifiers apart (Algorithm 1, line 7).

    With pair weights w and ``q = sqrt(sum_ij w_ij d_ij)`` a cell, weak duality bounds the value from
    below by ``(sum count q)^2``, attained by ``lambda = q / sum(count q)``. Multiplicative updates of w
    raise that bound; where they slow down, a safeguarded Newton step on the support takes over.

    Parameters
    ----------
    patterns : bool array of shape (k, cells)
        Predictions of the k classifiers in each cell.
    counts : array of shape (cells,)
        Rows in each cell.
    tol : float
        Relative duality gap at which to stop.

    Returns
    -------
    Design, or None when no pair of classifiers disagrees anywhere.

    Examples
    --------
    Two classifiers that disagree on 4 of 10 rows: those rows share the probability.

    >>> design = disagreement_design([[0, 1], [0, 0]], [6, 4])
    >>> design.per_row.tolist(), design.value
    ([0.0, 0.25], 16.0)
    """
    bits = np.asarray(patterns, dtype=bool)
    count = np.asarray(counts, dtype=np.float64)
    if bits.ndim != 2 or count.shape != bits.shape[1:]:
        raise ValueError(
            f"patterns has shape {bits.shape}, counts {count.shape}; expected (k, cells) and (cells,)"
        )
    occupied = count > 0
    pairs = np.array([bits[i] ^ bits[j] for i, j in combinations(range(len(bits)), 2)]).reshape(
        -1, len(count)
    )
    pairs = np.unique(pairs[:, occupied], axis=0)  # classifiers that agree everywhere repeat their pairs
    pairs = pairs[pairs.any(axis=1)].astype(np.float64)
    if not len(pairs):
        return None
    inside = pairs.any(axis=0)
    D, c = pairs[:, inside], count[occupied][inside]
    w = np.full(len(D), 1.0 / len(D))
    best: tuple[float, Float] = (np.inf, np.zeros(0))
    bound = 0.0
    for iteration in range(1, max_iter + 1):
        q = np.sqrt(np.maximum(w @ D, 1e-300))
        total = float(c @ q)
        cost = D @ (c * total / q)
        bound = max(bound, total * total)
        if cost.max() < best[0]:
            best = (float(cost.max()), q / total)
        if best[0] <= bound * (1.0 + tol):
            break
        w = w * (cost / (w @ cost))
        if iteration % 50 == 0:
            w = _newton(w, D, c)
    per_row = np.zeros(len(count))
    per_row[np.flatnonzero(occupied)[inside]] = best[1]
    return Design(per_row, best[0], bound, iteration)


def _newton(w: Float, D: Float, c: Float) -> Float:
    """One Newton step on the dual ``sum c sqrt(w D)`` over the simplex, within w's support."""
    support = w > 1e-8 * w.max()
    S = D[support]
    v = w[support] / w[support].sum()
    q = np.sqrt(np.maximum(v @ S, 1e-300))
    gradient = S @ (0.5 * c / q)
    hessian = -(S * (0.25 * c / q**3)) @ S.T
    n = len(v)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = hessian - 1e-10 * np.trace(-hessian) / n * np.eye(n)
    system[:n, n] = system[n, :n] = 1.0
    step = np.linalg.lstsq(system, np.r_[-gradient, 0.0], rcond=None)[0][:n]
    shrinking = step < 0
    size = min(1.0, 0.95 * float(np.min(-v[shrinking] / step[shrinking]))) if shrinking.any() else 1.0
    before = float(c @ q)
    for _ in range(20):
        trial = v + size * step
        if float(c @ np.sqrt(np.maximum(trial @ S, 0.0))) > before:
            out = np.where(support, 0.0, w)
            out[support] = trial
            return np.asarray(out / out.sum())
        size *= 0.5
    return w


def group_design(group_of_cell: ArrayLike, counts: ArrayLike) -> Float:
    """lambda_fair: every group that still has rows is equally likely, its rows uniform (Algorithm 1, line 8).

    Examples
    --------
    >>> group_design([0, 0, 1], [3, 5, 2]).round(4).tolist()
    [0.0625, 0.0625, 0.25]
    """
    group: Int = np.asarray(group_of_cell, dtype=np.int64)
    count = np.asarray(counts, dtype=np.float64)
    size = np.bincount(group, weights=count)
    present: NDArray[np.bool_] = size > 0
    if not present.any():
        raise ValueError("counts are all zero: the pool is empty")
    share = np.where(present, 1.0 / present.sum(), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(present, share / size, 0.0)
    return np.asarray(np.where(count > 0, rate[group], 0.0))
