"""The dual search: from one constrained problem to a few weighted, unconstrained fits.

For multipliers mu the Lagrangian is a weighted classification problem (Agarwal et al. 2018), so a
base learner gives a candidate classifier. Candidates are kept with their error and rates, and the
best mixture of them is returned. Which mu to try next:

* two groups and one condition leave one number: bracket it and bisect;
* otherwise column generation: the mixture program's duals are the next mu. A surrogate loss can stall
  there, so the mean of the mu of the mixture's members, bisection's analogue, is tried in turn.

Problems are solved in step, so that a learner that can fit many at once does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from fairask.metrics import Bool, Float, Int
from fairask.oracle._moments import FairnessMoments
from fairask.oracle._program import MANY_PAIRS, Mixture, best_mixture, best_of_many_groups, best_single
from fairask.rules import Rule

R = TypeVar("R", bound=Rule)

_FIRST_STEP = 0.05
_LARGEST_MULTIPLIER = 20.0
#: How often the bracket is halved; the mixture interpolates the rest.
_CUTS = 2
#: Smallest gain in error for which the search goes on where groups are many: rates of few rows are noisy.
_WORTHWHILE_OF_MANY = 2.5e-3


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


@dataclass(frozen=True)
class Solution(Generic[R]):
    """The mixture found for one problem and the record of the search."""

    rules: list[R]
    mixture: Mixture
    candidates: Candidates[R]
    rates: Float

    @property
    def members(self) -> tuple[list[R], Float]:
        """Rules with positive weight, and their weights."""
        used = np.flatnonzero(self.mixture.weights)
        return [self.rules[j] for j in used], self.mixture.weights[used]


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
            tried = self.tried[problem]
            tried.rules.append(rules[i])
            tried.errors.append(float(errors[i]))
            tried.rates.append(rates[i])
            tried.multipliers.append(multipliers[i])
        return rates

    def move_thresholds(self, problem: int, tolerance: float | Float) -> None:
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
            closed = self._closed(rates, problem, tolerance)
            best = int(np.argmin(np.where(closed & np.isfinite(shift), errors, np.inf)))
            tried.rules.append(rule.shifted(shift[best]))
            tried.errors.append(float(errors[best]))
            tried.rates.append(rates[best])
            tried.multipliers.append(tried.multipliers[j])

    def _closed(self, rates: Float, problem: int, tolerance: float | Float) -> Bool:
        """Whether all gaps of each entry of rates (n, rates) are within the tolerance."""
        if np.ndim(tolerance) == 0:
            return np.asarray(self.moments.largest_gaps(rates, problem) <= tolerance)
        return np.asarray((self.moments.gaps(rates, problem) <= tolerance).all(axis=1))

    def best(self, problem: int, tolerance: float | Float, randomized: bool) -> Mixture:
        tried = self.tried[problem]
        if randomized and len(self.moments.pairs) > MANY_PAIRS and isinstance(tolerance, float):
            rates, errors = np.array(tried.rates), np.array(tried.errors)
            return best_of_many_groups(self.moments, problem, errors, rates, tolerance)
        gaps = self.moments.gaps(np.array(tried.rates), problem)
        choose = best_mixture if randomized else best_single
        return choose(np.array(tried.errors), gaps, tolerance)


def search(
    moments: FairnessMoments,
    learner: BaseLearner[R],
    tolerance: float | Float,
    *,
    randomized: bool = True,
    max_fits: int = 60,
    worthwhile: float = 1e-3,
) -> list[Solution[R]]:
    """Solve every problem of ``moments`` within ``tolerance``, with at most ``max_fits`` fits each.

    ``tolerance`` may give each ordered pair a limit of its own. A new column must promise an error
    smaller by ``worthwhile``, or the search ends.
    """
    if len(moments.pairs) > MANY_PAIRS:
        worthwhile = max(worthwhile, _WORTHWHILE_OF_MANY)
    game = _Game(moments, learner, worthwhile)
    everything = np.arange(len(moments))
    rates = game.play(everything, np.zeros(moments.occupied.shape))
    broken = np.array([(moments.gaps(rate, i) > tolerance + 1e-9).any() for i, rate in enumerate(rates)])
    method = _bisect if len(moments.pairs) == 2 and learner.batched and np.ndim(tolerance) == 0 else _generate
    if broken.any():
        method(game, everything[broken], tolerance, max_fits)
    solutions = []
    for i in range(len(moments)):
        mixture = game.best(i, tolerance, randomized and bool(broken[i]))
        if broken[i] and learner.batched and not (randomized and mixture.feasible):
            game.move_thresholds(i, tolerance)
            mixture = game.best(i, tolerance, randomized)
        tried = game.tried[i]
        solutions.append(Solution(tried.rules, mixture, tried, mixture.weights @ np.array(tried.rates)))
    return solutions


def _bisect(game: _Game[R], problems: Int, tolerance: float | Float, max_fits: int) -> None:
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


def _generate(game: _Game[R], problems: Int, tolerance: float | Float, max_fits: int) -> None:
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


def _climb(game: _Game[R], problems: Int, tolerance: float | Float) -> None:
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
