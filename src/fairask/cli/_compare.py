"""Running methods on a labelled table, trials in parallel; results do not depend on how many at a time."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.cli._run import audit_model, record_run
from fairask.errors import FairaskWarning, NoDisagreementWarning
from fairask.learner import FairActiveLearner, evaluate, simulate
from fairask.learner.audit import decision_probability
from fairask.metrics import Metric, group_rates
from fairask.plotting import SamplingDisplay
from fairask.pools import Pool
from fairask.report import Method, Run, Snapshot
from fairask.sampling import Proposal
from fairask.stopping import StoppingRule
from fairask.strategies import Strategy

__all__ = ["Setup", "compare", "pool_size", "run_trial", "split"]

TRAIN_SHARE = 0.75


@dataclass(frozen=True, eq=False)
class Setup:
    """What all runs of a comparison share.

    Attributes
    ----------
    X, y, groups : ndarray
        The whole table; ``y`` is 0 or 1.
    metric, tolerance, budget, batch, seed
        As in the learner.
    baseline_budget : int
        Labels for passive sampling, to see how many more it needs.
    audited, audit : str, int
        The method whose model of the first run is audited, and the labels for that, besides the budget.
    blind : bool
        Whether calibrated models must decide without the group; the paper's never read it by itself.
    stop : StoppingRule, optional
        A rule that does not end the runs, but whose first moment is noted.
    stratify : bool
        Split each (group, label) cell alike, for small tables; the paper splits all rows at random.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    groups: NDArray[np.str_]
    metric: Metric
    tolerance: float
    budget: int
    batch: int
    baseline_budget: int
    seed: int
    stratify: bool = False
    audited: str = ""
    audit: int = 0
    blind: bool = False
    stop: StoppingRule | None = None

    def reach(self, method: Method) -> int:
        """Labels of a run: the baseline may go past the budget."""
        return max(self.budget, self.baseline_budget) if method.key == "passive" else self.budget


@dataclass
class _Recorder:
    """A strategy that remembers its last proposal, for the picture of the sampling distributions."""

    inner: Strategy
    last: tuple[int, Pool, Proposal] | None = None
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.inner.name

    def propose(self, labelled: Any, pool: Pool, fit: Any, rng: np.random.Generator) -> Proposal:
        proposal = self.inner.propose(labelled, pool, fit, rng)
        self.last = (len(labelled), pool, proposal)
        return proposal


def pool_size(rows: int) -> int:
    """Rows of the pool (the rest are test rows) in a table of ``rows``.

    Examples
    --------
    >>> pool_size(1000)
    750
    """
    return int(TRAIN_SHARE * rows)


def split(setup: Setup, trial: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pool and test rows of a trial; they depend on the seed and the trial alone."""
    rng = np.random.default_rng([setup.seed, trial])
    order = rng.permutation(len(setup.y))
    size = pool_size(len(order))
    if setup.stratify:
        _, cell = np.unique(np.char.add(setup.groups.astype(str), setup.y.astype(str)), return_inverse=True)
        # Rank within the cell as a share of the cell: taking the smallest ranks takes every cell alike.
        rank = np.empty(len(order))
        for c in range(cell.max() + 1):
            members = order[cell[order] == c]
            rank[members] = (np.arange(len(members)) + 0.5) / len(members)
        order = order[np.argsort(rank[order], kind="stable")]
    return order[:size], order[size:]


def run_trial(setup: Setup, method: Method, trial: int, board: Any = None) -> Run:
    """Run one method once. ``board`` receives (labels, accuracy, violation) after every batch."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # More BLAS threads than one would fight over the cores, and could change the last digits.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairaskWarning)
        run = _run(setup, method, trial, board)
    silent = sum(issubclass(w.category, NoDisagreementWarning) for w in caught)
    if silent:
        run.warnings[NoDisagreementWarning.__name__] = silent
    return run


def _run(setup: Setup, method: Method, trial: int, board: Any) -> Run:
    train, test = split(setup, trial)
    X, y, groups = setup.X[train], setup.y[train], setup.groups[train]
    held_out = (setup.X[test], setup.y[test], setup.groups[test])
    # By name, so that the profile chooses its settings; the recorder wraps the strategy that came of it.
    record = trial == 0 and method.key == "fare"
    learner = FairActiveLearner(
        X,
        groups,
        strategy=method.strategy,
        strategy_params=dict(method.params),
        metric=setup.metric,
        tolerance=setup.tolerance,
        profile=method.profile,
        blind=setup.blind and method.profile == "calibrated",
        risk_weights=method.weights,
        fairness_weights=method.weights or "ips",
        batch_size=setup.batch,
        # All methods of a trial share its seed, and so their first, uniform batch.
        random_state=int(np.random.SeedSequence([setup.seed, trial]).generate_state(1)[0]),
    )
    recorder = _Recorder(learner.strategy)
    if record:
        learner.strategy = recorder
    scores: list[tuple[int, float, float]] = []
    stopped: list[int] = []

    def score(learner: FairActiveLearner) -> None:
        accuracy, violation = evaluate(learner.current_model(), *held_out, setup.metric)
        scores.append((len(learner.labelled_indices_), accuracy, violation))
        if setup.stop is not None and not stopped and setup.stop.reason(learner) is not None:
            stopped.append(scores[-1][0])
        if board is not None:
            board[:] = scores[-1]

    simulate(learner, y, setup.budget, callback=score)
    names = sorted(set(setup.groups.tolist()))
    spend: dict[str, Counter[str]] = {name: Counter() for name in names}
    for row, component in zip(learner.labelled_indices_, learner.components_, strict=True):
        spend[str(groups[row])][component] += 1
    rates = group_rates(
        held_out[1], decision_probability(learner.current_model(), held_out[0], held_out[2]), held_out[2]
    ).to_dict()
    snapshot = _snapshot(learner, recorder) if record else None
    certificate = None
    if setup.audit and trial == 0 and method.key == setup.audited:
        certificate = audit_model(learner, setup.audit, y.__getitem__)
    if setup.reach(method) > setup.budget:
        simulate(learner, y, setup.reach(method), callback=score)
    return record_run(
        method,
        trial,
        learner,
        scores,
        spend,
        rates,
        snapshot=snapshot,
        certificate=certificate,
        stopped=stopped[0] if stopped else None,
    )


def _snapshot(learner: FairActiveLearner, recorder: _Recorder) -> Snapshot | None:
    if recorder.last is None:
        return None  # the only batch was the uniform one
    before, pool, proposal = recorder.last
    rows, code = proposal.cells.unfold()
    drawn: dict[str, list[int]] = {name: [] for name in proposal.components}
    for row, component in zip(learner.labelled_indices_[before:], learner.components_[before:], strict=True):
        if component in drawn:
            drawn[component].append(int(np.searchsorted(rows, row)))
    probabilities = {name: per_row[code] for name, per_row in proposal.components.items()}
    display = SamplingDisplay.from_probabilities(pool.take(rows), probabilities, drawn)
    return Snapshot(before, display.points, display.ratios, display.drawn)


def compare(
    setup: Setup, methods: Sequence[Method], trials: int, jobs: int, board: Any = None
) -> Iterator[Run]:
    """Yield runs as they finish; ``board[method, trial]`` follows them while they last.

    Examples
    --------
    >>> from fairask.cli._methods import METHODS
    >>> from fairask.datasets import load
    >>> d = load("german")
    >>> setup = Setup(d.X, d.y, d.groups, "tprp", 0.1, 100, 50, 100, seed=0)
    >>> [run.labels.tolist() for run in compare(setup, [METHODS["passive"]], 2, 1)]
    [[50, 100], [50, 100]]
    """
    from joblib import Parallel, delayed

    tasks = (
        delayed(run_trial)(setup, method, trial, None if board is None else board[m, trial])
        for trial in range(trials)
        for m, method in enumerate(methods)
    )
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks)
