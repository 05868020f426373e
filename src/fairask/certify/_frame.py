"""What an audit draws from: the rows of a pool by stratum (group, decision), each in a random order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.certify._sample import soft_predictions
from fairask.metrics import encode_groups
from fairask.pools import Pool, audit_order

Int = NDArray[np.int64]

__all__ = ["Frame", "frame_of_pool", "frame_of_rows"]


@dataclass(frozen=True)
class Frame:
    """Strata ``2 * group + decision`` of an audited pool.

    Attributes
    ----------
    groups : list
        Names of the groups.
    sizes : ndarray of shape (2 * groups,)
        Rows of each stratum.
    queues : list of ndarray
        Rows of each stratum in a random order, as many as the audit may ask for.
    stratum_of : callable
        Strata of queued rows.
    left_out : ndarray
        Rows that are no part of the audit, ascending.
    drawn : bool
        Whether the model is randomised and its decisions were drawn.
    fingerprint : str
        Changes with the rows, their groups or decisions.
    """

    groups: list[Any]
    sizes: Int
    queues: list[Int]
    stratum_of: Callable[[Int], Int]
    left_out: Int
    drawn: bool
    fingerprint: str


def frame_of_rows(
    pred: ArrayLike, groups: ArrayLike, trained_on: ArrayLike | None, pos_label: Any, seed: int
) -> Frame:
    """Strata of rows whose predictions and groups are given.

    Examples
    --------
    >>> frame = frame_of_rows([0, 1, 1, 0], ["a", "a", "b", "b"], [0], None, seed=0)
    >>> frame.sizes.tolist(), [queue.tolist() for queue in frame.queues]
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
            raise ValueError(f"trained_on names row {rows[-1]}, but the pool has rows 0 to {len(score) - 1}")
        in_pool[rows] = False
    # One random order a stratum, fixed now: the rows asked for are always the next ones in it.
    shuffled = rng.permutation(len(score))
    shuffled = shuffled[in_pool[shuffled]]
    order = np.argsort(stratum[shuffled], kind="stable")
    sizes = np.bincount(stratum[in_pool], minlength=2 * len(names))
    return Frame(
        groups=names,
        sizes=sizes,
        queues=np.split(shuffled[order], np.cumsum(sizes)[:-1]),
        stratum_of=lambda rows: np.asarray(stratum[rows]),
        left_out=np.flatnonzero(~in_pool),
        drawn=drawn,
        fingerprint=hashlib.sha256(stratum.tobytes() + in_pool.tobytes()).hexdigest()[:16],
    )


def frame_of_pool(pool: Pool, model: Any, left_out: Int, budget: int, seed: int) -> Frame:
    """Strata of a pool, wherever its rows are: they are counted in one pass, and only queued rows are found.

    Examples
    --------
    >>> from fairask.rules import LinearRule
    >>> from fairask.pools import MemoryPool
    >>> pool = MemoryPool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
    >>> frame_of_pool(pool, LinearRule(np.array([1.0, 0.0])), np.array([0]), 2, seed=0).sizes.tolist()
    [0, 1, 0, 1]
    """
    rest = pool.excluding(left_out)
    order = audit_order(rest, model, budget, seed)
    found = hashlib.sha256(repr((pool.n_rows, order.sizes.tolist())).encode())
    for rows in (left_out, *order.queues):
        found.update(np.ascontiguousarray(rows, dtype=np.int64).data)
    return Frame(
        groups=list(pool.group_values),
        sizes=order.sizes,
        queues=order.queues,
        stratum_of=order.stratum_of,
        left_out=left_out,
        drawn=_randomised(model),
        fingerprint=found.hexdigest()[:16],
    )


def _randomised(model: Any) -> bool:
    if hasattr(model, "chance"):
        return bool(getattr(model, "randomised", True))
    return len([w for w in getattr(model, "weights_", ()) if w > 0]) > 1
