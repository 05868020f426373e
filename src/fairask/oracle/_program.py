"""The fair problem as a linear program: its moments, and the best mixture of candidates within them.

A *rate* belongs to a condition and a group, e.g. y = 1 and group b. It is linear in the predictions,
``rate = sum_i share_i h_i``, where the shares of its rows add up to 1. A metric bounds the differences of
rates between groups within each condition. Nothing else of the metric reaches the dual search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fairask.metrics import METRICS, Bool, Float, Int, Metric
from fairask.oracle.labelled import Labelled

__all__ = [
    "MANY_PAIRS",
    "FairnessMoments",
    "Mixture",
    "best_mixture",
    "best_of_many_groups",
    "best_single",
    "ordered_pairs",
]

#: Price of one unit of violation beyond the tolerance. Multipliers cannot exceed it, so a mixture
#: is only infeasible when a unit of violation costs more error than there is.
PENALTY = 20.0
_TINY = 1e-9
_MOST_TO_ENUMERATE = 16
#: Pairs from which on the mixture program bounds the rates instead of listing the pairs.
MANY_PAIRS = 60
#: Error of a mixture, its members and their shares.
Vertex = tuple[float, list[int], list[float]]


def ordered_pairs(n_conditions: int, n_groups: int) -> list[tuple[int, int]]:
    """Pairs of rates that are compared, both ways; rates are numbered condition-major.

    Examples
    --------
    >>> ordered_pairs(1, 2)
    [(0, 1), (1, 0)]
    """
    return [
        (z * n_groups + a, z * n_groups + b)
        for z in range(n_conditions)
        for a, b in permutations(range(n_groups), 2)
    ]


@dataclass(frozen=True)
class FairnessMoments:
    """Risk and rates of ``p`` problems that share their rows and differ in labels or weights.

    Attributes
    ----------
    risk : ndarray of shape (p, n)
        Signed cost of predicting 1 for the error, ``u_i (1 - 2 y_i) / sum(u)``.
    base : ndarray of shape (p,)
        The error of predicting 0 everywhere.
    shares : ndarray of shape (p, rates, n)
        Weight of each row in a rate over the weight of all its rows; 0 for other rows.
    occupied : bool ndarray of shape (p, rates)
        False where a rate has no weight: it is unknown and left unconstrained.
    pairs : list of (int, int)
        Rates to compare.
    """

    risk: Float
    base: Float
    shares: Float
    occupied: Bool
    pairs: list[tuple[int, int]]

    @classmethod
    def of(
        cls, labelled: Labelled, metric: Metric, labels: Float | None = None, weights: Float | None = None
    ) -> FairnessMoments:
        """Build from labelled rows, or from copies with other labels or factors of the weights, (p, n)."""
        y = labelled.y[None, :] if labels is None else labels
        factor = np.ones(y.shape) if weights is None else weights
        risk_weight, fairness_weight = factor * labelled.risk_weights, factor * labelled.fairness_weights
        u = risk_weight / risk_weight.sum(axis=1, keepdims=True)
        inside = [
            fairness_weight if label is None else fairness_weight * (y == label) for label in METRICS[metric]
        ]
        return cls._of_parts(
            u * (1.0 - 2.0 * y), (u * y).sum(axis=1), inside, labelled.groups, labelled.n_groups
        )

    @classmethod
    def soft(cls, p: Float, groups: Int, n_groups: int, metric: Metric) -> FairnessMoments:
        """Build one problem from rows whose label is 1 with probability ``p``: a calibrated pool."""
        inside = [{1: p, 0: 1.0 - p, None: np.ones_like(p)}[label][None, :] for label in METRICS[metric]]
        return cls._of_parts(
            (1.0 - 2.0 * p)[None, :] / len(p), np.array([p.mean()]), inside, groups, n_groups
        )

    @classmethod
    def _of_parts(
        cls, risk: Float, base: Float, inside: list[Float], groups: Int, n_groups: int
    ) -> FairnessMoments:
        """Build from the weight (p, n) of each row in the rates of each condition."""
        shares = np.zeros((len(risk), len(inside) * n_groups, risk.shape[1]))
        for z, weight in enumerate(inside):
            for g in range(n_groups):
                shares[:, z * n_groups + g] = weight * (groups == g)
        totals = shares.sum(axis=2, keepdims=True)
        shares /= np.where(totals > 0, totals, 1.0)
        return cls(risk, base, shares, totals[:, :, 0] > 0, ordered_pairs(len(inside), n_groups))

    def __len__(self) -> int:
        return len(self.risk)

    @cached_property
    def ends(self) -> tuple[Int, Int]:
        """The first and the second rate of each pair."""
        first, second = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    @property
    def n_groups(self) -> int:
        """Groups that are compared."""
        return 1 + len(self.pairs) // int(self.occupied.shape[1])

    def largest_gaps(self, rates: Float, problem: int) -> Float:
        """The largest gap of each entry of rates (..., rates), without listing the pairs."""
        shape = (*rates.shape[:-1], -1, self.n_groups)
        known = np.broadcast_to(self.occupied[problem], rates.shape).reshape(shape)
        values = rates.reshape(shape)
        high = np.where(known, values, -np.inf).max(axis=-1)
        low = np.where(known, values, np.inf).min(axis=-1)
        return np.asarray(np.maximum(high - low, 0.0).max(axis=-1))

    def by_rate(self, multipliers: Float) -> Float:
        """Multipliers of the rates from those of the pairs."""
        first, second = self.ends
        n_rates = self.occupied.shape[1]
        paid, got = (np.bincount(end, multipliers, n_rates) for end in (first, second))
        return np.asarray(paid - got, dtype=np.float64)

    def select(self, problems: Int) -> FairnessMoments:
        """Return the problems with these indices."""
        return FairnessMoments(
            self.risk[problems],
            self.base[problems],
            self.shares[problems],
            self.occupied[problems],
            self.pairs,
        )

    def costs(self, multipliers: Float) -> Float:
        """Signed cost of predicting 1 on each row, for one multiplier per rate: (p, rates) -> (p, n)."""
        return np.asarray(self.risk + np.einsum("pc,pcn->pn", multipliers, self.shares))

    def errors(self, predictions: Float) -> Float:
        """Weighted error of each problem's predictions (p, n)."""
        return np.asarray(self.base + (self.risk * predictions).sum(axis=1))

    def rates(self, predictions: Float) -> Float:
        """Rates (p, rates) of each problem's predictions (p, n)."""
        return np.asarray(np.einsum("pcn,pn->pc", self.shares, predictions))

    def gaps(self, rates: Float, problem: int) -> Float:
        """Rate differences (..., pairs) of one problem; pairs with an unknown rate are 0."""
        first, second = self.ends
        known = self.occupied[problem][first] & self.occupied[problem][second]
        return np.asarray((rates[..., first] - rates[..., second]) * known)


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
