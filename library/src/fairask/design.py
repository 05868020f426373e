"""Where to sample: the disagreement design (lambda_diff) and the group design (lambda_fair).

Rows of one group on which the k classifiers give the same pattern, up to complement, are exchangeable: every
distribution of the method treats them alike. Such rows form a *cell*, and a design gives each cell a
probability per row. Its cost depends on the number of cells, not of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.blas import small_problem
from fairask.metrics import Float, Int


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


#: Relative duality gap at which a design is found, and steps at most; some ten are taken.
_TOLERANCE, _MOST_STEPS = 1e-5, 200


def disagreement_design(patterns: ArrayLike, counts: ArrayLike) -> Design | None:
    """lambda_diff: the minimax design that tells k classifiers apart (Algorithm 1, line 7).

    With pair weights w and ``q = sqrt(sum_ij w_ij d_ij)`` per cell, weak duality bounds the value from
    below by ``(sum count q)^2``, and ``lambda = q / sum(count q)`` attains it at the best w. That w
    maximises a concave function of k (k - 1) / 2 numbers over the simplex: a primal-dual interior
    point method takes some ten Newton steps.

    Parameters
    ----------
    patterns : bool array of shape (k, cells)
        Predictions of the k classifiers in each cell.
    counts : array of shape (cells,)
        Rows in each cell.

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
    if (k := len(bits)) > 64:
        raise ValueError(f"at most 64 classifiers are compared, got {k}")
    first, second = np.triu_indices(k, 1)
    # Cells of several groups may share a pattern; the pairs only see the pattern.
    keys = (bits ^ bits[:1]).T.astype(np.uint64) @ (np.uint64(1) << np.arange(k, dtype=np.uint64))
    _, sample, of_cell = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(of_cell, weights=count)
    D = (bits[first] ^ bits[second])[:, sample[total > 0]].astype(np.float64)
    D = D[D.any(axis=1)]
    if not len(D):
        return None
    differ = D.any(axis=0)
    inside = np.flatnonzero(total > 0)[differ]
    with small_problem(D.size):
        lam, value, bound, n_iter = _minimax(D[:, differ], total[inside])
    per_pattern = np.zeros(len(total))
    per_pattern[inside] = lam
    return Design(np.where(count > 0, per_pattern[of_cell], 0.0), value, bound, n_iter)


def _minimax(D: Float, c: Float) -> tuple[Float, float, float, int]:
    """Maximise ``sum c sqrt(w D)`` over the simplex; return lambda, its value, the bound, the steps."""
    n = len(D)
    c_sum = c.sum()
    w = np.full(n, 1.0 / n)
    z = np.zeros(n)
    value, bound, best = np.inf, 0.0, np.zeros(0)
    system = np.zeros((n + 1, n + 1))
    system[:n, n] = system[n, :n] = 1.0
    for iteration in range(1, _MOST_STEPS + 1):
        q = np.sqrt(w @ D)
        total = float(c @ q)
        slope = D @ (c / q)  # twice the gradient; the pair's cost is total * slope
        bound = max(bound, total * total)
        if total * slope.max() < value:
            value, best = total * float(slope.max()), q / total
        if value <= bound * (1.0 + _TOLERANCE):
            break
        gradient = 0.5 * slope / c_sum
        if iteration == 1:
            price = 1.1 * float(gradient.max())
            z = price - gradient
        # Newton on the optimality conditions, aimed at a tenth of the present complementarity.
        target = 0.1 * float(w @ z) / n
        A = D * np.sqrt(0.25 * c / (c_sum * q**3))
        system[:n, :n] = A @ A.T
        system[np.arange(n), np.arange(n)] += z / w
        right = np.r_[gradient - price + target / w, 1.0 - w.sum()]
        solution = np.linalg.solve(system, right)
        step, price_step = solution[:n], float(solution[n])
        z_step = (target - z * step) / w - z
        size_w, size_z = _largest_step(w, step), _largest_step(z, z_step)
        w = w + size_w * step
        z, price = z + size_z * z_step, price + size_z * price_step
    return best, value, bound, iteration


def _largest_step(x: NDArray[np.floating], step: NDArray[np.floating]) -> float:
    """Most of the way to the boundary of the positive orthant, at most a whole step."""
    shrinking = step < 0
    return min(1.0, 0.99 * float(np.min(-x[shrinking] / step[shrinking]))) if shrinking.any() else 1.0


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
