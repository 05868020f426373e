"""The hash chain over the events: each hash is of the event and of the hash before it.

Whoever changes, removes or adds an event in the middle must compute all later hashes anew, so one hash
written down elsewhere proves everything before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

#: What stands before the first event.
START = "0" * 64
#: Number, time, person, kind, data as text and hash of an event.
StoredEvent = tuple[int, str, str, str, str, str | None]


def link(before: str, number: int, at: str, who: str, kind: str, data: str) -> str:
    """Return the hash of an event, given the hash of the one before it.

    Examples
    --------
    >>> link(START, 1, "now", "ada", "created", "{}")[:12]
    '430934bedadb'
    """
    text = json.dumps([before, number, at, who, kind, data], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def first_break(events: Iterable[StoredEvent]) -> str | None:
    """Describe the first event that is missing or was changed; None if there is none.

    Examples
    --------
    >>> first_break([(2, "now", "ada", "created", "{}", None)])
    'event 1 is missing'
    """
    before, expected = START, 1
    for number, at, who, kind, data, known in events:
        if number != expected:
            return f"event {expected} is missing"
        before, expected = link(before, number, at, who, kind, data), expected + 1
        if known != before:
            return f"event {number} ({kind} by {who}) is not what was written, or one before it is not"
    return None
