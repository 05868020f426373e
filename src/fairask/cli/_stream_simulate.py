"""Methods compared on a labelled table that is streamed: a round is a pass, and only drawn rows are held."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.cli._errors import WrongUse
from fairask.cli._parquet import opened_parquet
from fairask.cli._run import audit_model, record_run
from fairask.errors import FairaskWarning, NoDisagreementWarning
from fairask.learner import FairActiveLearner, evaluate
from fairask.learner.audit import decision_probability
from fairask.metrics import Metric, group_rates
from fairask.pools import Encoder, StreamedPool
from fairask.pools.groups import GroupColumns
from fairask.pools.open import Look
from fairask.pools.runners import ProgressCallback, Threads
from fairask.pools.survey import is_number, is_text
from fairask.report import Method, Run
from fairask.stopping import StoppingRule
from fairask.tables import TableProblem
from fairask.tables.columns import texts
from fairask.tables.prepare import SMALLEST_CELL, _check_groups, _columns_hint, _positive

__all__ = ["STREAMED", "StreamedTable", "check_methods", "open_labelled", "run_streamed"]

#: Strategies that never need all rows at once.
STREAMED = ("fare", "passive", "group_balanced", "uncertainty")
#: Most rows that accuracy and violation are measured on; more would not change their third digit.
MOST_TEST = 20_000


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A labelled table where it is."""

    pool: StreamedPool
    label: str
    positive: str
    shares: dict[str, float]
    base_rate: float
    notes: list[str]
    digest: str

    def labels(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """1 where the label is positive."""
        found = texts(self.pool.table(rows, [self.label]).column(self.label))
        return np.array([value == self.positive for value in found], dtype=np.int64)

    def groups(self, rows: NDArray[np.int64]) -> NDArray[np.str_]:
        """Groups, as text."""
        names = np.array([str(value) for value in self.pool.group_values])
        return np.asarray(names[self.pool.groups_of(rows)])

    @property
    def test_rows(self) -> int:
        """Rows kept for testing in every run."""
        return min(self.pool.n_rows // 4, MOST_TEST)


def open_labelled(
    path: str,
    *,
    label: str,
    protected: str,
    positive: str | None,
    drop: Sequence[str],
    exclude_protected: bool,
    progress: ProgressCallback | None = None,
) -> StreamedTable:
    """Look through a table once: its features, groups and labels."""
    table = opened_parquet(path)
    names = list(table.schema.names)
    drop = [d for given in drop for d in ([given] if given in names else given.split(","))]
    for option, name in (("label", label), ("protected", protected), *(("drop", d) for d in drop)):
        if name not in names:
            raise TableProblem(f"--{option}: no column {name!r}", _columns_hint(name, names))
    if label == protected:
        raise TableProblem(f"--label and --protected are both {label!r}", "Name two different columns")
    left_out = {label, *drop, *([protected] if exclude_protected else [])}
    columns = [name for name in names if name not in left_out]
    for name in columns:
        kind = table.schema.field(name).type
        if not (is_number(kind) or is_text(kind)):
            raise TableProblem(f"column {name!r} has type {kind}", f"Leave it out: --drop {name}")
    runner = Threads()
    try:
        found, sizes = Look(runner, table, progress).all(columns, [protected, label])
    except ValueError as error:
        words = str(error).replace("protected column", "column")
        raise TableProblem(words, "Leave it out with --drop, or mend the table") from error
    shares: Counter[Any] = Counter()
    for (group, _), rows in found.groups.items():
        shares[group] += rows
    _check_groups(protected, {str(group) for group in shares})
    notes: list[str] = []
    value = {answer: _text(answer) for _, answer in found.groups}
    chosen = _positive(label, list(value.values()), positive, notes)
    cells: Counter[tuple[Any, bool]] = Counter()
    for (group, answer), rows in found.groups.items():
        cells[group, value[answer] == chosen] += rows
    for group in shares:
        for one in (True, False):
            if cells[group, one] < SMALLEST_CELL:
                what = f"label {chosen!r}" if one else f"a label other than {chosen!r}"
                raise TableProblem(
                    f"group {str(group)!r} of {protected!r} has {cells[group, one]} rows with {what}",
                    f"{SMALLEST_CELL} or more are needed, to train and to test: merge groups or add rows",
                )
    encoder = Encoder.fit(found, columns, f"all {found.n_rows:,} rows")
    groups = GroupColumns.of([protected], shares)
    pool = StreamedPool(table, sizes, runner, encoder, groups, progress)
    n = pool.n_rows
    notes.append("the table was streamed: missing numbers are means, missing texts have no level")
    positives = sum(rows for (_, one), rows in cells.items() if one)
    return StreamedTable(
        pool,
        label,
        chosen,
        {str(group): rows / n for group, rows in sorted(shares.items(), key=lambda item: str(item[0]))},
        positives / n,
        notes,
        table.digest,
    )


def _text(value: Any) -> str:
    import pyarrow as pa

    (text,) = texts(pa.chunked_array([[value]]))
    return str(text)


def check_methods(methods: Sequence[Method]) -> None:
    """Raise for a method that must see all rows at once."""
    for method in methods:
        if method.strategy not in STREAMED:
            raise WrongUse(
                f"{method.label} must see all rows at once, and the table is streamed",
                f"Choose among {', '.join(STREAMED)}, or use --no-stream",
            )


def run_streamed(
    table: StreamedTable,
    methods: Sequence[Method],
    *,
    trials: int,
    seed: int,
    metric: Metric,
    tolerance: float,
    budget: int,
    batch: int,
    reach: dict[str, int],
    audited: str,
    audit: int,
    blind: bool = False,
    stop: StoppingRule | None = None,
) -> Iterator[Run]:
    """Yield the runs, one after the other: a pass uses all cores by itself."""
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        test = np.sort(rng.choice(table.pool.n_rows, table.test_rows, replace=False))
        held_out = table.pool.take(test), table.labels(test), table.groups(test)
        for method in methods:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", FairaskWarning)
                learner = FairActiveLearner(
                    table.pool.excluding(test),
                    strategy=method.strategy,
                    strategy_params=dict(method.params),
                    metric=metric,
                    tolerance=tolerance,
                    profile=method.profile,
                    blind=blind and method.profile == "calibrated",
                    risk_weights=method.weights,
                    fairness_weights=method.weights or "ips",
                    batch_size=batch,
                    random_state=int(np.random.SeedSequence([seed, trial]).generate_state(1)[0]),
                )
                wants_audit = bool(audit) and trial == 0 and method.key == audited
                wanted = audit * wants_audit
                goals = (budget, reach[method.key])
                run = _run(table, learner, held_out, method, trial, goals, wanted, stop)
            if silent := sum(issubclass(w.category, NoDisagreementWarning) for w in caught):
                run.warnings[NoDisagreementWarning.__name__] = silent
            yield run


def _run(
    table: StreamedTable,
    learner: FairActiveLearner,
    held_out: tuple[Any, Any, Any],
    method: Method,
    trial: int,
    goals: tuple[int, int],
    audit: int,
    stop: StoppingRule | None,
) -> Run:
    budget, stopped = goals[0], None
    scores: list[tuple[int, float, float]] = []
    spend, rates, certificate = {}, {}, None
    for goal in sorted(set(goals)):
        while (spent := len(learner.labelled_indices_)) < goal:
            rows = learner.ask(min(learner.batch_size, goal - spent)).indices
            learner.tell(rows, table.labels(rows))
            model = learner.current_model()
            scores.append((spent + len(rows), *evaluate(model, *held_out, learner.metric)))
            if stop is not None and stopped is None and stop.reason(learner) is not None:
                stopped = scores[-1][0]
        if goal != budget:
            continue
        spend = {str(group): Counter[str]() for group in learner.groups_}
        drawn = learner.labelled_indices_
        for group, component in zip(table.groups(drawn), learner.components_, strict=True):
            spend[str(group)][component] += 1
        said = decision_probability(learner.current_model(), held_out[0], held_out[2])
        rates = group_rates(held_out[1], said, held_out[2]).to_dict()
        if audit:
            certificate = audit_model(learner, audit, table.labels)
    return record_run(method, trial, learner, scores, spend, rates, certificate=certificate, stopped=stopped)
