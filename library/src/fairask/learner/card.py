"""A learner and a query as cards in a notebook."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fairask.cards import bar_chart, card, line_chart
from fairask.pools import Pool

if TYPE_CHECKING:
    from fairask.learner.learner import FairActiveLearner
    from fairask.learner.state import HistoryRow, Query


def learner_card(learner: FairActiveLearner) -> str:
    """Return what a learner has done: the violation by labels or, before the first round, its groups."""
    n, history = len(learner.state.log.labelled()), learner.history_
    chart = ""
    facts = {"goal": f"{learner.metric} at most {learner.tolerance:g}"}
    if history:
        error, violation = history["error"][-1], history["violation"][-1]
        facts["accuracy, estimated"] = f"{1 - error:.3f}"
        facts["violation, estimated"] = f"{violation:.3f}{_limits(learner.state.history[-1])}"
        facts["labels by group"] = ", ".join(
            f"{group} {history[f'labels[{group}]'][-1]:,}" for group in learner.groups_
        )
        chart = line_chart(
            history["labels"].tolist(), history["violation"].tolist(), learner.tolerance, "violation"
        )
    elif isinstance(learner.pool, Pool):  # counting a streamed pool would read it
        rows = np.bincount(learner.pool.groups, minlength=len(learner.groups_))
        named = zip(learner.groups_, rows, strict=True)
        chart = bar_chart({str(group): int(count) for group, count in named}, "rows by group")
    if waiting := len(learner.pending_indices_):
        facts["waiting for an answer"] = f"{waiting:,} rows"
    if (certificate := learner.certificate_) is not None:
        facts["certificate"] = certificate.headline()
    if learner.columns_ is not None:
        facts["columns"] = ", ".join(learner.columns_.names)
    encoder = None if learner.columns_ is None else learner.columns_.encoder
    notes = [] if encoder is None else encoder.notes()
    words = f"{n:,} labels of {learner.pool.n_rows:,} rows, asked for by {learner.strategy.name}"
    return card("FairActiveLearner", words, facts, chart, ("What was done to the columns", notes))


def _limits(fitted: HistoryRow) -> str:
    """The violation's interval; files of version 0.1.0 have none, and not every oracle estimates one."""
    if "violation_low" not in fitted:
        return ""
    low, high, level = (fitted[name] for name in ("violation_low", "violation_high", "level"))
    return f" ({low:.3f} to {high:.3f}, level {level:g})"


def query_card(query: Query) -> str:
    """Return which rows are asked for, and why."""
    shown = ", ".join(str(row) for row in query.indices[:12]) + (", ..." if len(query) > 12 else "")
    known = query.propensities[~np.isnan(query.propensities)]
    facts = {"rows": shown}
    if len(known):
        facts["probability of each draw"] = f"{known.min():.2g} to {known.max():.2g}"
    chart = bar_chart(dict(Counter(query.components).most_common()), "rows by component")
    return card(f"Batch {query.batch_id}", f"{len(query):,} rows to label", facts, chart)
