"""State that follows from the labelled rows in their order, recomputed only from where it is known.

Strategies keep no state. What a method carries from label to label (which rows count twice, a bandit's
weights) is a function of the labels so far, so it is replayed from them. A memo of recent histories spares
replaying the beginning; it changes the time a proposal takes, never the proposal.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from fairask.oracle import Labelled

__all__ = ["replay"]

State = TypeVar("State")

_MEMO: OrderedDict[bytes, object] = OrderedDict()
_KEPT = 64


def replay(
    labelled: Labelled,
    first: int,
    kind: str,
    start: Callable[[], State],
    step: Callable[[State, int], State],
) -> State:
    """State after all labelled rows: ``start()`` for the first rows, then ``step(state, i)`` for row i.

    Parameters
    ----------
    labelled : Labelled
    first : int
        Rows that ``start`` accounts for.
    kind : str
        Names the method and its settings; histories of different kinds share nothing.
    start, step : callable
        Pure functions of the labelled rows up to the one they account for.
    """
    digest = hashlib.blake2b(repr((kind, first)).encode(), digest_size=16)
    X = labelled.X
    digest.update(X[:first].tobytes() + labelled.y[:first].tobytes() + labelled.groups[:first].tobytes())
    keys = [digest.digest()]
    for i in range(first, len(labelled)):
        digest.update(X[i].tobytes() + labelled.y[i].tobytes() + labelled.groups[i].tobytes())
        keys.append(digest.digest())
    known = next((j for j in range(len(keys) - 1, -1, -1) if keys[j] in _MEMO), None)
    state: State = start() if known is None else _MEMO[keys[known]]  # type: ignore[assignment]
    for j in range(1 if known is None else known + 1, len(keys)):
        state = step(state, first + j - 1)
    _MEMO[keys[-1]] = state
    _MEMO.move_to_end(keys[-1])
    while len(_MEMO) > _KEPT:
        _MEMO.popitem(last=False)
    return state
