"""The strata of an audit: the rows of a pool by group, decision and score, and the rates they make up.

:class:`Strata` holds the rows of each stratum in a random order, :class:`Layout` says what the strata are,
:class:`Counts` what labels were found in them, and :meth:`Layout.limits` bounds the rates of the groups.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtrit

from fairask.audit.bounds.proportions import wilson
from fairask.audit.bounds.stratified import collapse, score_limits
from fairask.checks import check_lengths, check_number
from fairask.errors import UserError
from fairask.metrics import Bool, Float, Int, encode_groups, is_gap, soft_predictions
from fairask.pools import Pool
from fairask.pools.memory import Model, is_randomised

#: Probability of a wrong label: one number, or by group a number or (least, largest).
Noise = float | Mapping[Any, float | tuple[float, float]]
#: With fewer labels that a rate is conditioned on, nothing is said about the rate.
FEWEST = 5
#: Labels of the pilot that a stratum should have, and rows that a bin of a score should have.
_PILOT, _ROWS = 3, 20
_NONE = np.zeros(0, dtype=np.int64)


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
    """

    groups: list[Any]
    sizes: Int
    queues: list[Int]
    left_out: Int
    drawn: bool
    fingerprint: str
    layout: Layout
    known: Int = field(default_factory=lambda: np.zeros((3, 0), dtype=np.int64))

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
        >>> Strata.of_rows([0, 1, 1, 0], ["a", "a", "b", "b"]).of([3, 1]).tolist()
        [2, 1]
        """
        known, stratum = self._index
        return np.asarray(stratum[np.searchsorted(known, np.asarray(rows, dtype=np.int64))])

    def with_noise(self, noise: Noise) -> Self:
        """The same strata, whose labels are wrong with these probabilities."""
        table = noise_table(noise, self.groups)
        return replace(self, layout=replace(self.layout, noise=table)) if table.any() else self

    def by_decision(self, model: int = 0) -> Int:
        """Rows of each group decided 0 and 1 by a model, as ``2 * group + decision``."""
        inside = self.layout.group < len(self.groups)
        code = 2 * self.layout.group + self.layout.decision[model]
        found = np.bincount(code[inside], weights=self.sizes[inside], minlength=2 * len(self.groups))
        return found.astype(np.int64)

    @classmethod
    def of_rows(
        cls,
        pred: ArrayLike,
        groups: ArrayLike,
        trained_on: ArrayLike | None = None,
        pos_label: object = None,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
        score: ArrayLike | None = None,
        bins: int = 1,
        cost: ArrayLike | None = None,
    ) -> Self:
        """Strata of rows whose predictions and groups are given.

        Parameters
        ----------
        pred, groups : array-like
            Predictions, of several models in columns, and groups, None where unknown.
        trained_on : array-like of int, optional
            Rows to leave out.
        known : mapping, optional
            Labels of rows that are known already, None where nobody can tell: strata of their own.
        score, bins
            A number per row and the bins it is cut into, within group and decision.
        cost : array-like, optional
            Cost of a label of each row.

        Examples
        --------
        >>> strata = Strata.of_rows([0, 1, 1, 0], ["a", "a", "b", "b"], trained_on=[0])
        >>> strata.sizes.tolist(), [queue.tolist() for queue in strata.queues]
        ([0, 1, 1, 1], [[], [1], [3], [2]])
        """
        names, codes = split_groups(groups)
        return cls.of_codes(
            pred, names, codes, trained_on=trained_on, pos_label=pos_label, seed=seed, known=known,
            score=score, bins=bins, cost=cost,
        )  # fmt: skip

    @classmethod
    def of_codes(
        cls,
        pred: ArrayLike,
        names: list[Any],
        codes: Int,
        *,
        trained_on: ArrayLike | None = None,
        pos_label: object = None,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
        score: ArrayLike | None = None,
        bins: int = 1,
        cost: ArrayLike | None = None,
        most: int | None = None,
    ) -> Self:
        """Strata of rows whose groups are given as codes; ``len(names)`` is that of an unknown group.

        At most ``most`` rows of each stratum are queued.
        """
        said = np.asarray(pred)
        each = [said[:, m] for m in range(said.shape[1])] if said.ndim == 2 else [pred]
        if not len(codes):
            raise UserError("the pool has no rows", "give the predictions and groups of its rows")
        columns = [soft_predictions(column, pos_label) for column in each]
        n = check_lengths(pred=len(columns[0]), groups=len(codes))
        rng = np.random.default_rng(seed)
        soft = [bool(((column > 0) & (column < 1)).any()) for column in columns]
        decisions = np.array(
            [rng.random(n) < c if s else c == 1 for c, s in zip(columns, soft, strict=True)], dtype=bool
        )
        out = np.zeros(n, dtype=bool)
        for name, rows in (("trained_on", trained_on), ("known", list(known or ()))):
            given = np.unique(np.asarray([] if rows is None else rows, dtype=np.int64))
            if len(given) and (given[0] < 0 or given[-1] >= n):
                raise ValueError(f"{name} names row {given[-1]}, but the pool has rows 0 to {n - 1}")
            out[given] = True
        labels = np.full(n, -2)
        for row, label in (known or {}).items():
            labels[row] = -1 if label is None else label
        shuffled = rng.permutation(n)
        return cls._build(
            names, codes, decisions, shuffled, labels, out & (labels == -2),
            drawn=any(soft), score=score, bins=bins, cost=cost, most=most,
        )  # fmt: skip

    @classmethod
    def _build(
        cls, names: list[Any], codes: Int, decisions: Bool, shuffled: Int, labels: Int, left_out: Bool, *,
        drawn: bool, score: ArrayLike | None, bins: int, cost: ArrayLike | None, most: int | None,
    ) -> Self:  # fmt: skip
        n, models = len(codes), len(decisions)
        weights = 1 << np.arange(models)[::-1]
        pattern = (decisions * weights[:, None]).sum(axis=0)
        parent = codes * (1 << models) + pattern
        told = labels > -2
        free = ~told & ~left_out
        values, cost = (_per_row(v, name, n) for v, name in ((score, "score"), (cost, "cost")))
        cut = bin_rows(parent, values, free, bins)
        top = (len(names) + 1) * (1 << models)
        number = np.where(told, top * bins + parent, parent * bins + cut)
        plain = models == 1 and bins == 1
        # Without a score, empty strata keep their place: 2 * group + decision.
        kept = np.unique(number[~left_out])
        if plain:
            kept = np.union1d(kept, np.arange(2 * len(names)))
        place = np.searchsorted(kept, number)
        sizes = np.bincount(place[~left_out], minlength=len(kept))
        order = shuffled[free[shuffled]]
        # Numbers of strata are small: as small integers they are sorted in linear time.
        order = order[np.argsort(place.astype(np.min_scalar_type(len(kept)))[order], kind="stable")]
        lengths = np.bincount(place[free], minlength=len(kept))
        of_parent = np.where(kept >= top * bins, kept - top * bins, kept // bins)
        price = np.ones(len(kept)) if cost is None else _means(place, cost, free, len(kept))
        prior = None
        if values is not None and bins > 1 and np.nanmin(values) >= 0 and np.nanmax(values) <= 1:
            prior = _means(place, values, ~left_out, len(kept))
        layout = Layout(
            group=of_parent >> models,
            decision=np.array([(of_parent >> (models - 1 - m)) & 1 for m in range(models)]),
            n_groups=len(names), parent=of_parent, known=kept >= top * bins, cost=price, prior=prior,
            noise=np.zeros((2, len(names) + 1)),
        )  # fmt: skip
        found = hashlib.sha256(parent.tobytes() + (~left_out & ~told).tobytes())
        if not plain or told.any():
            found.update(place.tobytes() + labels.tobytes())
        seen = [np.bincount(place[told], weights=labels[told] == v, minlength=len(kept)) for v in (0, 1, -1)]
        return cls(
            groups=names,
            sizes=sizes,
            queues=[queue[:most].copy() for queue in np.split(order, np.cumsum(lengths)[:-1])],
            left_out=np.flatnonzero(left_out),
            drawn=drawn,
            fingerprint=found.hexdigest()[:16],
            layout=layout,
            known=np.array(seen, dtype=np.int64),
        )

    @classmethod
    def of_pool(
        cls,
        pool: Pool,
        model: Model,
        left_out: Int,
        budget: int,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
    ) -> Self:
        """Strata of a pool of any kind, with at most ``budget`` queued rows each.

        An audit never needs more than its budget of any stratum. Two passes: one counts, the other reads only
        blocks that hold a queued row. The decisions of a randomised model are drawn once, by the seed.

        Examples
        --------
        >>> from fairask.rules import LinearRule
        >>> from fairask.pools import Pool
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> Strata.of_pool(pool, LinearRule(np.array([1.0, 0.0])), np.array([0]), budget=2).sizes.tolist()
        [0, 1, 0, 1]
        """
        rows_known = np.array(sorted(known or ()), dtype=np.int64)
        cells = pool.excluding(np.union1d(left_out, rows_known)).by_decision(model, seed)
        sizes = np.zeros(2 * pool.n_groups, dtype=np.int64)
        stratum = 2 * cells.groups + cells.patterns[0]
        sizes[stratum] = cells.counts
        rng = np.random.default_rng(seed)
        ranks = [
            rng.choice(int(count), size=int(min(count, budget)), replace=False, shuffle=True)
            for count in cells.counts
        ]
        which = np.repeat(np.arange(len(ranks)), [len(r) for r in ranks])
        rows = cells.locate(which, np.concatenate([*ranks, _NONE]))
        queues = [_NONE for _ in sizes]
        for cell, s in enumerate(stratum):
            queues[int(s)] = rows[which == cell]
        found = hashlib.sha256(repr((pool.n_rows, sizes.tolist())).encode())
        for part in (left_out, *queues):
            found.update(np.ascontiguousarray(part, dtype=np.int64).data)
        layout, seen = Layout.plain(pool.n_groups), np.zeros((3, len(sizes)), dtype=np.int64)
        if known:
            mine = Pool(pool.take(rows_known), pool.groups_of(rows_known), pool.n_groups)
            by = mine.by_decision(model, seed)
            where, part = by.rows, by.cell
            at = np.zeros(len(rows_known), dtype=np.int64)
            at[where] = (2 * by.groups + by.patterns[0])[part]
            layout, sizes, seen = _with_known(layout, sizes, at, [known[int(row)] for row in rows_known])
            queues += [_NONE] * (len(sizes) - len(queues))
            found.update(repr(sorted(known.items())).encode())
        return cls(
            groups=list(pool.group_values),
            sizes=sizes,
            queues=queues,
            left_out=left_out,
            drawn=is_randomised(model),
            fingerprint=found.hexdigest()[:16],
            layout=layout,
            known=seen,
        )

    def to_dict(self, budget: int) -> dict[str, Any]:
        """Return plain values for JSON, with at most ``budget`` queued rows of each stratum."""
        layout = self.layout
        return {
            "groups": [g if isinstance(g, str | int | float) else str(g) for g in self.groups],
            "sizes": self.sizes.tolist(),
            "queues": [queue[:budget].tolist() for queue in self.queues],
            "drawn": self.drawn,
            "group": layout.group.tolist(),
            "decision": layout.decision.tolist(),
            "parent": layout.parent.tolist(),
            "cost": layout.cost.tolist(),
            "prior": None if layout.prior is None else layout.prior.tolist(),
            "noise": layout.noise.tolist(),
            "is_known": layout.known.tolist(),
            "known": self.known.tolist(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], left_out: ArrayLike, fingerprint: str) -> Self:
        """Rebuild strata from :meth:`to_dict`.

        Examples
        --------
        >>> strata = Strata.of_rows([0, 1, 1, 0], ["a", "a", "b", "b"])
        >>> Strata.from_dict(strata.to_dict(1), [], strata.fingerprint).sizes.tolist()
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
        )


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


def _means(place: Int, values: Float, rows: Bool, k: int) -> Float:
    total = np.bincount(place[rows], weights=values[rows], minlength=k)
    count = np.bincount(place[rows], minlength=k)
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)


def _with_known(layout: Layout, sizes: Int, at: Int, labels: list[int | None]) -> tuple[Layout, Int, Int]:
    """Add strata of rows whose labels are known; ``at`` is the stratum each would be in."""
    new = np.unique(at)
    place = np.searchsorted(new, at)
    codes = np.array([-1 if label is None else label for label in labels])
    seen = [np.bincount(place, weights=codes == v, minlength=len(new)) for v in (0, 1, -1)]
    k = len(sizes)
    wider = Layout(
        group=np.concatenate([layout.group, layout.group[new]]),
        decision=np.concatenate([layout.decision, layout.decision[:, new]], axis=1),
        n_groups=layout.n_groups,
        parent=np.concatenate([layout.parent, layout.parent[new]]),
        known=np.concatenate([layout.known, np.ones(len(new), dtype=bool)]),
        cost=np.concatenate([layout.cost, np.ones(len(new))]),
        noise=layout.noise,
    )
    counts = np.concatenate([np.zeros((3, k)), np.array(seen)], axis=1).astype(np.int64)
    return wider, np.concatenate([sizes, np.bincount(place, minlength=len(new))]), counts


def bins_for(labels: int, strata: int, most: int = 4) -> int:
    """Bins per group and decision that a pilot of so many labels can bear.

    Examples
    --------
    >>> bins_for(100, 4), bins_for(30, 4), bins_for(20, 4)
    (4, 2, 1)
    """
    return max(1, min(most, labels // (_PILOT * max(strata, 1))))


def bin_rows(parent: Int, score: Float | None, rows: Bool, bins: int) -> Int:
    """Return the bin of each row: about as many expected labels 1 as 0 differ in each.

    A score from 0 to 1 is cut where the root of its variance adds up to equal parts; any other column into
    bins of as many rows. Rows without a score are in the first bin.

    Examples
    --------
    >>> score = np.arange(90.0)
    >>> np.bincount(bin_rows(np.zeros(90, int), score, np.ones(90, bool), 3)).tolist()
    [30, 30, 30]
    """
    cut = np.zeros(len(parent), dtype=np.int64)
    if score is None or bins == 1:
        return cut
    known = rows & ~np.isnan(score)
    chance = bool(known.any() and score[known].min() >= 0 and score[known].max() <= 1)
    for value in np.unique(parent[known]):
        mine = np.flatnonzero(known & (parent == value))
        here = min(bins, len(mine) // _ROWS)
        if here < 2:
            continue
        order = mine[np.argsort(score[mine], kind="stable")]
        weight = np.ones(len(order))
        if chance:
            p = np.clip(score[order], 0.01, 0.99)
            weight = np.sqrt(p * (1 - p))
        reached = np.cumsum(weight) / weight.sum()
        cut[order] = np.minimum((reached * here - 1e-9).astype(np.int64), here - 1)
    return cut


def known_codes(
    known: Mapping[int, object] | None, classes: Sequence[object] | None
) -> dict[int, int | None]:
    """Labels known before the audit as 0 and 1, None where nobody can tell.

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
                f"known: label {label!r} of row {row} is not one of the classes {tuple(names)!r}"
            )
        out[int(row)] = None if label is None else int(label == names[1])
    return out


def noise_table(noise: Noise, groups: Sequence[object]) -> Float:
    """Least and largest probability of a wrong label by group; for rows of unknown group, over all groups.

    Examples
    --------
    >>> noise_table({"a": 0.1, "b": (0.0, 0.05)}, ["a", "b"]).tolist()
    [[0.1, 0.0, 0.0], [0.1, 0.05, 0.1]]
    """
    given = noise if isinstance(noise, Mapping) else dict.fromkeys(groups, noise)
    named = {str(name): value for name, value in given.items()}
    if unknown := set(named) - {str(g) for g in groups}:
        raise ValueError(f"noise names {sorted(unknown)[0]!r}, which is no group")
    ends = []
    for group in groups:
        value = named.get(str(group), 0.0)
        low, high = value if isinstance(value, tuple | list) else (value, value)
        ends.append([check_number(low, "noise", 0.0, 0.4), check_number(high, "noise", float(low), 0.4)])
    table = np.array(ends).T
    return np.concatenate([table, [[table[0].min()], [table[1].max()]]], axis=1)


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
