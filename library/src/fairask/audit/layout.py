"""What the strata of an audit are, and the rates they make up.

:class:`Layout` says the group and the decision of each stratum, :class:`Counts` what labels were found in
them, and :meth:`Layout.limits` bounds the rates of the groups.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.special import ndtr, stdtrit

from fairask.audit.bounds.stratified import collapse, score_limits
from fairask.metrics import Bool, Float, Int
from fairask.report.words import trial_in_words

#: With fewer labels that a rate is conditioned on, nothing is said about the rate.
FEWEST = 5
#: Labels of the pilot that a stratum should have.
_PILOT = 3
#: Answers of a judge are those below, between and above these; labels that the share of all rows decided
#: alike is worth beside those where he answers the same; and the saving below which he is not heeded.
_ANSWERS, _DOUBT, LEAST_SAVING = (0.2, 0.4, 0.6, 0.8), 12.0, 0.1
#: Labels of the pilot that a judge is tried on.
PILOT = 60


@dataclass(frozen=True)
class Counts:
    """What is known of the strata of each audit: arrays of shape (audits, strata).

    ``skipped`` rows were drawn and have no label; they count among the labels drawn.
    """

    size: Float
    ones: Float
    zeros: Float
    skipped: Float

    @classmethod
    def whole(cls, size: Float, ones: Float) -> Self:
        """One audit of strata all of whose labels are known."""
        return cls(size[None], ones[None], (size - ones)[None], np.zeros((1, len(size))))

    @property
    def labels(self) -> Float:
        """Rows drawn, or known from the beginning."""
        return self.ones + self.zeros + self.skipped

    def hits(self, label: int) -> Float:
        """Rows found to have a label."""
        return self.ones if label == 1 else self.zeros


def judge_saving(size: Float, share: Float, whole: Float) -> Float:
    """Share of labels that a judge saves.

    ``share`` is that of label 1 in each bin, ``whole`` that of all rows decided alike.

    Examples
    --------
    >>> size, whole = np.array([[220.0, 780.0]]), np.full((1, 2), 0.1)
    >>> judge_saving(size, np.array([[0.386, 0.019]]), whole).round(2).tolist()
    [0.49]
    """
    told, alone = ((size * np.sqrt(p * (1 - p))).sum(axis=-1) for p in (share, whole))
    return np.asarray(1 - (told / np.maximum(alone, 1e-12)) ** 2)


@dataclass(frozen=True)
class JudgeTrial:
    """How far a judge agrees with the labels that people told.

    Attributes
    ----------
    labels : int
        Labels that people told.
    agreement : dict
        Share of the rows of each group in which the judge and people agree, estimated from these labels.
    judge, model : float
        Balanced agreement with people of the judge and of the audited model: the mean of the shares that each
        gets right of labels 1 and of labels 0.
    saving : float
        Share of the labels that the judge can save at most, by these labels.
    heeded : bool
        Whether the judge says where labels are drawn: the labels of the pilot decide.
    """

    labels: int
    agreement: dict[str, float]
    judge: float
    model: float
    saving: float
    heeded: bool

    @classmethod
    def of(cls, layout: Layout, counts: Counts, pilot: Counts, names: Sequence[str]) -> Self:
        """Compare answers with the labels of one audit."""
        assert layout.prior is not None
        p, whole = layout.agreed(counts)
        size = np.where(layout.known, 0.0, counts.size)
        heeded = bool(judge_saving(size, *layout.agreed(pilot))[0] >= LEAST_SAVING)
        told = counts.ones + counts.zeros
        # Each label counts for the rows that it stands for.
        each = np.where(told > 0, size / np.maximum(told, 1.0), 0.0)[0]
        ones, zeros = counts.ones[0] * each, counts.zeros[0] * each
        yes = layout.prior > 0.5

        def balanced(said: np.ndarray) -> float:
            return float(
                (ones[said].sum() / max(ones.sum(), 1e-9) + zeros[~said].sum() / max(zeros.sum(), 1e-9)) / 2
            )

        by_group = {}
        for g, name in enumerate(names):
            mine = layout.group == g
            right = np.where(yes, ones, zeros)[mine].sum()
            by_group[name] = float(right / max((ones + zeros)[mine].sum(), 1e-9))
        found = int(told[0, ~layout.known].sum())
        saving = float(judge_saving(size, p, whole)[0])
        model = balanced(layout.decision[0] == 1)
        return cls(found, by_group, balanced(yes), model, max(saving, 0.0), heeded)

    def __str__(self) -> str:
        return trial_in_words(self.labels, self.agreement, self.judge, self.model, self.saving, self.heeded)


@dataclass(frozen=True)
class RateLimits:
    """Rates with their limits, of shape (audits, rates).

    ``least`` and ``most`` are the estimates if rows without a label or group are what makes the rate least or
    most; ``low`` and ``high`` are the limits around these. With wrong labels a limit may be ``cut`` at 0 or 1
    far from the estimate, though the labels alone would allow for more: its distance then says little of the
    estimate's error. ``low_apart`` and ``high_apart`` share the error between two rates, for such ones.
    ``error`` is the variance of the rate, ``step`` by how much one label moves it where it moves it most, and
    ``alone`` the variance of the labels that do so.
    """

    rate: Float
    least: Float
    most: Float
    low: Float
    high: Float
    cut: Bool
    low_apart: Float
    high_apart: Float
    error: Float
    step: Float
    alone: Float


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
    noise : ndarray of shape (2, 2, groups + 1)
        Least and largest probability that a label told is wrong, by the right label.
    doubt : ndarray of shape (2, groups + 1)
        Its standard error, where it was learned from answers.
    rest : bool
        Whether each group is compared with all others together, not with each other one.
    judged : bool
        Whether ``prior`` is what a judge says, who is believed as far as labels agree with him.
    """

    group: Int
    decision: Int
    n_groups: int
    parent: Int
    known: np.ndarray
    cost: Float
    prior: Float | None = None
    noise: Float = field(default_factory=lambda: np.zeros((2, 2, 1)))
    doubt: Float = field(default_factory=lambda: np.zeros((2, 1)))
    rest: bool = False
    judged: bool = False

    @classmethod
    def plain(cls, groups: int) -> Self:
        """Strata ``2 * group + decision`` of one model."""
        strata = np.arange(2 * groups)
        no, one = np.zeros(2 * groups, dtype=bool), np.ones(2 * groups)
        decided = (strata % 2)[None, :]
        noise, doubt = np.zeros((2, 2, groups + 1)), np.zeros((2, groups + 1))
        return cls(strata // 2, decided, groups, strata, no, one, noise=noise, doubt=doubt)

    @functools.cached_property
    def noisy(self) -> Bool:
        """Whether labels told of a stratum may be wrong."""
        return np.asarray((self.noise.max(axis=(0, 1)) > 0)[self.group])

    @functools.cached_property
    def members(self) -> Float:
        """1 where a stratum belongs to the group of a rate: of shape (rates, strata)."""
        own = self.group[None, :] == np.arange(self.n_groups)[:, None]
        if not self.rest:
            return np.asarray(own, dtype=np.float64)
        others = ~own & (self.group < self.n_groups)[None, :]
        return np.concatenate([own, others]).astype(np.float64)

    @functools.cached_property
    def siblings(self) -> Float:
        """1 where two strata are bins of one (group, decision), or the same: of shape (strata, strata)."""
        same = (self.parent[:, None] == self.parent[None, :]) & ~(self.known[:, None] | self.known[None, :])
        return np.asarray(same | np.eye(len(self.known), dtype=bool), dtype=np.float64)

    def within(self, free: Float, pilot: Counts | None = None) -> Float:
        """Share of each bin in the labels of its (group, decision), given the rows that may be drawn.

        A quarter of the labels go to bins as rows do, the others to where the score says that labels differ.
        What a judge says is taken from the labels of the pilot, of all groups together, once there are some.
        """
        share = free / np.maximum(free @ self.siblings, 1.0)
        if self.prior is None or (self.judged and pilot is None):
            return share
        p = np.clip(self.prior, 0.03, 0.97) + np.zeros_like(free)
        trusted: Bool = np.ones((*free.shape[:-1], 1), dtype=bool)
        if self.judged and pilot is not None:
            p, whole = self.agreed(pilot)
            trusted = judge_saving(free, p, whole)[..., None] >= LEAST_SAVING
        told = free * np.sqrt(p * (1 - p))
        tilted = share / 4 + 0.75 * told / np.maximum(told @ self.siblings, 1e-9)
        return np.where(trusted, tilted, share)

    @property
    def pilot(self) -> int:
        """Labels on which a judge is tried, enough for all strata; 0 without a judge who cuts them."""
        if not self.judged or self.prior is None:
            return 0
        return max(PILOT, _PILOT * int((~self.known).sum()))

    def agreed(self, counts: Counts) -> tuple[Float, Float]:
        """Share of label 1 where the judge says the same, and among all rows decided alike; in any group."""
        assert self.prior is not None
        answer = np.digitize(self.prior, _ANSWERS)
        code = self.decision[0] * (len(_ANSWERS) + 1) + answer
        alike, decided = ((v[:, None] == v[None, :]).astype(np.float64) for v in (code, self.decision[0]))
        told = counts.ones + counts.zeros
        # Each label counts for the rows that it stands for.
        mean = np.where(told > 0, counts.size * counts.ones / np.maximum(told, 1.0), 0.0)
        seen = np.where(told > 0, counts.size, 0.0)
        whole = (mean @ decided + 0.5) / (seen @ decided + 1)
        share = mean @ alike / np.maximum(seen @ alike, 1.0)
        labels = told @ alike
        return (labels * share + _DOUBT * whole) / (labels + _DOUBT), whole

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
        open_ = (counts.labels < counts.size) | self.noisy | population
        found = np.where(open_, hits, 0.0) @ self.members.T
        found = np.where(open_.astype(np.float64) @ self.members.T > 0, found, 1e9)
        # The score limits are asymptotic; with few positives in a group the normal quantile errs more often
        # than it says (simulated: 0.058 for 0.05), Student's does not.
        fewest = found.min(axis=-1, keepdims=True) if self.n_groups == 2 else found
        told = np.maximum(counts.labels - counts.skipped, 0.0)
        same = not counts.skipped.any() and not (self.group == self.n_groups).any()
        # Labels that are wrongly told to be the conditioning one, and those of it that are missed.
        wrongs = [noise[[1 - label, label]][:, self.group] for noise in np.unique(self.noise, axis=0)]
        middle = [
            self._rate(counts.size, hits, told, model, wrong, population=population) for wrong in wrongs
        ]
        rate, error, step, alone = np.mean(middle, axis=0)
        doubt = self.doubt[1 - label] if self.doubt.any() else None
        # A rate of a handful of labels is not told, unless all rows are.
        unsure = ((counts.labels < counts.size) | population).astype(np.float64) @ self.members.T > 0
        dark = unsure & (hits @ self.members.T < FEWEST)
        # Of rows that are all told, without noise and of a known group, nothing is left to estimate.
        unsure = (told < counts.size) | self.noisy | population
        unsure = unsure | ((self.group == self.n_groups) & (counts.size > 0))
        counted = ~np.isnan(rate) & ~((unsure.astype(np.float64) @ self._reach.T) > 0)

        def ends(level: float) -> list[Float]:
            """The least and the most estimate, and limits that err with this probability."""
            wide = np.asarray(stdtrit(np.maximum(fewest - 1, 1), 1 - level))
            lows, highs = [], []
            for wrong in wrongs:
                for side in (0,) if same else (1, -1):
                    more = (hits + counts.skipped * (side < 0), hits + counts.skipped * (side > 0))
                    found_ = self._one(
                        counts.size, more, counts.labels, side, wide, model, wrong, doubt, population
                    )
                    if side <= 0:
                        lows.append((found_[0], found_[1]))
                    if side >= 0:
                        highs.append((found_[0], found_[2]))
            (least, low), (most, high) = np.min(lows, axis=0), np.max(highs, axis=0)
            found = least, most, np.where(dark, 0.0, low), np.where(dark, 1.0, high)
            return [np.where(counted, rate, v) for v in found]

        level = float(ndtr(-z))
        least, most, low, high = ends(level)
        low_apart, high_apart = ends(level / 2)[2:] if self.noise.any() else (low, high)
        cut = self.noise.any() & (((high_apart >= 1) & (most < 1)) | ((low_apart <= 0) & (least > 0)))
        error, step, alone = (np.where(counted, 0.0, v) for v in (error, step, alone))
        return RateLimits(rate, least, most, low, high, cut, low_apart, high_apart, error, step, alone)

    @functools.cached_property
    def _reach(self) -> Float:
        """1 where a stratum can change the rate of a group: its own, and rows of unknown group."""
        return np.asarray(np.maximum(self.members, (self.group == self.n_groups).astype(np.float64)))

    def _rate(
        self, held: Float, hits: Float, labels: Float, model: int, noise: Float, *, population: bool
    ) -> tuple[Float, Float, Float, Float]:
        """Rate from the labels told, its variance, and its largest step with the variance of such steps."""
        zero, one = (
            collapse(
                held, hits, labels, self.members * (self.decision[model] == b), noise, population=population
            )
            for b in (0, 1)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            total = zero.rows + one.rows
            rate = one.rows / total
            slopes = (1 - rate) / total, rate / total
        each = [
            (slope * m.step, slope**2 * m.alone, slope**2 * m.error)
            for slope, m in zip(slopes, (one, zero), strict=True)
        ]
        (step, alone, error), (other, its, rest) = ([np.nan_to_num(v) for v in part] for part in each)
        return rate, error + rest, np.maximum(step, other), np.where(step >= other, alone, its)

    def _one(
        self, held: Float, hits: tuple[Float, Float], labels: Float, side: int, z: Float, model: int,
        noise: Float, doubt: Float | None, population: bool,
    ) -> tuple[Float, Float, Float]:  # fmt: skip
        """Rate and limits with unknown rows where they make it most (side 1) or least (-1)."""
        parts, edge = [], []
        if doubt is not None:
            doubt = doubt[:, None] * (self.group == np.arange(len(doubt))[:, None])
        for b in (0, 1):
            lost = (self.group == self.n_groups) & (side == 2 * b - 1)
            member = (self.members + lost) * (self.decision[model] == b)
            parts.append(collapse(held, hits[b], labels, member, noise, population=population, doubt=doubt))
            # The remainder of nearly exhausted strata is a few whole rows, not a normal variable: allow for
            # one row, the less the more labels of either kind they may still hold, but for half a row (a
            # correction for continuity) as far as the strata are drawn.
            guess, open_ = (hits[b] + 0.5) / (labels + 1), labels < held
            spread = np.where(open_, (held - labels) * guess * (1 - guess), 0.0) @ member.T
            drawn, left = (np.where(open_, v, 0.0) @ member.T for v in (labels, held))
            step = np.clip(1 - spread / 6, 0.5, 1.0) * drawn / np.maximum(left, 1.0)
            # Where labels may be wrong, one that is stands for as many rows as a right one: half of one.
            wrong = np.where((noise.max(axis=0) > 0) & (labels > 0), held / np.maximum(labels, 1.0), 0.0)
            edge.append(np.maximum(step, (wrong[..., None, :] * (member > 0)).max(axis=-1) / 2))
        zero, one = parts
        total = zero.rows + one.rows
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = one.rows / total
        if population:
            # A population has rows that no row of the pool is like: about as many as a limit at z would miss.
            zero, one = (replace(v, weight=np.where(v.weight > 0, v.weight, 1 + z**2)) for v in parts)
        low, high = score_limits(zero, one, rate, z, population=population)
        if not population:
            known, total = np.where(np.isnan(rate), 0.5, rate), np.maximum(total, 1.0)
            row = np.maximum(edge[0] * known, edge[1] * (1 - known)) / total
            low, high = np.maximum(low - row, 0.0), np.minimum(high + row, 1.0)
        return rate, low, high


def bins_for(labels: int, strata: int, most: int = 4) -> int:
    """Bins per group and decision that a pilot of so many labels can bear.

    Examples
    --------
    >>> bins_for(100, 4), bins_for(30, 4), bins_for(20, 4)
    (4, 2, 1)
    """
    return max(1, min(most, labels // (_PILOT * max(strata, 1))))
