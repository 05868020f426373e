"""Draw rows with a learner, or uniformly, and describe the batch as an event."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from fairask.errors import FairaskWarning
from fairask.learner import FairActiveLearner
from fairask.log import Query
from fairask_studio._audit import propose_audit
from fairask_studio._errors import StudyError
from fairask_studio._rows import StudyRows
from fairask_studio.events import RowsDrawn
from fairask_studio.state import State

if TYPE_CHECKING:
    from fairask_studio.study import Study


def draw(study: Study, n: int | None, *, uniform: bool) -> Query | None:
    """See :meth:`Study.draw`."""
    with study.lock:
        learner = None if uniform else study.learner()
        state = study.state() if uniform else study.last_state  # the learner has read the newest events
        left, start = state.undrawn, len(state.log.entries)
        count = min(n or study.config.learner.batch_size, left)
        proposed = propose_audit(state, study.rows)
        if proposed is None and learner is None:
            proposed = propose_uniform(state, count, study.rows)
    if left < 1:
        return None
    if proposed is None:
        assert learner is not None
        proposed = propose(learner, count, study.rows)
    query, drawn = proposed
    with study.store.write() as turn:
        booked = turn.book_batch(drawn, start, study.config.overlap)
    return query if booked else None


def ask(study: Study, n: int | None, who: str, seconds: float) -> list[int]:
    """See :meth:`Study.ask`."""
    n = study.config.learner.batch_size if n is None else n
    if n < 1:
        raise StudyError(f"n={n} must be 1 or more")
    rows = before = study.store.pending(who)
    try:
        while True:
            rows = study.lease(who, len(before) + n, seconds)
            missing = len(before) + n - len(rows)
            if missing <= 0 or (study.draw(missing) is None and not _somebody_drew(study)):
                return [row for row in rows if row not in set(before)]
    except BaseException:
        # A long pass was stopped: nobody was told of the rows that were free before it.
        study.store.release(who, set(rows) - set(before))
        raise


def _somebody_drew(study: Study) -> bool:
    return study.config.overlap == 1 and study.store.waiting().free > 0


def propose(learner: FairActiveLearner, n: int, rows: StudyRows) -> tuple[Query, RowsDrawn]:
    """Draw ``n`` rows by the learner's strategy."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairaskWarning)
        query = learner.ask(n)
    drawn = query.indices.tolist()
    columns, cells = rows.cells_of(drawn) or (None, None)
    return query, RowsDrawn(
        batch=query.batch_id,
        rows=drawn,
        propensities=[None if np.isnan(q) else float(q) for q in query.propensities],
        components=list(query.components),
        pool_sizes=[entry.pool_size for entry in learner.state.log.entries[-len(query) :]],
        warnings=[str(warning.message) for warning in caught],
        columns=columns,
        cells=cells,
    )


def propose_uniform(state: State, n: int, rows: StudyRows) -> tuple[Query, RowsDrawn]:
    """Draw ``n`` rows, each equally likely among those that are left: without a model, and in no time."""
    seed = state.config.learner.random_state
    rng = np.random.default_rng([seed if isinstance(seed, int) else 0, state.batches])
    left = state.config.rows - len(state.log.entries)
    chosen: dict[int, None] = {}
    if 2 * left < state.config.rows:  # guesses would mostly be rows that are drawn
        free = [row for row in range(state.config.rows) if row not in state.log.position]
        chosen = dict.fromkeys(int(row) for row in rng.permutation(free)[:n])
    while len(chosen) < n:
        row = int(rng.integers(state.config.rows))
        if row not in state.log.position:
            chosen[row] = None
    drawn, sizes = list(chosen), [left - i for i in range(n)]
    q: list[float | None] = [1.0 / size for size in sizes]
    components = ["uniform"] * n
    columns, cells = rows.cells_of(drawn) or (None, None)
    query = Query(state.batches, np.array(drawn, np.int64), np.array(q, np.float64), components)
    return query, RowsDrawn(state.batches, drawn, q, components, sizes, [], columns, cells)
