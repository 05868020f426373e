"""The strata of an audit: the rows of a pool by group, decision and score, and the rates they make up.

:class:`PoolRows` says of each row what matters, :class:`Strata` holds the rows of each stratum that may be
asked for, in a random order, :class:`Layout` says what the strata are, :class:`Counts` what labels were found
in them, and :meth:`Layout.limits` bounds the rates of the groups.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from fairask.audit.bounds.proportions import wilson
from fairask.audit.bounds.stratified import collapse, score_limits
from fairask.checks import check_choice, check_lengths, check_number
from fairask.errors import UserError
from fairask.matrix import hash_numbers, tie_breakers, uniforms
from fairask.metrics import Bool, Float, Int, encode_groups, is_gap, soft_predictions
from fairask.people import MOST_WRONG, LabelError
from fairask.pools import Pool
from fairask.pools.memory import Model, is_randomised
from fairask.report.words import trial_in_words

#: Probability of a wrong label: one number, or by group a number, (least, largest), or what was learned.
Noise = float | Mapping[Any, float | tuple[float, float] | LabelError]
#: With fewer labels that a rate is conditioned on, nothing is said about the rate.
FEWEST = 5
#: Labels of the pilot that a stratum should have, and rows that a bin of a score should have.
_PILOT, _ROWS = 3, 20
#: Answers of a judge are those below, between and above these; labels that the share of all rows decided
#: alike is worth beside those where he answers the same; and the saving below which he is not heeded.
_ANSWERS, _DOUBT, LEAST_SAVING = (0.2, 0.4, 0.6, 0.8), 4.0, 0.1
#: Labels of the pilot that a judge is tried on.
PILOT = 60
_NONE = np.zeros(0, dtype=np.int64)
#: Labels of cells: one that is not known, and rows that are not part of the audit; -1 where nobody can tell.
UNTOLD, OUT = -2, -3
#: Rows that are queued per label of the budget: the rest is for rows that nobody can label.
_QUEUE = 4
#: Rows handled at a time, and rows of a pool on which bins of a score are found.
_CHUNK, _BINNED = 1 << 18, 1 << 20
#: Makes the order of an audit another one than that in which a sample is drawn with the same seed: rows that
#: were sampled to train a model would otherwise be the first to be asked for.
_ORDER = 0x5EED_0F_0A0D17


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
    """

    labels: int
    agreement: dict[str, float]
    judge: float
    model: float
    saving: float

    @classmethod
    def of(cls, layout: Layout, counts: Counts, names: Sequence[str]) -> Self:
        """Compare answers with the labels of one audit."""
        assert layout.prior is not None
        p, whole = layout.agreed(counts)
        size = np.where(layout.known, 0.0, counts.size)
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
        return cls(found, by_group, balanced(yes), balanced(layout.decision[0] == 1), max(saving, 0.0))

    @property
    def heeded(self) -> bool:
        """Whether the judge says where labels are drawn."""
        return self.saving >= LEAST_SAVING

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
    def plain(cls, groups: int, *, rest: bool = False) -> Self:
        """Strata ``2 * group + decision`` of one model."""
        strata = np.arange(2 * groups)
        no, one = np.zeros(2 * groups, dtype=bool), np.ones(2 * groups)
        decided = (strata % 2)[None, :]
        noise, doubt = np.zeros((2, 2, groups + 1)), np.zeros((2, groups + 1))
        return cls(strata // 2, decided, groups, strata, no, one, noise=noise, doubt=doubt, rest=rest)

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

    def within(self, free: Float, counts: Counts | None = None) -> Float:
        """Share of each bin in the labels of its (group, decision), given the rows that may be drawn.

        A quarter of the labels go to bins as rows do, the others to where the score says that labels differ.
        What a judge says is taken from the labels of all groups together, once there are some.
        """
        share = free / np.maximum(free @ self.siblings, 1.0)
        if self.prior is None or (self.judged and counts is None):
            return share
        p = np.clip(self.prior, 0.03, 0.97) + np.zeros_like(free)
        trusted: Bool = np.ones((*free.shape[:-1], 1), dtype=bool)
        if self.judged and counts is not None:
            p, whole = self.agreed(counts)
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


def draw_order(rows: Int, seed: int) -> NDArray[np.uint64]:
    """One number per row that depends on its number and the seed alone; rows are asked for in this order.

    So a pool of any size, read in parts of any size, is asked for the same rows.

    Examples
    --------
    >>> whole, part = draw_order(np.arange(4), 7), draw_order(np.arange(2, 4), 7)
    >>> bool((whole[2:] == part).all())
    True
    """
    return tie_breakers(rows, int(hash_numbers(np.uint64(seed ^ _ORDER))))


@dataclass(frozen=True)
class Observed:
    """Outcomes that exist because rows were accepted: loans that were granted, people who were hired.

    Attributes
    ----------
    accepted, others : int
        Rows with an outcome: those that the model accepts, and others.
    missing : int
        Rows that the model accepts and that have no outcome.
    random : bool
        Whether outcomes are missing at random. Otherwise bounds hold whatever they are.
    """

    accepted: int
    others: int
    missing: int
    random: bool

    @classmethod
    def of_cells(
        cls, label: Int, decision: Bool, counts: Int, *, random: bool = False
    ) -> tuple[Int, Observed]:
        """Labels of cells where nobody is asked for the outcome of an accepted row, and how many there are.

        Examples
        --------
        >>> Observed.of_cells(np.array([1, -2, -2]), np.array([True, True, False]), np.array([5, 2, 9]))
        (array([ 1, -1, -2]), Observed(accepted=5, others=0, missing=2, random=False))
        """
        accepted, told = np.asarray(decision, dtype=bool), label >= 0
        gone = accepted & (label == UNTOLD)
        kinds = (told & accepted, told & ~accepted, gone)
        seen, others, missing = (int(counts[rows].sum()) for rows in kinds)
        found = cls(seen, others, missing, random)
        if not found.accepted:
            raise UserError(
                "no row that the model accepts has an observed outcome",
                "give the outcomes of accepted rows, and which prediction means accepted (--positive)",
            )
        return np.where(gone, -1, label), found


@dataclass(frozen=True, eq=False)
class PoolRows:
    """The rows of a pool as an audit sees them: a few cells of rows alike, and the cell of each row.

    Attributes
    ----------
    names : list
        Names of the groups.
    group : ndarray of shape (cells,)
        Group of each cell; ``len(names)`` where it is unknown.
    decision : ndarray of shape (models, cells)
        Decision of each model.
    label : ndarray of shape (cells,)
        Label 0 or 1 where it is known, -1 where nobody can tell it, ``UNTOLD``, or ``OUT`` for rows that are
        not part of the audit.
    counts : ndarray of shape (cells,)
        Rows of each cell.
    cell : ndarray of shape (rows,) or None
        Cell of each row, in a type as small as can be; None where the rows are in an engine.
    drawn : bool
        Whether a model is randomised and its decisions were drawn.
    score, cost : ndarray of shape (rows,), optional
    truth : ndarray of shape (cells,), optional
        The label of all rows, for simulations.
    left_out : ndarray
        Rows that trained the model and are not part of the audit, ascending.
    keys : ndarray of shape (rows,), optional
        What rows are called; by default they are numbered.
    observed : Observed, optional
        Outcomes that exist because rows were accepted.
    judged : bool
        Whether ``score`` is what a judge says: the probability of label 1.
    """

    names: list[Any]
    group: Int
    decision: Int
    label: Int
    counts: Int
    cell: Int | None = None
    drawn: bool = False
    score: Float | None = None
    cost: Float | None = None
    truth: Int | None = None
    left_out: Int = field(default_factory=lambda: _NONE)
    keys: Int | None = None
    observed: Observed | None = None
    judged: bool = False

    @classmethod
    def of_arrays(
        cls,
        pred: ArrayLike,
        groups: ArrayLike,
        *,
        trained_on: ArrayLike | None = None,
        pos_label: object = None,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
        score: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        truth: Int | None = None,
        observed: Mapping[int, int | None] | None = None,
        missing: str = "worst",
        judge: ArrayLike | None = None,
    ) -> Self:
        """Rows whose predictions and groups are given.

        Parameters
        ----------
        pred, groups : array-like
            Predictions, of several models in columns, and groups, None where unknown.
        trained_on : array-like of int, optional
            Rows to leave out.
        pos_label : optional
            The prediction that counts as 1.
        seed : int
            Decisions of a randomised model are drawn by it and by the row's number.
        known : mapping, optional
            Labels of rows that are known already, None where nobody can tell.
        score, cost : array-like, optional
            A number per row that may tell labels, and the cost of a label.
        truth : ndarray, optional
            The label of every row.
        observed : mapping, optional
            Outcomes of rows that have one because they were accepted.
        missing : {"worst", "random"}
            What is assumed of accepted rows without an outcome.
        judge : array-like, optional
            What a judge says of each row: 0 or 1, or the probability of 1; of several judges, in columns.

        Examples
        --------
        >>> rows = PoolRows.of_arrays([0, 1, 1, 0], ["a", "a", "b", "b"], trained_on=[0])
        >>> rows.names, rows.counts[rows.label == UNTOLD].tolist()
        (['a', 'b'], [1, 1, 1])
        """
        names, codes = split_groups(groups)
        table = np.asarray(pred)
        each = [table[:, m] for m in range(table.shape[1])] if table.ndim == 2 else [pred]
        if not len(codes):
            raise UserError("the pool has no rows", "give the predictions and groups of its rows")
        columns = [soft_predictions(column, pos_label) for column in each]
        n = check_lengths(pred=len(columns[0]), groups=len(codes))
        soft = any(((column > 0) & (column < 1)).any() for column in columns)
        # One number per row for all models: where they say the same, they decide alike.
        number = uniforms(np.arange(n), seed) if soft else np.full(n, 0.5)
        left_out = _row_numbers("trained_on", [] if trained_on is None else trained_on, n)
        check_choice(missing, "missing", ("worst", "random"))
        if observed is not None and (len(columns) > 1 or known):
            what = "known" if known else "several models"
            raise UserError(
                f"observed does not go with {what}",
                "give all labels that exist in observed" if known else "audit one model at a time",
            )
        if judge is not None and score is not None:
            raise UserError(
                "a judge and a score were both given", "give one: a judge's answers are a score too"
            )
        said = score if judge is None else judge_score(judge)
        rows = cls._of_codes(
            names, codes, np.array([number < column for column in columns]), left_out, observed or known,
            drawn=soft, score=_per_row(said, "score" if judge is None else "judge", n),
            cost=_per_row(cost, "cost", n), truth=truth, judged=judge is not None,
        )  # fmt: skip
        if observed is None:
            return rows
        label, found = Observed.of_cells(
            rows.label, rows.decision[0] == 1, rows.counts, random=missing == "random"
        )
        return replace(rows, label=label, observed=found)

    @classmethod
    def of_pool(
        cls,
        pool: Pool,
        model: Model,
        left_out: Int,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
    ) -> Self:
        """Rows of a pool, and a model's decisions on them; a randomised model's are drawn once, by the seed.

        Examples
        --------
        >>> from fairask.rules import LinearRule
        >>> from fairask.pools import Pool
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> rows = PoolRows.of_pool(pool, LinearRule(np.array([1.0, 0.0])), np.array([0]))
        >>> Strata.of_rows(rows).sizes.tolist()
        [0, 1, 0, 1]
        """
        cells = Pool(pool.X, pool.groups, pool.n_groups).by_decision(model, seed)
        decided = np.asarray(cells.patterns[0])[cells.cell]
        names, codes = list(pool.group_values), np.asarray(pool.groups, dtype=np.int64)
        return cls._of_codes(names, codes, decided[None, :], left_out, known, drawn=is_randomised(model))

    @classmethod
    def _of_codes(
        cls,
        names: list[Any],
        codes: Int,
        decisions: Bool,
        left_out: Int,
        known: Mapping[int, int | None] | None,
        *,
        truth: Int | None = None,
        **more: Any,
    ) -> Self:
        """Number the cells: by group, decisions, known label and truth."""
        n, models = len(codes), len(decisions)
        label = np.full(n, UNTOLD, dtype=np.int64)
        label[left_out] = OUT
        told = known or {}
        rows = _row_numbers("known", list(told), n)
        codes_told = (told[row] for row in rows.tolist())
        label[rows] = [-1 if code is None else code for code in codes_told]
        # Labels are from -3 to 1, so that there are five of them.
        number = np.asarray(codes, dtype=np.int64)
        for bits in decisions:
            number = 2 * number + bits
        number = 2 * (5 * number + label - OUT) + (0 if truth is None else truth)
        values, cell, counts = np.unique(number, return_inverse=True, return_counts=True)
        rest, right = np.divmod(values, 2)
        rest, labels = np.divmod(rest, 5)
        return cls(
            names=names,
            group=rest >> models,
            decision=np.array([(rest >> (models - 1 - m)) & 1 for m in range(models)]),
            label=labels + OUT,
            counts=counts,
            cell=cell.astype(np.min_scalar_type(len(values))),
            truth=None if truth is None else right,
            left_out=np.setdiff1d(left_out, rows),
            **more,
        )


@dataclass(frozen=True)
class Strata:
    """Strata of an audited pool; without a score, ``2 * group + decision``.

    Attributes
    ----------
    groups : list
        Names of the groups.
    sizes : ndarray of shape (strata,)
        Rows of each stratum.
    queues : list of ndarray
        Rows of each stratum in a random order, as many as the audit may ask for.
    left_out : ndarray
        Rows that are not part of the audit, ascending.
    drawn : bool
        Whether the model is randomised and its decisions were drawn.
    fingerprint : str
        Changes with the rows, their groups or decisions.
    layout : Layout
        Group, decisions and more of each stratum.
    known : ndarray of shape (3, strata)
        Labels 0, labels 1 and rows without a label of the strata that are known from the beginning.
    chance : ndarray of shape (strata,), optional
        Mean score of each stratum, if the pool has one from 0 to 1.
    ones : ndarray of shape (strata,), optional
        Labels 1 of each stratum, where all labels are known for a simulation.
    observed : Observed, optional
        Outcomes that exist because rows were accepted.
    """

    groups: list[Any]
    sizes: Int
    queues: list[Int]
    left_out: Int
    drawn: bool
    fingerprint: str
    layout: Layout
    known: Int
    chance: Float | None = None
    ones: Float | None = None
    observed: Observed | None = None

    @functools.cached_property
    def _index(self) -> tuple[Int, Int]:
        """The queued rows, ascending, and the stratum of each."""
        rows = np.concatenate(self.queues)
        order = np.argsort(rows)
        number = np.repeat(np.arange(len(self.queues)), [len(queue) for queue in self.queues])
        return rows[order], number[order]

    def of(self, rows: ArrayLike) -> Int:
        """Stratum of each of these rows, which must be queued.

        Examples
        --------
        >>> Strata.of_rows(PoolRows.of_arrays([0, 1, 1, 0], ["a", "a", "b", "b"])).of([3, 1]).tolist()
        [2, 1]
        """
        known, stratum = self._index
        return np.asarray(stratum[np.searchsorted(known, np.asarray(rows, dtype=np.int64))])

    def by_decision(self, model: int = 0) -> Int:
        """Rows decided 0 and 1 by a model, as ``2 * group + decision``; the last are of unknown group."""
        code = 2 * self.layout.group + self.layout.decision[model]
        found = np.bincount(code, weights=self.sizes, minlength=2 * len(self.groups) + 2)
        return found.astype(np.int64)

    @classmethod
    def of_rows(
        cls, rows: PoolRows, *, seed: int = 0, bins: int = 1, most: int | None = None, noise: Noise = 0.0
    ) -> Self:
        """Strata of a pool: its cells and, within group and decision, bins of its score.

        Parameters
        ----------
        rows : PoolRows
        seed : int
            Seed of the order of the rows.
        bins : int
            Most bins of the score within each group and decision.
        most : int, optional
            Most rows that are queued of each stratum; by default all.
        noise : float or mapping
            Probability of a wrong label, see :class:`fairask.audit.Audit`.

        Examples
        --------
        >>> strata = Strata.of_rows(PoolRows.of_arrays([0, 1, 1, 0], ["a", "a", "b", "b"], trained_on=[0]))
        >>> strata.sizes.tolist(), [queue.tolist() for queue in strata.queues]
        ([0, 1, 1, 1], [[], [1], [3], [2]])
        """
        models, k = len(rows.decision), len(rows.names)
        bins = 1 if rows.score is None else bins
        parent = rows.group
        for bits in rows.decision:
            parent = 2 * parent + bits
        top, inside = (k + 1) << models, rows.label != OUT
        told = inside & (rows.label != UNTOLD)
        # Numbers of strata: parent and bin, then those whose labels are known, then rows that are left out.
        width = top * bins + top
        number = np.where(inside, np.where(told, top * bins + parent, parent * bins), width)
        # Where a score cuts cells, the stratum of each row is held; elsewhere that of each cell will do.
        each, of_each = rows.cell, number
        if rows.score is not None and rows.cell is not None:
            of_each = np.arange(width + 1)
            each = number.astype(np.min_scalar_type(width))[rows.cell]
            if bins > 1:
                _cut(each, rows.score, top, bins, seed, judged=rows.judged)

        def total(weight: NDArray[Any]) -> Float:
            """Sum of a number per cell over the rows of each stratum."""
            if each is None or bins == 1:
                by_cell = np.bincount(number, weights=rows.counts * weight, minlength=width + 1)
                return by_cell[:width].astype(np.float64)
            by_row = np.bincount(each, weights=weight[rows.cell], minlength=width + 1)
            return by_row[:width].astype(np.float64)

        sizes = total(np.ones(len(rows.counts))).astype(np.int64)
        plain = models == 1 and bins == 1
        # Without a score, empty strata keep their place: 2 * group + decision.
        kept = np.union1d(np.flatnonzero(sizes), np.arange(2 * k if plain else 0)).astype(np.int64)
        known = kept >= top * bins
        of_parent = np.where(known, kept - top * bins, kept // bins)
        price, chance = np.ones(len(kept)), None
        wrong, doubt = noise_table(noise, rows.names)
        if rows.cost is not None:
            assert each is not None
            price = np.where(known, 1.0, _means(of_each[each], rows.cost, kept, width))
        if rows.score is not None and np.nanmin(rows.score) >= 0 and np.nanmax(rows.score) <= 1:
            assert each is not None
            chance = _means(each, rows.score, kept, width)
        layout = Layout(
            group=of_parent >> models,
            decision=np.array([(of_parent >> (models - 1 - m)) & 1 for m in range(models)]),
            n_groups=k, parent=of_parent, known=known, cost=price, prior=chance if bins > 1 else None,
            noise=wrong, doubt=doubt, judged=rows.judged,
        )  # fmt: skip
        told_of = (rows.group, rows.decision, rows.label, rows.counts, rows.left_out)
        found = hashlib.sha256(repr([part.tolist() for part in told_of]).encode())
        if rows.observed is not None:
            found.update(repr(rows.observed).encode())
        # Outcomes that are missing at random leave a sample; others may be anything.
        told_as = (0, 1) if rows.observed is not None and rows.observed.random else (0, 1, -1)
        labels = [total(told * (rows.label == v))[kept] if v in told_as else 0 * kept for v in (0, 1, -1)]
        queues = [_NONE for _ in kept]
        if each is not None and rows.cell is not None:
            found.update(np.ascontiguousarray(rows.cell).data)
            found.update(np.ascontiguousarray(each).data)
            if most != 0:
                place = np.full(width + 1, len(kept), dtype=np.int64)
                place[kept[~known]] = np.flatnonzero(~known)
                queues = _queues(each, place[of_each], sizes[kept], rows.keys, seed, most or len(each))
        return cls(
            groups=rows.names,
            sizes=sizes[kept],
            queues=queues,
            left_out=rows.left_out,
            drawn=rows.drawn,
            fingerprint=found.hexdigest()[:16],
            layout=layout,
            known=np.array(labels, dtype=np.int64),
            chance=chance,
            ones=None if rows.truth is None else total(rows.truth)[kept],
            observed=rows.observed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        layout = self.layout
        return {
            "groups": [g if isinstance(g, str | int | float) else str(g) for g in self.groups],
            "sizes": self.sizes.tolist(),
            "queues": [queue.tolist() for queue in self.queues],
            "drawn": self.drawn,
            "group": layout.group.tolist(),
            "decision": layout.decision.tolist(),
            "parent": layout.parent.tolist(),
            "cost": layout.cost.tolist(),
            "prior": None if layout.prior is None else layout.prior.tolist(),
            "noise": layout.noise.tolist(),
            "doubt": layout.doubt.tolist(),
            "judged": layout.judged,
            "is_known": layout.known.tolist(),
            "known": self.known.tolist(),
            "observed": None if self.observed is None else asdict(self.observed),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], left_out: ArrayLike, fingerprint: str) -> Self:
        """Rebuild strata from :meth:`to_dict`.

        Examples
        --------
        >>> strata = Strata.of_rows(PoolRows.of_arrays([0, 1, 1, 0], ["a", "a", "b", "b"]))
        >>> Strata.from_dict(strata.to_dict(), [], strata.fingerprint).sizes.tolist()
        [1, 1, 1, 1]
        """
        names = list(values["groups"])
        layout = Layout(
            group=np.array(values["group"], dtype=np.int64),
            decision=np.array(values["decision"], dtype=np.int64),
            n_groups=len(names),
            parent=np.array(values["parent"], dtype=np.int64),
            known=np.array(values["is_known"], dtype=bool),
            cost=np.array(values["cost"], dtype=np.float64),
            prior=None if values["prior"] is None else np.array(values["prior"], dtype=np.float64),
            noise=np.array(values["noise"], dtype=np.float64),
            doubt=np.array(values["doubt"], dtype=np.float64),
            judged=values["judged"],
        )
        return cls(
            groups=names,
            sizes=np.array(values["sizes"], dtype=np.int64),
            queues=[np.array(queue, dtype=np.int64) for queue in values["queues"]],
            left_out=np.array(left_out, dtype=np.int64),
            drawn=bool(values["drawn"]),
            fingerprint=fingerprint,
            layout=layout,
            known=np.array(values["known"], dtype=np.int64),
            observed=None if values["observed"] is None else Observed(**values["observed"]),
        )


def queue_length(budget: int, cheapest: float = 1.0) -> int:
    """Rows of a stratum that an audit may ask for: its labels, and some in place of those nobody can tell."""
    return math.ceil(_QUEUE * budget / min(1.0, cheapest))


def split_groups(groups: ArrayLike) -> tuple[list[Any], Int]:
    """Names of the groups and the code of each row; rows of unknown group (None or NaN) have the last code.

    Examples
    --------
    >>> split_groups(["b", None, "a"])
    (['a', 'b'], array([1, 2, 0]))
    """
    values = np.asarray(groups)
    if values.dtype.kind in "biuSU":
        return encode_groups(groups)
    lost = np.array([is_gap(v) for v in values.tolist()], dtype=bool)
    if not lost.any():
        return encode_groups(groups)
    names, found = encode_groups(values[~lost])
    codes = np.full(len(values), len(names), dtype=np.int64)
    codes[~lost] = found
    return names, codes


def _per_row(given: ArrayLike | None, name: str, n: int) -> Float | None:
    """Return a number for each row, or raise; a score may be unknown in some rows, a cost is above zero."""
    if given is None:
        return None
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"{name} holds values that are no numbers", "give one number for each row") from None
    check_lengths(**{name: len(values), "groups": n})
    if name == "cost" and not ((values > 0) & np.isfinite(values)).all():
        raise UserError("cost must be above zero and finite in every row", "give the cost of each label")
    if n and np.isnan(values).all():
        raise UserError(f"{name} has no number in any row", f"leave {name} out")
    return values


def judge_score(judge: ArrayLike) -> Float:
    """The mean of what judges say of each row, from 0 to 1.

    Examples
    --------
    >>> judge_score([[0, 1], [1, 1]]).tolist()
    [0.5, 1.0]
    """
    try:
        values = np.asarray(judge, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(
            "judge holds values that are no numbers", "give 0 and 1, or probabilities of 1"
        ) from None
    if ((values < 0) | (values > 1)).any():
        raise UserError("judge holds numbers below 0 or above 1", "give 0 and 1, or probabilities of 1")
    return np.asarray(values.mean(axis=1) if values.ndim == 2 else values)


def _row_numbers(name: str, rows: ArrayLike, n: int) -> Int:
    given = np.unique(np.asarray(rows, dtype=np.int64))
    if len(given) and (given[0] < 0 or given[-1] >= n):
        raise ValueError(f"{name} names row {given[-1]}, but the pool has rows 0 to {n - 1}")
    return given


def _means(each: Int, values: Float, kept: Int, width: int) -> Float:
    """Mean over the rows of each stratum that is kept; 1 where there is none."""
    total = np.bincount(each, weights=np.nan_to_num(values), minlength=width + 1)[kept]
    count = np.bincount(each, weights=~np.isnan(values), minlength=width + 1)[kept]
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)


def _queues(each: Int, place: Int, sizes: Int, keys: Int | None, seed: int, most: int) -> list[Int]:
    """The ``most`` rows of each stratum with the least numbers, least first.

    ``each`` has the number of each row's stratum, ``place`` what stratum it is; ``len(sizes)`` if it is none.
    """
    strata = len(sizes)
    # Rows whose numbers are too large are passed over: of those below the limit, enough are left.
    share = likely_share(most, np.append(sizes, 1))
    limit = np.where(share < 1, share * 2.0**64, 0).astype(np.uint64)
    limit[share >= 1] = np.uint64(2**64 - 1)
    held = []
    for start in range(0, len(each), _CHUNK):
        part = each[start : start + _CHUNK]
        rows = np.arange(start, start + len(part)) if keys is None else keys[start : start + _CHUNK]
        stratum, order = place[part], draw_order(rows, seed)
        good = np.flatnonzero((stratum < strata) & (order <= limit[stratum]))
        held.append((rows[good], stratum[good], order[good]))
    rows, stratum, _ = least_rows(held, most)
    return np.split(rows, np.cumsum(np.bincount(stratum, minlength=strata))[:-1])


def likely_share(n: int, of: Int) -> Float:
    """A share of random numbers below which there are ``n`` of so many: a tenth and 12 deviations more."""
    return np.asarray(np.minimum(1.0, (1.1 * n + 12 * n**0.5) / np.maximum(of, 1)))


def least_rows(
    held: Sequence[tuple[Int, Int, NDArray[np.uint64]]], most: int
) -> tuple[Int, Int, NDArray[np.uint64]]:
    """The rows of each stratum with the least numbers, in the order of strata, then of numbers."""
    rows, stratum, order = (np.concatenate(part) for part in zip(*held, strict=True))
    by = np.lexsort((order, stratum))
    rows, stratum, order = rows[by], stratum[by], order[by]
    first = np.searchsorted(stratum, stratum)  # where each row's stratum begins
    good = np.arange(len(rows)) - first < most
    return rows[good], stratum[good], order[good]


def bins_for(labels: int, strata: int, most: int = 4) -> int:
    """Bins per group and decision that a pilot of so many labels can bear.

    Examples
    --------
    >>> bins_for(100, 4), bins_for(30, 4), bins_for(20, 4)
    (4, 2, 1)
    """
    return max(1, min(most, labels // (_PILOT * max(strata, 1))))


def bin_edges(score: Float, bins: int, *, chance: bool, judged: bool = False) -> Float:
    """Where a score is cut, within one group and decision; none where it has few rows.

    A score that is a ``chance`` from 0 to 1 is cut where the root of its variance adds up to equal parts, so
    that about as many labels differ in each bin; any other into bins of as many rows. What a judge says is
    cut at one half too, so that the answers in a bin are alike and can be compared with people's.

    Examples
    --------
    >>> bin_edges(np.arange(90.0), 3, chance=False).tolist()
    [30.0, 60.0]
    """
    bins = min(bins, len(score) // _ROWS)
    if bins < 2:
        return np.zeros(0)
    values = np.sort(score.astype(np.float64))
    if len(few := np.unique(values)) <= bins:
        return few[1:]  # a bin for each value
    p = np.clip(values, 0.01, 0.99)
    weight = np.sqrt(p * (1 - p)) if chance else np.ones(len(values))
    reached = np.cumsum(weight) * (bins / weight.sum()) - 1e-9
    cuts = values[np.searchsorted(reached, np.arange(1, bins))]
    if judged and values[0] <= 0.5 < values[-1]:
        cuts[np.argmin(np.abs(cuts - 0.5))] = np.nextafter(0.5, 1)
    return np.unique(cuts)


def _cut(each: Int, score: Float, top: int, bins: int, seed: int, *, judged: bool) -> None:
    """Add the bin of its score to the number of each row's stratum; rows without a score are in the first.

    Bins are found on some rows of a large pool: any cut that does not depend on labels will do.
    """
    n, last = len(each), top * bins
    some = np.arange(n)
    if n > _BINNED:
        parts = (some[start : start + _CHUNK] for start in range(0, n, _CHUNK))
        limit = np.uint64(2**64 * (_BINNED / n))
        some = np.concatenate([part[draw_order(part, seed) < limit] for part in parts])
    some = some[(each[some] < last) & ~np.isnan(score[some])]
    chance = bool(len(some) and score[some].min() >= 0 and score[some].max() <= 1)
    edges = {
        int(a): bin_edges(score[some[each[some] == a]], bins, chance=chance, judged=judged)
        for a in np.unique(each)
    }
    for start in range(0, n, _CHUNK):
        part, values = each[start : start + _CHUNK], score[start : start + _CHUNK]
        add = np.zeros_like(part)
        for number, cuts in edges.items():
            mine = np.flatnonzero(part == number)
            if len(cuts) and number < last:
                below = np.searchsorted(cuts, values[mine], side="right")
                add[mine] = np.where(np.isnan(values[mine]), 0, below)
        part += add


def known_codes(
    known: Mapping[int, object] | None, classes: Sequence[object] | None, name: str = "known"
) -> dict[int, int | None]:
    """Labels known before the audit as 0 and 1, None where nobody can tell; errors call them ``name``.

    Examples
    --------
    >>> known_codes({3: "yes", 5: None}, ["no", "yes"])
    {3: 1, 5: None}
    """
    names = [0, 1] if classes is None else list(classes)
    out: dict[int, int | None] = {}
    for row, label in (known or {}).items():
        if label is not None and label not in names:
            raise ValueError(
                f"{name}: label {label!r} of row {row} is not one of the classes {tuple(names)!r}"
            )
        out[int(row)] = None if label is None else int(label == names[1])
    return out


def noise_table(noise: Noise, groups: Sequence[object]) -> tuple[Float, Float]:
    """Least and largest probability of a wrong label by right label and group, and its standard error.

    For rows of unknown group it may be that of any group.

    Examples
    --------
    >>> ends, doubt = noise_table({"a": 0.1, "b": (0.0, 0.05)}, ["a", "b"])
    >>> ends[:, 0].tolist(), doubt.any()
    ([[0.1, 0.0, 0.0], [0.1, 0.05, 0.1]], np.False_)
    """
    given = noise if isinstance(noise, Mapping) else dict.fromkeys(groups, noise)
    named = {str(name): value for name, value in given.items()}
    if unknown := set(named) - {str(g) for g in groups}:
        raise ValueError(f"noise names {sorted(unknown)[0]!r}, which is no group")
    ends, doubt = np.zeros((2, 2, len(groups) + 1)), np.zeros((2, len(groups) + 1))
    for g, group in enumerate(groups):
        value = named.get(str(group), 0.0)
        if isinstance(value, LabelError):
            ends[:, :, g], doubt[:, g] = value.wrong, value.doubt
            check_number(float(ends[:, :, g].max()), f"noise learned for {group}", 0.0, MOST_WRONG)
            continue
        low, high = value if isinstance(value, tuple | list) else (value, value)
        ends[0, :, g] = check_number(low, "noise", 0.0, MOST_WRONG)
        ends[1, :, g] = check_number(high, "noise", float(low), MOST_WRONG)
    ends[0, :, -1], ends[1, :, -1] = ends[0, :, :-1].min(axis=1), ends[1, :, :-1].max(axis=1)
    doubt[:, -1] = doubt[:, :-1].max(axis=1)
    return ends, doubt


def noise_from_overlap(disagreements: int, pairs: int, delta: float = 0.005) -> tuple[float, float]:
    """Least and largest share of wrong labels that two annotators' disagreements allow.

    Both annotators are taken to err alike and independently, so that they disagree with probability
    ``2 e (1 - e)``. Give the rest of the error to the audit: ``delta=0.045`` there makes 0.05 in all.

    Examples
    --------
    >>> [round(v, 3) for v in noise_from_overlap(18, 200)]
    [0.024, 0.09]
    """
    z = -float(ndtri(delta / 2))
    low, high = wilson(disagreements, pairs, z)
    ends = [(1 - np.sqrt(max(1 - 2 * float(d), 0.0))) / 2 for d in (low, high)]
    return float(ends[0]), float(min(ends[1], 0.4))


def intersect(*columns: ArrayLike) -> np.ndarray:
    """Groups by several protected columns at once; None where any of them is unknown.

    Examples
    --------
    >>> intersect(["f", "m", None], ["old", "young", "old"]).tolist()
    ['f & old', 'm & young', None]
    """
    rows = zip(*(np.asarray(c, dtype=object).tolist() for c in columns), strict=True)
    joined = [None if any(v is None or v != v for v in row) else " & ".join(map(str, row)) for row in rows]
    out = np.empty(len(joined), dtype=object)
    out[:] = joined
    return out
