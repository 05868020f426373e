"""State that follows from the labelled rows in their order.

Strategies keep no state. Some methods need it (which rows count twice, the weights of a bandit), so it is
computed again from the labels so far. A cache of recent histories saves computing the beginning again. It
changes how long a proposal takes, never the proposal.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from fairask.oracle import Labelled

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
    """Return the state after all labelled rows: ``start()``, then ``step(state, i)`` per further row.

    Parameters
    ----------
    labelled : Labelled
    first : int
        Number of rows that ``start`` uses.
    kind : str
        The method and its settings; only histories of the same kind share a cached state.
    start, step : callable
        Pure functions of the labelled rows, up to row i for ``step``.
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
