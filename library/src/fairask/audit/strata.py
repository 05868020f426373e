"""The strata of an audit: the rows of a pool by group, decision and score, in a random order."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from fairask.audit.bounds.proportions import wilson
from fairask.audit.layout import Layout
from fairask.audit.rows import OUT, UNTOLD, Observed, PoolRows
from fairask.checks import check_number
from fairask.matrix import hash_numbers, tie_breakers
from fairask.metrics import Float, Int
from fairask.people import MOST_WRONG, LabelError

#: Probability of a wrong label: one number, or by group a number, (least, largest), or what was learned.
Noise = float | Mapping[Any, float | tuple[float, float] | LabelError]
#: Rows that a bin of a score should have.
_ROWS = 20
#: Rows that are queued per label of the budget: the rest is for rows that nobody can label.
_QUEUE = 4
#: Rows handled at a time, and rows of a pool on which bins of a score are found.
_CHUNK, _BINNED = 1 << 18, 1 << 20
#: Makes the order of an audit another one than that in which a sample is drawn with the same seed: rows that
#: were sampled to train a model would otherwise be the first to be asked for.
_ORDER = 0x5EED_0F_0A0D17
_NONE = np.zeros(0, dtype=np.int64)


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
