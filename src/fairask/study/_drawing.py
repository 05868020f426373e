"""Draw rows with a learner, or uniformly, and describe the batch as an event."""

from __future__ import annotations

import warnings

import numpy as np

from fairask.errors import FairaskWarning
from fairask.learner import FairActiveLearner, Query
from fairask.study._rows import StudyRows
from fairask.study.events import RowsDrawn
from fairask.study.state import State

__all__ = ["propose", "propose_uniform"]


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
