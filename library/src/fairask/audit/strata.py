"""The strata of an audit: the rows of a pool by group, decisions and score, each in a random order."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.binning import bin_rows
from fairask.audit.inputs import Noise, noise_table
from fairask.audit.layout import Layout
from fairask.checks import check_lengths
from fairask.errors import UserError
from fairask.metrics import Bool, Float, Int, encode_groups, is_gap, soft_predictions
from fairask.pools import Model, Pool, is_randomised

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
        said = np.asarray(pred)
        each = [said[:, m] for m in range(said.shape[1])] if said.ndim == 2 else [pred]
        names, codes = split_groups(groups)
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
            drawn=any(soft), score=score, bins=bins, cost=cost,
        )  # fmt: skip

    @classmethod
    def _build(
        cls, names: list[Any], codes: Int, decisions: Bool, shuffled: Int, labels: Int, left_out: Bool, *,
        drawn: bool, score: ArrayLike | None, bins: int, cost: ArrayLike | None,
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
        order = order[np.argsort(place[order], kind="stable")]
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
            queues=np.split(order, np.cumsum(lengths)[:-1]),
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
        """Rebuild strata from :meth:`to_dict`, also as 0.1.0 wrote it.

        Examples
        --------
        >>> strata = Strata.of_rows([0, 1, 1, 0], ["a", "a", "b", "b"])
        >>> Strata.from_dict(strata.to_dict(1), [], strata.fingerprint).sizes.tolist()
        [1, 1, 1, 1]
        """
        names, sizes = list(values["groups"]), np.array(values["sizes"], dtype=np.int64)
        layout, known = Layout.plain(len(names)), np.zeros((3, len(sizes)), dtype=np.int64)
        if "group" in values:
            known = np.array(values["known"], dtype=np.int64)
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
            sizes=sizes,
            queues=[np.array(queue, dtype=np.int64) for queue in values["queues"]],
            left_out=np.array(left_out, dtype=np.int64),
            drawn=bool(values["drawn"]),
            fingerprint=fingerprint,
            layout=layout,
            known=known,
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
