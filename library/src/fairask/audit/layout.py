"""How strata make up the compared rates, and the limits of those rates."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import ndtr, stdtrit

from fairask.audit.bounds.stratified import collapse, score_limits
from fairask.metrics import Float, Int

#: With fewer labels that a rate is conditioned on, nothing is said about the rate.
FEWEST = 5


@dataclass(frozen=True)
class Counts:
    """What is known of the strata of each audit: arrays of shape (audits, strata).

    ``skipped`` rows were drawn and have no label; they count among the labels drawn.
    """

    size: Float
    ones: Float
    zeros: Float
    skipped: Float

    @property
    def labels(self) -> Float:
        """Rows drawn, or known from the beginning."""
        return self.ones + self.zeros + self.skipped

    def hits(self, label: int) -> Float:
        """Rows found to have a label."""
        return self.ones if label == 1 else self.zeros


@dataclass(frozen=True)
class RateLimits:
    """Rates with their limits, of shape (audits, rates).

    ``least`` and ``most`` are the estimates if rows without a label or group are what makes the rate least or
    most; ``low`` and ``high`` are the limits around these.
    """

    rate: Float
    least: Float
    most: Float
    low: Float
    high: Float


@dataclass(frozen=True)
class Layout:
    """Strata by group, decision of each model, and bin.

    Attributes
    ----------
    group : ndarray of shape (strata,)
        Group of each stratum; ``n_groups`` for rows of unknown group.
    decision : ndarray of shape (models, strata)
        Decision of each model.
    parent : ndarray of shape (strata,)
        Strata with the same parent differ by the bin of a score only.
    known : ndarray of shape (strata,)
        Strata whose rows are not drawn: their labels are known.
    cost : ndarray of shape (strata,)
        Mean cost of a label.
    prior : ndarray of shape (strata,) or None
        What a score says the share of label 1 is.
    noise : ndarray of shape (2, groups + 1)
        Least and largest probability that a label told is wrong.
    rest : bool
        Whether each group is compared with all others together, not with each other one.
    """

    group: Int
    decision: Int
    n_groups: int
    parent: Int
    known: np.ndarray
    cost: Float
    prior: Float | None = None
    noise: Float = field(default_factory=lambda: np.zeros((2, 1)))
    rest: bool = False

    @classmethod
    def plain(cls, groups: int, *, rest: bool = False) -> Self:
        """Strata ``2 * group + decision`` of one model."""
        strata = np.arange(2 * groups)
        no, one = np.zeros(2 * groups, dtype=bool), np.ones(2 * groups)
        noise = np.zeros((2, groups + 1))
        return cls(strata // 2, (strata % 2)[None, :], groups, strata, no, one, noise=noise, rest=rest)

    @functools.cached_property
    def members(self) -> Float:
        """1 where a stratum belongs to the group of a rate: of shape (rates, strata)."""
        own = self.group[None, :] == np.arange(self.n_groups)[:, None]
        if not self.rest:
            return np.asarray(own, dtype=np.float64)
        others = ~own & (self.group < self.n_groups)[None, :]
        return np.concatenate([own, others]).astype(np.float64)

    @functools.cached_property
    def pairs(self) -> tuple[Int, Int]:
        """The ordered pairs of rates that are compared."""
        g = np.arange(self.n_groups)
        if self.rest:
            return np.concatenate([g, g + self.n_groups]), np.concatenate([g + self.n_groups, g])
        a, b = (v.ravel() for v in np.meshgrid(g, g, indexing="ij"))
        return a[a != b], b[a != b]

    def limits(self, counts: Counts, model: int, label: int, z: float, *, population: bool) -> RateLimits:
        """Limits of all rates given a label at ``z`` standard errors."""
        hits = counts.hits(label)
        found = np.where(self.known, 0.0, hits) @ self.members.T
        # The score limits are asymptotic; with few positives in a group the normal quantile errs more often
        # than it says (simulated: 0.058 for 0.05), Student's does not.
        fewest = found.min(axis=-1, keepdims=True) if self.n_groups == 2 else found
        wide = np.asarray(stdtrit(np.maximum(fewest - 1, 1), ndtr(z)))
        told = np.maximum(counts.labels - counts.skipped, 0.0)
        same = not counts.skipped.any() and not (self.group == self.n_groups).any()
        lows, highs, middles = [], [], []
        for noise in np.unique(self.noise, axis=0):
            per_row = noise[self.group]
            middles.append(self._one(counts.size, (hits, hits), told, model, 0, per_row, None, population))
            for side in (0,) if same else (1, -1):
                more = (hits + counts.skipped * (side < 0), hits + counts.skipped * (side > 0))
                found_ = self._one(counts.size, more, counts.labels, model, side, per_row, wide, population)
                if side <= 0:
                    lows.append((found_[0], found_[1]))
                if side >= 0:
                    highs.append((found_[0], found_[2]))
        low, high = np.min([v for _, v in lows], axis=0), np.max([v for _, v in highs], axis=0)
        # A rate of a handful of labels is not told, unless all rows are.
        open_ = ((counts.labels < counts.size) | population).astype(np.float64) @ self.members.T > 0
        dark = open_ & (hits @ self.members.T < FEWEST)
        low, high = np.where(dark, 0.0, low), np.where(dark, 1.0, high)
        rate = np.mean([m[0] for m in middles], axis=0)
        least, most = np.min([p for p, _ in lows], axis=0), np.max([p for p, _ in highs], axis=0)
        # Of rows that are all told, without noise and of a known group, nothing is left to estimate.
        unsure = (told < counts.size) | (self.noise.max(axis=0) > 0)[self.group] | population
        unsure = unsure | ((self.group == self.n_groups) & (counts.size > 0))
        counted = ~np.isnan(rate) & ~((unsure.astype(np.float64) @ self._reach.T) > 0)
        least, most, low, high = (np.where(counted, rate, v) for v in (least, most, low, high))
        return RateLimits(rate, least, most, low, high)

    @functools.cached_property
    def _reach(self) -> Float:
        """1 where a stratum can change the rate of a group: its own, and rows of unknown group."""
        return np.asarray(np.maximum(self.members, (self.group == self.n_groups).astype(np.float64)))

    def _one(
        self, held: Float, hits: tuple[Float, Float], labels: Float, model: int, side: int, noise: Float,
        z: Float | None, population: bool,
    ) -> tuple[Float, Float, Float]:  # fmt: skip
        """Rate and limits with unknown rows where they make it most (side 1) or least (-1)."""
        parts, edge = [], []
        for b in (0, 1):
            lost = (self.group == self.n_groups) & (side == 2 * b - 1)
            member = (self.members + lost) * (self.decision[model] == b)
            parts.append(collapse(held, hits[b], labels, member, noise, population=population))
            # The remainder of nearly exhausted strata is a few whole rows, not a normal variable: allow for
            # one row, the less the more labels of either kind they may still hold, but for half a row (a
            # correction for continuity) as far as the strata are drawn.
            guess, open_ = (hits[b] + 0.5) / (labels + 1), labels < held
            spread = np.where(open_, (held - labels) * guess * (1 - guess), 0.0) @ member.T
            drawn, left = (np.where(open_, v, 0.0) @ member.T for v in (labels, held))
            edge.append(np.clip(1 - spread / 6, 0.5, 1.0) * drawn / np.maximum(left, 1.0))
        rows, share, effective = (np.stack(v, axis=-1) for v in zip(*parts, strict=True))
        mass = rows * share
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = mass[..., 1] / mass.sum(axis=-1)
        if z is None:
            return rate, rate, rate
        # A population has rows that no row of the pool is like: about as many as a limit at z would miss.
        size = np.where(rows > 0, rows, (1 + z**2)[..., None]) if population else rows
        low, high = score_limits(size, share * effective, effective, rate, z, population=population)
        if not population:
            known, total = np.where(np.isnan(rate), 0.5, rate), np.maximum(mass.sum(axis=-1), 1.0)
            row = np.maximum(edge[0] * known, edge[1] * (1 - known)) / total
            low, high = np.maximum(low - row, 0.0), np.minimum(high + row, 1.0)
        return rate, low, high
