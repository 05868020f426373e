"""The append-only event log: the one truth of a study."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, insert, select

from fairask.study._schema import events

__all__ = ["KINDS", "Event", "append", "last_id", "now", "read_after"]

#: What can happen to a study.
KINDS = (
    "created",  # the settings and the pool's hash; for a pool that is not copied, where and what it is
    "configured",  # words changed: question, column names
    "proposed",  # rows drawn, with their propensities; with their cells, if the pool is not copied
    "labelled",
    "skipped",
    "withdrawn",  # somebody took their answer back
    "corrected",
    "fitted",  # a model on the labels so far, its history entry and digest
    "audit",  # so many labels are drawn to judge the last model and not to train; 0 ends it
    "certified",
    "stopping",  # the rule that ends the study before its budget is another
    "relocated",  # the pool, which is not copied, is at another place
)


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    id: int
    at: str
    who: str
    kind: str
    data: dict[str, Any]


def now(shift: float = 0.0) -> str:
    """The time in UTC, as the log writes it, ``shift`` seconds from now.

    Examples
    --------
    >>> now().endswith("Z")
    True
    """
    moment = datetime.now(UTC) + timedelta(seconds=shift)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def append(connection: Connection, who: str, happened: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Add events of ``who`` in this transaction, in order."""
    at = now()
    rows = [
        {"at": at, "who": who, "kind": kind, "data": json.dumps(data, allow_nan=False, ensure_ascii=False)}
        for kind, data in happened
    ]
    if rows:
        connection.execute(insert(events), rows)


def read_after(connection: Connection, seen: int) -> list[Event]:
    """Events after number ``seen``, in order."""
    rows = connection.execute(select(events).where(events.c.id > seen).order_by(events.c.id))
    return [Event(r.id, r.at, r.who, r.kind, json.loads(r.data)) for r in rows]


def last_id(connection: Connection) -> int:
    """Number of the newest event, 0 when there is none."""
    return int(connection.execute(select(func.max(events.c.id))).scalar() or 0)
