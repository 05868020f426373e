"""Draw rows with a learner, and describe the batch as an event."""

from __future__ import annotations

import warnings

import numpy as np

from fairask.errors import FairaskWarning
from fairask.learner import FairActiveLearner, Query
from fairask.study._rows import StudyRows
from fairask.study.events import RowsDrawn

__all__ = ["propose"]


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
