"""The best mixture of candidates within the moments of a fair problem, as a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fairask.metrics import Float
from fairask.oracle._moments import FairnessMoments

#: Price of one unit of violation beyond the tolerance. Multipliers cannot exceed it, so a mixture
#: is only infeasible when a unit of violation costs more error than there is.
PENALTY = 20.0
_TINY = 1e-9
_MOST_TO_ENUMERATE = 16
#: Pairs from which on the mixture program bounds the rates instead of listing the pairs.
MANY_PAIRS = 60
#: Error of a mixture, its members and their shares.
Vertex = tuple[float, list[int], list[float]]


@dataclass(frozen=True)
class Mixture:
    """Weights over candidates, the error and violation they give, and the dual solution.

    Attributes
    ----------
    weights : ndarray of shape (candidates,)
    error, violation : float
    multipliers : ndarray of shape (pairs,)
        Price of each pairwise constraint; non-negative.
    bound : float
        Value of the program: no mixture of these candidates has a smaller penalised error.
    feasible : bool
    """

    weights: Float
    error: float
    violation: float
    multipliers: Float
    bound: float
    feasible: bool


def _mixture(
    weights: Float, errors: Float, gaps: Float, multipliers: Float, bound: float, limits: Float
) -> Mixture:
    mixed = weights @ gaps
    violation = float(max(mixed.max(initial=0.0), 0.0))
    feasible = bool((mixed <= limits + 1e-7).all())
    return Mixture(weights, float(weights @ errors), violation, multipliers, bound, feasible)


def best_mixture(errors: Float, gaps: Float, limits: float | Float) -> Mixture:
    """Minimise the error of a mixture whose pairwise gaps are at most ``limits``: a small linear program.

    HiGHS solves it in general. With two groups there are one or two signed gaps, so an optimal mixture has at
    most three members and can be found by trying all of them, in a tenth of a solver call's time; the oracle
    solves thousands of these programs.

    Parameters
    ----------
    errors : ndarray of shape (candidates,)
    gaps : ndarray of shape (candidates, pairs)
        Both directions of every pair, next to each other for two groups.
    limits : float or ndarray of shape (pairs,)
        The tolerance, or a limit for each direction.

    Examples
    --------
    >>> m = best_mixture(np.array([0.1, 0.3]), np.array([[0.4, -0.4], [0.0, 0.0]]), 0.1)
    >>> m.weights.round(2).tolist(), round(m.error, 3), round(m.violation, 3)
    ([0.25, 0.75], 0.25, 0.1)
    """
    limit: Float = np.broadcast_to(np.asarray(limits, dtype=np.float64), gaps.shape[1:])
    if gaps.shape[1] == 2 or (gaps.shape[1] == 4 and len(errors) <= _MOST_TO_ENUMERATE):
        best = _enumerate(errors, gaps[:, ::2], -limit[1::2], limit[::2])
        if best is not None:
            weights, prices = best
            multipliers = np.stack([np.maximum(prices, 0.0), np.maximum(-prices, 0.0)], axis=1).ravel()
            value = float(weights @ errors)
            # At a degenerate vertex these prices need not be optimal; HiGHS finds some that are.
            if (errors + (gaps - limit) @ multipliers).min() >= value - 1e-7:
                return _mixture(weights, errors, gaps, multipliers, value, limit)
    return _by_highs(errors, gaps, limit)


def _solved(n: int, costs: Float, **program: Any) -> tuple[Any, Float]:
    """Solve a program whose first ``n`` unknowns are weights that add up to 1; return those as well."""
    solution = linprog(costs, b_eq=[1.0], method="highs", **program)
    if solution.x is None:
        raise RuntimeError(f"the mixture program failed: {solution.message}")
    weights = np.where(solution.x[:n] > _TINY, solution.x[:n], 0.0)
    return solution, weights / weights.sum()


def _by_highs(errors: Float, gaps: Float, limits: float | Float) -> Mixture:
    limit: Float = np.broadcast_to(np.asarray(limits, dtype=np.float64), gaps.shape[1:])
    n, n_pairs = gaps.shape
    solution, weights = _solved(
        n,
        np.r_[errors, PENALTY],
        A_ub=np.hstack([gaps.T, -np.ones((n_pairs, 1))]),
        b_ub=limit,
        A_eq=np.r_[np.ones(n), 0.0][None, :],
    )
    multipliers = np.maximum(-solution.ineqlin.marginals, 0.0)
    return _mixture(weights, errors, gaps, multipliers, float(solution.fun), limit)


def best_of_many_groups(
    moments: FairnessMoments, problem: int, errors: Float, rates: Float, limit: float
) -> Mixture:
    """Solve the same program where groups are many, with bounds on the rates instead of pairs of them.

    All gaps of a condition are at most the limit if its rates lie between two numbers that far apart. So the
    program has two rows for each group, where there are as many pairs as groups squared. The prices of the
    upper and the lower bounds add up to the same; greedy matching makes prices of pairs of them.

    Parameters
    ----------
    errors : ndarray of shape (candidates,)
    rates : ndarray of shape (candidates, rates)
    limit : float
    """
    n, n_rates = rates.shape
    n_groups = moments.n_groups
    conditions = n_rates // n_groups
    known = np.flatnonzero(moments.occupied[problem])
    high = np.zeros((n_rates, conditions))
    high[np.arange(n_rates), np.arange(n_rates) // n_groups] = 1.0
    none, one = np.zeros_like(high[known]), np.eye(conditions)
    upper = np.hstack([rates[:, known].T, -high[known], none, np.zeros((len(known), 1))])
    lower = np.hstack([-rates[:, known].T, none, high[known], np.zeros((len(known), 1))])
    between = np.hstack([np.zeros((conditions, n)), one, -one, -np.ones((conditions, 1))])
    free = [(None, None)] * (2 * conditions)
    solution, weights = _solved(
        n,
        np.r_[errors, np.zeros(2 * conditions), PENALTY],
        A_ub=np.vstack([upper, lower, between]),
        b_ub=np.r_[np.zeros(2 * len(known)), np.full(conditions, limit)],
        A_eq=np.r_[np.ones(n), np.zeros(2 * conditions + 1)][None, :],
        bounds=[(0, None)] * n + free + [(0, None)],
        options={"presolve": False},
    )
    prices = np.zeros((2, n_rates))
    prices[:, known] = np.maximum(-solution.ineqlin.marginals[: 2 * len(known)], 0.0).reshape(2, -1)
    multipliers = _pair_prices(prices, moments)
    gaps = moments.gaps(rates, problem)
    return _mixture(weights, errors, gaps, multipliers, float(solution.fun), np.full(gaps.shape[1], limit))


def _pair_prices(prices: Float, moments: FairnessMoments) -> Float:
    """Prices of pairs whose sums are the prices of upper and lower bounds (2, rates)."""
    upper, lower = prices - prices.min(axis=0)  # a rate that meets both bounds costs nothing
    out, n_groups = np.zeros(len(moments.pairs)), moments.n_groups
    for start in range(0, len(upper), n_groups):
        above = [g for g in range(start, start + n_groups) if upper[g] > _TINY]
        below = [g for g in range(start, start + n_groups) if lower[g] > _TINY]
        while above and below:
            a, b = above[-1], below[-1]
            price = min(upper[a], lower[b])
            local_a, local_b = a - start, b - start
            # Pairs are listed as permutations of the groups, condition by condition.
            out[start * (n_groups - 1) + local_a * (n_groups - 1) + local_b - (local_b > local_a)] += price
            upper[a] -= price
            lower[b] -= price
            if upper[a] <= _TINY:
                above.pop()
            if lower[b] <= _TINY:
                below.pop()
    return out


def _enumerate(errors: Float, signed: Float, lower: Float, upper: Float) -> tuple[Float, Float] | None:
    """Best feasible vertex for one or two signed gaps: its weights and the gaps' signed prices.

    A vertex mixes one candidate more than it has active limits. None if no mixture is feasible.
    """
    n, n_gaps = signed.shape
    inside = ((signed >= lower - _TINY) & (signed <= upper + _TINY)).all(axis=1)
    value, members, shares = np.inf, [0], [1.0]
    if inside.any():
        first = int(np.argmin(np.where(inside, errors, np.inf)))
        value, members = float(errors[first]), [first]
    active: list[int] = []
    for z in range(n_gaps):
        for limit in (upper[z], lower[z]):
            found = _on_one_limit(errors, signed, z, limit, lower, upper)
            if found is not None and found[0] < value - 1e-12:
                value, members, shares = found
                active = [z]
    if n_gaps == 2 and n >= 3:
        for corner in ((a, b) for a in (upper[0], lower[0]) for b in (upper[1], lower[1])):
            found = _on_two_limits(errors, signed, np.array(corner))
            if found is not None and found[0] < value - 1e-12:
                value, members, shares = found
                active = [0, 1]
    if not np.isfinite(value):
        return None
    weights = np.zeros(n)
    weights[members] = shares
    prices = np.zeros(n_gaps)
    if active:
        # All members cost the same at the right prices: e_i + sum_z price_z g_iz is constant.
        system = signed[members][:, active]
        rise = errors[members[0]] - errors[members[1:]]
        prices[active] = np.linalg.lstsq(system[1:] - system[0], rise, rcond=None)[0]
    return weights, prices


def _on_one_limit(
    errors: Float, signed: Float, z: int, limit: float, lower: Float, upper: Float
) -> Vertex | None:
    above, below = np.flatnonzero(signed[:, z] > limit), np.flatnonzero(signed[:, z] <= limit)
    if not len(above) or not len(below):
        return None
    high, low = signed[above, z][:, None], signed[below, z][None, :]
    share = (limit - low) / (high - low)
    mixed = share * errors[above][:, None] + (1.0 - share) * errors[below][None, :]
    for other in range(signed.shape[1]):
        if other != z:
            gap = share * signed[above, other][:, None] + (1.0 - share) * signed[below, other][None, :]
            fits = (gap >= lower[other] - _TINY) & (gap <= upper[other] + _TINY)
            mixed = np.where(fits, mixed, np.inf)
    i, j = np.unravel_index(int(np.argmin(mixed)), mixed.shape)
    s = float(share[i, j])
    return float(mixed[i, j]), [int(above[i]), int(below[j])], [s, 1.0 - s]


def _on_two_limits(errors: Float, signed: Float, corner: Float) -> Vertex | None:
    triples = np.array(list(combinations(range(len(errors)), 3)))
    a, b, c = (signed[triples[:, i]] - corner for i in range(3))
    # Barycentric coordinates of the corner in each triangle of candidates.
    areas = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=1)
    total = areas.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = areas / total
    good = (np.abs(total[:, 0]) > 1e-12) & (shares >= 0.0).all(axis=1)
    if not good.any():
        return None
    mixed = np.where(good, (np.where(good[:, None], shares, 0.0) * errors[triples]).sum(axis=1), np.inf)
    best = int(np.argmin(mixed))
    return float(mixed[best]), triples[best].tolist(), shares[best].tolist()


def _cross(p: Float, q: Float) -> Float:
    return np.asarray(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0])


def best_single(errors: Float, gaps: Float, limits: float | Float) -> Mixture:
    """Return the most accurate single candidate within ``limits``, else the one least beyond them.

    Examples
    --------
    >>> best_single(np.array([0.1, 0.3]), np.array([[0.4, -0.4], [0.0, 0.0]]), 0.1).weights.tolist()
    [0.0, 1.0]
    """
    limit: Float = np.broadcast_to(np.asarray(limits, dtype=np.float64), gaps.shape[1:])
    excess = np.maximum((gaps - limit - _TINY).max(axis=1, initial=0.0), 0.0)
    best = int(np.lexsort((errors, excess))[0])
    weights = np.zeros(len(errors))
    weights[best] = 1.0
    return _mixture(weights, errors, gaps, np.zeros(gaps.shape[1]), float(errors[best]), limit)
