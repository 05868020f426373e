"""The looks of an audit: the allocation of labels to strata before each look, and the bounds at it.

Every function takes a leading axis of audits, so that one audit and thousands of simulated ones run
through the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from fairask.certify.bounds.spending import boundaries
from fairask.certify.bounds.stratified import rate_limits, rates, slopes
from fairask.metrics import Float, Int

__all__ = ["Bounds", "Schedule", "allocate", "estimate_gap"]


@dataclass(frozen=True)
class Bounds:
    """Estimate and bounds on the violation, one entry per audit."""

    estimate: Float
    lower: Float
    upper: Float


@dataclass(frozen=True)
class Schedule:
    """The looks of an audit of one pool.

    Attributes
    ----------
    conditions : tuple
        The label values that the metric conditions on.
    alpha, delta : float
        Tolerance and error.
    totals : tuple of int
        Labels in total at each look; the last is the budget.
    population : bool
        Whether the bounds are for the population that the pool was drawn from.
    """

    conditions: tuple[int, ...]
    alpha: float
    delta: float
    totals: tuple[int, ...]
    population: bool = False

    def levels(self, groups: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the standard errors kept by the upper and the lower bound at each look."""
        fractions = tuple(t / self.totals[-1] for t in self.totals)
        # Certifying needs every pair's bound below alpha, and the worst pair alone must not fail, so the
        # upper bounds need no split. Refuting needs any one pair, so the lower bounds do.
        family = len(self.conditions) * groups * (groups - 1)
        return boundaries(fractions, self.delta), boundaries(fractions, self.delta / family)

    def bounds(self, size: Float, ones: Float, labels: Float, look: int) -> Bounds:
        """Evaluate audits at one look.

        Parameters
        ----------
        size, ones, labels : ndarray of shape (audits, groups, 2)
            Rows of the pool, labels 1 found and labels drawn, by group and prediction.
        look : int
            Which look, from 0.
        """
        z_upper, z_lower = (z[look] for z in self.levels(size.shape[-2]))
        estimate, lower, upper = (np.zeros(size.shape[:-2]) for _ in range(3))
        for label in self.conditions:
            hits = ones if label == 1 else labels - ones
            found = hits.sum(axis=-1).min(axis=-1)
            rate, low, high = rate_limits(
                size, hits, labels, _widen(z_upper, found), population=self.population
            )
            _, wide_low, wide_high = rate_limits(
                size, hits, labels, _widen(z_lower, found), population=self.population
            )
            estimate = np.maximum(estimate, np.ptp(rate, axis=-1))
            upper = np.maximum(upper, _pairwise(rate, low, high, 1.0))
            lower = np.maximum(lower, _pairwise(rate, wide_low, wide_high, -1.0))
        return Bounds(estimate, lower, np.minimum(upper, 1.0))

    def next_counts(self, size: Float, ones: Float, labels: Float, look: int) -> Int:
        """Return how many labels each stratum should hold at a look, given what was found so far."""
        if look == 0:
            weight = np.ones_like(size)
        else:
            # One success and one failure are added, so a stratum whose pilot found nothing still gets labels.
            share = (ones + 1) / (labels + 2)
            variance = np.zeros_like(size)
            for label in self.conditions:
                variance += slopes(size, share if label == 1 else 1 - share) ** 2
            weight = np.sqrt(variance * share * (1 - share))
            weight = np.maximum(weight, 0.05 * weight.max(axis=(-2, -1), keepdims=True))
        return allocate(weight, labels, size, self.totals[look])


def _widen(z: float, found: Float) -> Float:
    """Student's quantile in place of the normal one, with the fewest conditioning labels of any group.

    The score limits are asymptotic; with few positives in a group the normal quantile errs
    more often than it says (simulated: 0.058 for 0.05), this one does not.
    """
    return np.asarray(stdtrit(np.maximum(found - 1, 1), ndtr(z)))[..., None]


def _pairwise(rate: Float, low: Float, high: Float, sign: float) -> Float:
    """Largest bound over ordered pairs of groups: limits combined in quadrature, as Newcombe's."""
    known = np.where(np.isnan(rate), 0.5, rate)
    over, under = high - known, known - low
    if sign < 0:
        over, under = under, over
    gap = known[..., :, None] - known[..., None, :] + sign * np.hypot(over[..., :, None], under[..., None, :])
    unknown = np.isnan(rate)
    either = unknown[..., :, None] | unknown[..., None, :]
    gap = np.where(either, 1.0 if sign > 0 else -1.0, gap)
    groups = rate.shape[-1]
    gap = np.where(np.eye(groups, dtype=bool), -1.0, gap)
    return np.asarray(gap.max(axis=(-2, -1)))


def allocate(weight: Float, have: Float, size: Float, total: int) -> Int:
    """Whole labels per stratum, proportional to ``weight``, never below ``have`` nor above ``size``.

    Examples
    --------
    >>> weight = np.array([[[1.0, 3.0], [1.0, 1.0]]])
    >>> allocate(weight, np.zeros((1, 2, 2)), np.full((1, 2, 2), 40.0), 60)[0].tolist()
    [[10, 30], [10, 10]]
    >>> allocate(weight, np.zeros((1, 2, 2)), np.full((1, 2, 2), 20.0), 60)[0].tolist()
    [[14, 20], [13, 13]]
    """
    shape = weight.shape
    w, low, high = (np.asarray(v, dtype=np.float64).reshape(shape[0], -1) for v in (weight, have, size))
    goal = np.minimum(np.maximum(float(total), low.sum(axis=1)), high.sum(axis=1))
    w = np.maximum(w, 1e-12 * w.max(axis=1, keepdims=True))
    bottom, top = np.zeros(len(w)), (high / w).max(axis=1)
    for _ in range(50):
        middle = (bottom + top) / 2
        short = np.clip(middle[:, None] * w, low, high).sum(axis=1) < goal
        bottom, top = np.where(short, middle, bottom), np.where(short, top, middle)
    exact = np.clip(top[:, None] * w, low, high)
    whole = np.floor(exact + 1e-9)
    missing = np.rint(goal - whole.sum(axis=1)).astype(np.int64)
    # Largest remainders first; strata that are full cannot take one more.
    rest = np.where(whole < high, exact - whole, -1.0)
    rank = np.argsort(np.argsort(-rest, axis=1, kind="stable"), axis=1, kind="stable")
    whole += rank < missing[:, None]
    return np.asarray(np.minimum(whole, high).astype(np.int64).reshape(shape))


def estimate_gap(size: Float, ones: Float, labels: Float, conditions: tuple[int, ...]) -> Float:
    """Violation of a pool whose strata are known to hold the given shares."""
    gaps = [np.ptp(rates(size, ones if c == 1 else labels - ones, labels), axis=-1) for c in conditions]
    return np.asarray(np.max(gaps, axis=0))
