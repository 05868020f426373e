"""The strata of an audit: the rows of a pool by (group, decision), each stratum in a random order."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fairask.metrics import Int, encode_groups, soft_predictions
from fairask.pools import Model, Pool, is_randomised

__all__ = ["Strata"]


@dataclass(frozen=True)
class Strata:
    """Strata ``2 * group + decision`` of an audited pool.

    Attributes
    ----------
    groups : list
        Names of the groups.
    sizes : ndarray of shape (2 * groups,)
        Rows of each stratum.
    queues : list of ndarray
        Rows of each stratum in a random order, as many as the audit may ask for.
    left_out : ndarray
        Rows that are not part of the audit, ascending.
    drawn : bool
        Whether the model is randomised and its decisions were drawn.
    fingerprint : str
        Changes with the rows, their groups or decisions.
    """

    groups: list[Any]
    sizes: Int
    queues: list[Int]
    left_out: Int
    drawn: bool
    fingerprint: str

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

    @classmethod
    def of_rows(
        cls,
        pred: ArrayLike,
        groups: ArrayLike,
        trained_on: ArrayLike | None = None,
        pos_label: object = None,
        seed: int = 0,
    ) -> Self:
        """Strata of rows whose predictions and groups are given.

        Examples
        --------
        >>> strata = Strata.of_rows([0, 1, 1, 0], ["a", "a", "b", "b"], trained_on=[0])
        >>> strata.sizes.tolist(), [queue.tolist() for queue in strata.queues]
        ([0, 1, 1, 1], [[], [1], [3], [2]])
        """
        score = soft_predictions(pred, pos_label)
        names, codes = encode_groups(groups)
        if len(score) != len(codes):
            raise ValueError(f"lengths disagree: pred has {len(score)}, groups has {len(codes)}")
        rng = np.random.default_rng(seed)
        drawn = bool(((score > 0) & (score < 1)).any())
        decision = rng.random(len(score)) < score if drawn else score == 1
        stratum = 2 * codes + decision
        in_pool = np.ones(len(score), dtype=bool)
        if trained_on is not None:
            rows = np.unique(np.asarray(trained_on, dtype=np.int64))
            if len(rows) and (rows[0] < 0 or rows[-1] >= len(score)):
                raise ValueError(
                    f"trained_on names row {rows[-1]}, but the pool has rows 0 to {len(score) - 1}"
                )
            in_pool[rows] = False
        # One random order per stratum is fixed now: the audit always asks for the next rows of it.
        shuffled = rng.permutation(len(score))
        shuffled = shuffled[in_pool[shuffled]]
        order = np.argsort(stratum[shuffled], kind="stable")
        sizes = np.bincount(stratum[in_pool], minlength=2 * len(names))
        return cls(
            groups=names,
            sizes=sizes,
            queues=np.split(shuffled[order], np.cumsum(sizes)[:-1]),
            left_out=np.flatnonzero(~in_pool),
            drawn=drawn,
            fingerprint=hashlib.sha256(stratum.tobytes() + in_pool.tobytes()).hexdigest()[:16],
        )

    @classmethod
    def of_pool(cls, pool: Pool, model: Model, left_out: Int, budget: int, seed: int = 0) -> Self:
        """Strata of a pool of any kind, with at most ``budget`` queued rows each.

        An audit never needs more than its budget of any stratum. Two passes: one counts, the other reads only
        blocks that hold a queued row. The decisions of a randomised model are drawn once, by the seed.

        Examples
        --------
        >>> from fairask.rules import LinearRule
        >>> from fairask.pools import MemoryPool
        >>> pool = MemoryPool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> Strata.of_pool(pool, LinearRule(np.array([1.0, 0.0])), np.array([0]), budget=2).sizes.tolist()
        [0, 1, 0, 1]
        """
        cells = pool.excluding(left_out).by_decision(model, seed)
        sizes = np.zeros(2 * pool.n_groups, dtype=np.int64)
        stratum = 2 * cells.groups + cells.patterns[0]
        sizes[stratum] = cells.counts
        rng = np.random.default_rng(seed)
        ranks = [
            rng.choice(int(count), size=int(min(count, budget)), replace=False, shuffle=True)
            for count in cells.counts
        ]
        which = np.repeat(np.arange(len(ranks)), [len(r) for r in ranks])
        rows = cells.locate(which, np.concatenate([*ranks, np.zeros(0, dtype=np.int64)]))
        queues = [np.zeros(0, dtype=np.int64) for _ in sizes]
        for cell, s in enumerate(stratum):
            queues[int(s)] = rows[which == cell]
        found = hashlib.sha256(repr((pool.n_rows, sizes.tolist())).encode())
        for part in (left_out, *queues):
            found.update(np.ascontiguousarray(part, dtype=np.int64).data)
        return cls(
            groups=list(pool.group_values),
            sizes=sizes,
            queues=queues,
            left_out=left_out,
            drawn=is_randomised(model),
            fingerprint=found.hexdigest()[:16],
        )

    def to_dict(self, budget: int) -> dict[str, Any]:
        """Return plain values for JSON, with at most ``budget`` queued rows of each stratum."""
        return {
            "groups": [g if isinstance(g, str | int | float) else str(g) for g in self.groups],
            "sizes": self.sizes.tolist(),
            "queues": [queue[:budget].tolist() for queue in self.queues],
            "drawn": self.drawn,
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
        return cls(
            groups=list(values["groups"]),
            sizes=np.array(values["sizes"], dtype=np.int64),
            queues=[np.array(queue, dtype=np.int64) for queue in values["queues"]],
            left_out=np.array(left_out, dtype=np.int64),
            drawn=bool(values["drawn"]),
            fingerprint=fingerprint,
        )
