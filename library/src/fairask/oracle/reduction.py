"""The reduction: one constrained problem becomes a few weighted, unconstrained fits (Agarwal et al. 2018).

Three parts follow each other:

1. *Moments*. The error and the rates of a rule are linear in its predictions. A rate belongs to a condition
   and a group, e.g. y = 1 and group b: ``rate = sum_i share_i h_i``, where the shares of its rows sum to 1.
   A metric bounds the differences of rates between groups within each condition. Nothing else of the metric
   reaches the search.
2. *Mixtures*. Of the rules tried so far, the best mixture within the tolerance is a small linear program. Its
   dual solution prices each pair of rates.
3. *The search*. For multipliers mu the Lagrangian is a weighted classification problem, so a base learner
   gives a candidate rule. Which mu to try next:

   * two groups and one condition leave one number: bracket it and bisect;
   * otherwise column generation: the mixture program's duals are the next mu. A surrogate loss can stall
     there, so the mean of the mu of the mixture's members, bisection's analogue, is tried in turn.

   Problems are solved in step, so that a learner that can fit many at once does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.optimize import linprog

from fairask.metrics import METRICS, Bool, Float, Int, Metric, in_condition
from fairask.oracle.base import Labelled
from fairask.rules import Rule

R = TypeVar("R", bound=Rule)

#: Price of one unit of gap beyond the tolerance. Multipliers cannot exceed it, so a mixture
#: is only infeasible when a unit of gap costs more error than there is.
_PENALTY = 20.0
_TINY = 1e-9
_MOST_TO_ENUMERATE = 16
#: Pairs from which on the mixture program bounds the rates instead of listing the pairs.
_MANY_PAIRS = 60
#: Error of a mixture, its members and their shares.
_Vertex = tuple[float, list[int], list[float]]
#: First multiplier of a bracket, and the largest: beyond it, the sample has no rule within the tolerance.
_FIRST_STEP, _LARGEST_MULTIPLIER = 0.05, 20.0
#: How often the bracket is halved; the mixture interpolates the rest.
_CUTS = 2
#: Smallest gain in error for which the search goes on where groups are many: rates of few rows are noisy.
_WORTHWHILE_OF_MANY = 2.5e-3


def _ordered_pairs(n_conditions: int, n_groups: int) -> list[tuple[int, int]]:
    """Pairs of rates that are compared, both ways; rates are numbered condition-major.

    Examples
    --------
    >>> _ordered_pairs(1, 2)
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
        inside = [in_condition(label, p)[None, :] for label in METRICS[metric]]
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
        return cls(risk, base, shares, totals[:, :, 0] > 0, _ordered_pairs(len(inside), n_groups))

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
    """Weights over candidates, the error and gap they give, and the dual solution.

    Attributes
    ----------
    weights : ndarray of shape (candidates,)
    error, gap : float
    multipliers : ndarray of shape (pairs,)
        Price of each pairwise constraint; non-negative.
    bound : float
        Value of the program: no mixture of these candidates has a smaller penalised error.
    feasible : bool
    """

    weights: Float
    error: float
    gap: float
    multipliers: Float
    bound: float
    feasible: bool


def _mixture(
    weights: Float, errors: Float, gaps: Float, multipliers: Float, bound: float, limit: float
) -> Mixture:
    mixed = weights @ gaps
    gap = float(max(mixed.max(initial=0.0), 0.0))
    feasible = bool((mixed <= limit + 1e-7).all())
    return Mixture(weights, float(weights @ errors), gap, multipliers, bound, feasible)


def best_mixture(errors: Float, gaps: Float, limit: float) -> Mixture:
    """Minimise the error of a mixture whose pairwise gaps are at most ``limit``: a small linear program.

    HiGHS solves it in general. With two groups there are one or two signed gaps, so an optimal mixture has at
    most three members and can be found by trying all of them, in a tenth of a solver call's time; the oracle
    solves thousands of these programs.

    Parameters
    ----------
    errors : ndarray of shape (candidates,)
    gaps : ndarray of shape (candidates, pairs)
        Both directions of every pair, next to each other for two groups.
    limit : float
        The tolerance.

    Examples
    --------
    >>> m = best_mixture(np.array([0.1, 0.3]), np.array([[0.4, -0.4], [0.0, 0.0]]), 0.1)
    >>> m.weights.round(2).tolist(), round(m.error, 3), round(m.gap, 3)
    ([0.25, 0.75], 0.25, 0.1)
    """
    if gaps.shape[1] == 2 or (gaps.shape[1] == 4 and len(errors) <= _MOST_TO_ENUMERATE):
        best = _enumerate(errors, gaps[:, ::2], limit)
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


def _by_highs(errors: Float, gaps: Float, limit: float) -> Mixture:
    n, n_pairs = gaps.shape
    solution, weights = _solved(
        n,
        np.r_[errors, _PENALTY],
        A_ub=np.hstack([gaps.T, -np.ones((n_pairs, 1))]),
        b_ub=np.full(n_pairs, limit),
        A_eq=np.r_[np.ones(n), 0.0][None, :],
        options={"presolve": n_pairs <= 4},  # of larger programs it takes longer than the rest
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
        np.r_[errors, np.zeros(2 * conditions), _PENALTY],
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
    return _mixture(weights, errors, gaps, multipliers, float(solution.fun), limit)


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


def _enumerate(errors: Float, signed: Float, limit: float) -> tuple[Float, Float] | None:
    """Best feasible vertex for one or two signed gaps: its weights and the gaps' signed prices.

    A vertex mixes one candidate more than it has active limits. None if no mixture is feasible.
    """
    n, n_gaps = signed.shape
    inside = (np.abs(signed) <= limit + _TINY).all(axis=1)
    value, members, shares = np.inf, [0], [1.0]
    if inside.any():
        first = int(np.argmin(np.where(inside, errors, np.inf)))
        value, members = float(errors[first]), [first]
    active: list[int] = []
    for z in range(n_gaps):
        for end in (limit, -limit):
            found = _on_one_limit(errors, signed, z, end)
            if found is not None and found[0] < value - 1e-12:
                value, members, shares = found
                active = [z]
    if n_gaps == 2 and n >= 3:
        for corner in product((limit, -limit), repeat=2):
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


def _on_one_limit(errors: Float, signed: Float, z: int, end: float) -> _Vertex | None:
    """Best mixture of two candidates whose gap z is ``end``; the other gap may be as large."""
    above, below = np.flatnonzero(signed[:, z] > end), np.flatnonzero(signed[:, z] <= end)
    if not len(above) or not len(below):
        return None
    high, low = signed[above, z][:, None], signed[below, z][None, :]
    share = (end - low) / (high - low)
    mixed = share * errors[above][:, None] + (1.0 - share) * errors[below][None, :]
    for other in range(signed.shape[1]):
        if other != z:
            gap = share * signed[above, other][:, None] + (1.0 - share) * signed[below, other][None, :]
            mixed = np.where(np.abs(gap) <= abs(end) + _TINY, mixed, np.inf)
    i, j = np.unravel_index(int(np.argmin(mixed)), mixed.shape)
    s = float(share[i, j])
    return float(mixed[i, j]), [int(above[i]), int(below[j])], [s, 1.0 - s]


def _on_two_limits(errors: Float, signed: Float, corner: Float) -> _Vertex | None:
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


def best_single(errors: Float, gaps: Float, limit: float) -> Mixture:
    """Return the most accurate single candidate within ``limit``, else the one least beyond it.

    Examples
    --------
    >>> best_single(np.array([0.1, 0.3]), np.array([[0.4, -0.4], [0.0, 0.0]]), 0.1).weights.tolist()
    [0.0, 1.0]
    """
    excess = np.maximum((gaps - limit - _TINY).max(axis=1, initial=0.0), 0.0)
    best = int(np.lexsort((errors, excess))[0])
    weights = np.zeros(len(errors))
    weights[best] = 1.0
    return _mixture(weights, errors, gaps, np.zeros(gaps.shape[1]), float(errors[best]), limit)


class BaseLearner(Protocol[R]):
    """Fits classifiers to signed costs: predict 1 where the cost is negative, weight its size."""

    batched: bool  #: whether many fits cost little more than one

    def fit(self, costs: Float, multipliers: Float, starts: Sequence[R] | None) -> tuple[list[R], Float]:
        """Return one rule per row of ``costs`` (p, n) and their 0/1 predictions on the sample (p, n).

        ``multipliers`` (p, rates) are the prices that made the costs; ``starts`` are rules of similar
        problems, to start from.
        """
        ...


@dataclass
class Candidates(Generic[R]):
    """What one problem has tried: rules, errors, rates and the multipliers that made them."""

    rules: list[R] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    rates: list[Float] = field(default_factory=list)
    multipliers: list[Float] = field(default_factory=list)

    def add(self, rule: R, error: float, rates: Float, multipliers: Float) -> None:
        """Record what was tried."""
        self.rules.append(rule)
        self.errors.append(error)
        self.rates.append(rates)
        self.multipliers.append(multipliers)

    def first(self, n: int) -> Candidates[R]:
        """Return the first ``n``."""
        return Candidates(self.rules[:n], self.errors[:n], self.rates[:n], self.multipliers[:n])


@dataclass(frozen=True)
class Solution(Generic[R]):
    """The mixture found for one problem and the record of the search."""

    mixture: Mixture
    candidates: Candidates[R]
    rates: Float
    fitted: int  #: candidates, the first ones, that were fitted; the others are these with another threshold

    @property
    def members(self) -> tuple[list[R], Float]:
        """Rules with positive weight, and their weights."""
        used = np.flatnonzero(self.mixture.weights)
        return [self.candidates.rules[j] for j in used], self.mixture.weights[used]


class _Game(Generic[R]):
    """Fits chosen problems at chosen multipliers and records the results."""

    def __init__(self, moments: FairnessMoments, learner: BaseLearner[R], worthwhile: float) -> None:
        self.moments, self.learner, self.worthwhile = moments, learner, worthwhile
        self.tried: list[Candidates[R]] = [Candidates() for _ in range(len(moments))]

    def play(self, problems: Int, multipliers: Float, starts: Sequence[R] | None = None) -> Float:
        """Fit each problem at its multipliers (q, rates); return the candidates' rates (q, rates)."""
        part = self.moments.select(problems)
        rules, predictions = self.learner.fit(part.costs(multipliers), multipliers, starts)
        errors, rates = part.errors(predictions), part.rates(predictions)
        for i, problem in enumerate(problems):
            self.tried[problem].add(rules[i], float(errors[i]), rates[i], multipliers[i])
        return rates

    def move_thresholds(self, problem: int, tolerance: float) -> None:
        """Add, for each rule tried, its most accurate threshold that closes all gaps by itself.

        The ends of the scan predict one class for everyone, so there always is one.
        """
        learner: Any = self.learner  # a batched learner also has cuts(), and its rules shifted()
        tried: Candidates[Any] = self.tried[problem]
        risk, shares = self.moments.risk[problem], self.moments.shares[problem]
        for j, rule in enumerate(list(tried.rules)):
            order, shift = learner.cuts(rule)
            ends = np.zeros((1 + len(shares), 1))
            sums = np.hstack([np.cumsum(np.vstack([risk, shares])[:, order[::-1]], axis=1)[:, ::-1], ends])
            errors, rates = self.moments.base[problem] + sums[0], sums[1:].T
            closed = self.moments.largest_gaps(rates, problem) <= tolerance
            best = int(np.argmin(np.where(closed & np.isfinite(shift), errors, np.inf)))
            tried.add(rule.shifted(shift[best]), float(errors[best]), rates[best], tried.multipliers[j])

    def best(self, problem: int, tolerance: float, randomized: bool) -> Mixture:
        tried = self.tried[problem]
        if randomized and len(self.moments.pairs) > _MANY_PAIRS:
            rates, errors = np.array(tried.rates), np.array(tried.errors)
            return best_of_many_groups(self.moments, problem, errors, rates, tolerance)
        gaps = self.moments.gaps(np.array(tried.rates), problem)
        choose = best_mixture if randomized else best_single
        return choose(np.array(tried.errors), gaps, tolerance)


def search(
    moments: FairnessMoments,
    learner: BaseLearner[R],
    tolerance: float,
    *,
    randomized: bool = True,
    max_fits: int = 60,
    worthwhile: float = 1e-3,
    known: Sequence[Solution[R]] | None = None,
) -> list[Solution[R]]:
    """Solve every problem of ``moments`` within ``tolerance``, with at most ``max_fits`` fits each.

    A new column must promise an error smaller by ``worthwhile``, or the search ends. It begins with the rules
    that solutions of the same problems at another tolerance have fitted, if they are ``known``.
    """
    if len(moments.pairs) > _MANY_PAIRS:
        worthwhile = max(worthwhile, _WORTHWHILE_OF_MANY)
    game = _Game(moments, learner, worthwhile)
    everything = np.arange(len(moments))
    if known is None:
        game.play(everything, np.zeros(moments.occupied.shape))
    else:
        game.tried = [solution.candidates.first(solution.fitted) for solution in known]
        max_fits += max(solution.fitted for solution in known)
    rates = [tried.rates[0] for tried in game.tried]
    broken = np.array([(moments.gaps(rate, i) > tolerance + 1e-9).any() for i, rate in enumerate(rates)])
    method = _bisect if len(moments.pairs) == 2 and learner.batched else _generate
    if broken.any():
        method(game, everything[broken], tolerance, max_fits)
    solutions = []
    for i in range(len(moments)):
        fitted = len(game.tried[i].rules)
        mixture = game.best(i, tolerance, randomized and bool(broken[i]))
        if broken[i] and learner.batched and not (randomized and mixture.feasible):
            game.move_thresholds(i, tolerance)
            mixture = game.best(i, tolerance, randomized)
        tried = game.tried[i]
        solutions.append(Solution(mixture, tried, mixture.weights @ np.array(tried.rates), fitted))
    return solutions


def _bisect(game: _Game[R], problems: Int, tolerance: float, max_fits: int) -> None:
    """One multiplier, for rate 0 minus rate 1: double it until the gap is closed, then bisect."""
    sign = np.array([np.sign(game.tried[i].rates[0] @ [1.0, -1.0]) for i in problems])
    low, high = np.zeros(len(problems)), np.full(len(problems), _FIRST_STEP)
    low_rule = [game.tried[i].rules[0] for i in problems]
    cuts = np.full(len(problems), -1)
    live = np.arange(len(problems))
    for _ in range(max_fits - 1):
        at = np.where(cuts < 0, high, 0.5 * (low + high))
        mu = (sign * at)[live, None] * [1.0, -1.0]
        rates = game.play(problems[live], mu, [low_rule[j] for j in live])
        closed = sign[live] * (rates @ [1.0, -1.0]) <= tolerance
        for j, inside in zip(live, closed, strict=True):
            bracketed = inside or cuts[j] >= 0
            if inside:
                high[j] = at[j]
            else:
                low[j], low_rule[j] = at[j], game.tried[problems[j]].rules[-1]
                if not bracketed:
                    high[j] *= 2.0
            cuts[j] += bracketed
        # A multiplier beyond the largest closes nothing: the sample has no rule within the tolerance.
        live = live[(cuts[live] < _CUTS) & (high[live] <= _LARGEST_MULTIPLIER)]
        if not len(live):
            return


def _generate(game: _Game[R], problems: Int, tolerance: float, max_fits: int) -> None:
    """Climb until the gaps are closed, then generate columns; all problems in step."""
    _climb(game, problems, tolerance)
    mixtures = {i: game.best(i, tolerance, True) for i in problems.tolist()}
    stalls = dict.fromkeys(mixtures, 0)
    while True:
        live = [i for i in mixtures if stalls[i] < 2 and len(game.tried[i].errors) < max_fits]
        if not live:
            return
        multipliers, starts = [], []
        for i in live:
            used = np.flatnonzero(mixtures[i].weights)
            if stalls[i]:
                multipliers.append(np.mean([game.tried[i].multipliers[j] for j in used], axis=0))
            else:
                multipliers.append(game.moments.by_rate(mixtures[i].multipliers))
            starts.append(game.tried[i].rules[used[np.argmax(mixtures[i].weights[used])]])
        rates = game.play(np.array(live), np.array(multipliers), starts)
        for i, rate in zip(live, rates, strict=True):
            mixture = mixtures[i]
            prices = mixture.multipliers
            reduced = (
                game.tried[i].errors[-1] + prices @ (game.moments.gaps(rate, i) - tolerance) - mixture.bound
            )
            if reduced > -game.worthwhile:
                stalls[i] += 1
            else:
                mixtures[i], stalls[i] = game.best(i, tolerance, True), 0


def _climb(game: _Game[R], problems: Int, tolerance: float) -> None:
    """Raise the prices of the gaps that no candidate has closed yet."""
    prices = {i: np.zeros(len(game.moments.pairs)) for i in problems.tolist()}
    step = _FIRST_STEP
    while prices and step <= _LARGEST_MULTIPLIER:
        for i in list(prices):
            gaps = game.moments.gaps(np.array(game.tried[i].rates), i)
            excess = np.where(gaps.min(axis=0) > tolerance, np.maximum(gaps[-1] - tolerance, 0.0), 0.0)
            if excess.any():
                prices[i] = prices[i] + step * excess / excess.max()
            else:
                del prices[i]
        if prices:
            live = list(prices)
            multipliers = np.array([game.moments.by_rate(prices[i]) for i in live])
            game.play(np.array(live), multipliers, [game.tried[i].rules[-1] for i in live])
        step *= 2.0
