"""Drawing rows into the queue, and giving them to people who ask."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

import numpy as np

from fairask.errors import FairaskWarning
from fairask.learner import Query
from fairask.strategies import make_strategy
from fairask.study import _events, _queue
from fairask.study._errors import StudyError
from fairask.study.state import AUDIT

if TYPE_CHECKING:
    from fairask.study.study import Study

__all__ = ["ask", "draw"]


def draw(study: Study, n: int | None) -> Query | None:
    """See :meth:`Study.draw`."""
    with study._lock:
        left, auditing = study.state().undrawn, study.state().audit is not None
        learner = study.learner()
    if left < 1:
        return None
    if auditing:
        learner.strategy = make_strategy("group_balanced")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairaskWarning)
        query = learner.ask(min(n or study.config.batch_size, left))
    entries = learner._log.entries[-len(query) :]
    data = {
        "batch": query.batch_id,
        "rows": query.indices.tolist(),
        "propensities": [None if np.isnan(q) else float(q) for q in query.propensities],
        "components": [AUDIT] * len(query) if auditing else query.components,
        "pool_sizes": [entry.pool_size for entry in entries],
        "warnings": [str(warning.message) for warning in caught],
        **study._rows.keep(query.indices.tolist()),
    }
    with study._db.write() as connection:
        # A batch that another process drew meanwhile took rows we counted on: ours is void.
        if _queue.last_batch(connection) >= query.batch_id:
            return None
        _queue.add(
            connection,
            data["rows"],
            query.batch_id,
            len(learner._log.entries) - len(query),
            study.config.overlap,
        )
        _events.append(connection, "fairask", [("proposed", data)])
    return query


def ask(study: Study, n: int | None, who: str, seconds: float) -> list[int]:
    """See :meth:`Study.ask`."""
    n = study.config.batch_size if n is None else n
    if n < 1:
        raise StudyError(f"n={n} must be 1 or more")
    with study._db.read() as connection:
        before = _queue.held(connection, who, time.time())
    rows = before
    try:
        while True:
            rows = study.lease(who, len(before) + n, seconds)
            missing = len(before) + n - len(rows)
            if missing <= 0 or (study.draw(missing) is None and not _someone_drew(study)):
                return [row for row in rows if row not in set(before)]
    except BaseException:
        # A long pass was stopped: nobody was told of the rows that were free before it.
        with study._db.write(durable=False) as connection:
            _queue.release(connection, who, set(rows) - set(before))
        raise


def _someone_drew(study: Study) -> bool:
    with study._db.read() as connection:
        free = _queue.waiting(connection, time.time()).free
    return free > 0 and study.config.overlap == 1
