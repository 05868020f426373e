"""Conformance checks for strategies of your own; the built-in ones pass the same checks.

Each check takes a strategy and raises AssertionError with a reason if it fails. The checks need no test
framework. With pytest, parametrize over :data:`STRATEGY_CHECKS`.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairask.errors import FairaskWarning
from fairask.experiment import simulate
from fairask.learner import FairActiveLearner
from fairask.metrics import Float, Int
from fairask.oracle import Labelled
from fairask.pools import Pool
from fairask.sampling import Proposal, draw
from fairask.strategies import Strategy

__all__ = ["STRATEGY_CHECKS", "check_strategy"]

_DRAWS = 3000


@dataclass(frozen=True)
class StrategyProblem:
    """The arguments of ``propose``."""

    learner: FairActiveLearner
    labelled: Labelled
    pool: Pool
    truth: Int

    def propose(self, strategy: Strategy, seed: int = 0) -> Proposal:
        """Return one proposal of ``strategy``, with a new random generator."""
        rng = np.random.default_rng(seed)
        return strategy.propose(self.labelled, self.pool, self.learner.fair_fit(), rng)


def make_problem(
    strategy: Strategy,
    *,
    n_labels: int = 40,
    n_left: int = 60,
    n_groups: int = 2,
    names: tuple[str, ...] = ("a", "b", "c"),
    one_class: bool = False,
) -> StrategyProblem:
    """Draw a pool with ``n_labels`` labelled and ``n_left`` available rows.

    Parameters
    ----------
    strategy : Strategy
    n_labels, n_left, n_groups : int
    names : tuple of str
        Names of the groups; another order gives the groups other codes.
    one_class : bool
        Whether all labels so far are 0.

    Examples
    --------
    >>> from fairask.strategies import Passive
    >>> problem = make_problem(Passive(), n_labels=5, n_left=3)
    >>> len(problem.labelled), len(problem.pool)
    (5, 3)
    """
    rng = np.random.default_rng(7)
    n = n_labels + n_left
    group = rng.integers(n_groups, size=n)
    group[:n_groups] = np.arange(n_groups)
    X = rng.normal(size=(n, 3)) + 0.5 * group[:, None]
    truth = (X[:, 0] + (group - 0.5) * X[:, 1] + rng.normal(size=n) > 0.3).astype(np.int64)
    if one_class:
        truth[:] = 0
    learner = FairActiveLearner(
        X,
        np.array(names)[group],
        strategy=strategy,
        estimator="linear",
        tolerance=1.0,
        margin=None,
        risk_weights="none",
        fairness_weights="none",
        random_state=0,
    )
    query = learner.ask(n_labels)  # the first batch is uniform, whatever the strategy
    learner.tell(query.indices, truth[query.indices])
    left = np.ones(n, dtype=bool)
    left[query.indices] = False
    pool = Pool(learner.pool.X, learner.pool.groups_of(np.arange(n)), len(learner.groups_), left)
    return StrategyProblem(learner, learner.labelled(), pool, truth)


def row_probabilities(proposal: Proposal) -> Float:
    """Return the probability of each available row in the first draw.

    >>> from fairask.strategies import Passive
    >>> row_probabilities(make_problem(Passive(), n_left=4).propose(Passive())).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    per_cell = sum(proposal.shares[name] * density for name, density in proposal.components.items())
    return np.asarray(np.asarray(per_cell, dtype=np.float64)[proposal.cells.cell])


def _require(condition: object, reason: str) -> None:
    # Not an assert statement, because python -O removes those.
    if not condition:
        raise AssertionError(reason)


def _same(a: Proposal, b: Proposal, tolerance: float = 0.0) -> bool:
    if (a.ranking is None) != (b.ranking is None):
        return False
    if a.ranking is not None:
        return np.array_equal(a.ranked(int(a.cells.counts.sum())), b.ranked(int(b.cells.counts.sum())))
    return bool(np.allclose(row_probabilities(a), row_probabilities(b), rtol=tolerance, atol=tolerance))


def _valid(proposal: Proposal, rows: Int) -> None:
    _require(np.array_equal(proposal.cells.rows, rows), "the cells must hold the pool's available rows")
    if proposal.ranking is not None:
        _require(
            np.array_equal(np.sort(proposal.ranked(len(rows))), rows),
            "the ranking must name every available row once and no other",
        )
        return
    _require(abs(sum(proposal.shares.values()) - 1.0) < 1e-9, f"shares {proposal.shares} must sum to 1")
    for name, density in proposal.components.items():
        share = proposal.shares[name]
        _require(share >= 0, f"the share of component {name!r} is {share}")
        _require(
            np.isfinite(density).all(), f"component {name!r} has a probability that is not a finite number"
        )
        _require((density >= 0).all(), f"component {name!r} has a negative probability")
        total = float(density @ proposal.cells.counts)
        _require(abs(total - 1.0) < 1e-6, f"component {name!r} sums to {total} over the rows")


def has_a_name(strategy: Strategy) -> None:
    """The name is a non-empty string."""
    _require(isinstance(strategy.name, str), "strategy.name must be a string")
    _require(strategy.name, "strategy.name must not be empty")


def proposes_a_distribution(strategy: Strategy) -> None:
    """A proposal has probabilities over the available rows, or a ranking of them."""
    problem = make_problem(strategy)
    _valid(problem.propose(strategy), problem.pool.rows)


def same_seed_same_proposal(strategy: Strategy) -> None:
    """The same arguments give the same proposal, whatever was proposed before."""
    problem, other = make_problem(strategy), make_problem(strategy, n_labels=45, n_left=20)
    first = problem.propose(strategy, seed=3)
    other.propose(strategy, seed=4)
    _require(_same(first, problem.propose(strategy, seed=3)), "the same arguments gave another proposal")


def leaves_its_arguments_alone(strategy: Strategy) -> None:
    """``propose`` changes neither the labelled rows, nor the pool, nor the strategy."""
    problem = make_problem(strategy)
    labelled, pool = problem.labelled, problem.pool
    names = ("X", "y", "groups", "risk_weights", "fairness_weights", "indices")
    before = [np.array(vars(labelled)[n]) for n in names]
    before += [np.array(pool.X), np.array(pool.groups), np.array(pool.rows)]
    settings = repr(strategy)
    problem.propose(strategy)
    after = [vars(labelled)[n] for n in names] + [pool.X, pool.groups, pool.rows]
    _require(
        all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)),
        "propose() changed the arrays it was given",
    )
    _require(repr(strategy) == settings, "propose() changed the strategy")


def is_immutable(strategy: Strategy) -> None:
    """Settings cannot be set after the strategy is made."""
    try:
        setattr(strategy, "name", "changed")  # noqa: B010
    except AttributeError:
        return
    raise AssertionError("a strategy must be immutable, e.g. a frozen dataclass")


def group_names_do_not_matter(strategy: Strategy) -> None:
    """Other names, and so other codes, of the groups give the same proposal."""
    one = make_problem(strategy, names=("a", "b", "c"))
    two = make_problem(strategy, names=("z", "b", "c"))
    _require(
        not np.array_equal(one.pool.groups, two.pool.groups),
        "internal error: both problems have the same group codes",
    )
    _require(
        _same(one.propose(strategy), two.propose(strategy), 1e-6), "renamed groups gave another proposal"
    )


def three_groups(strategy: Strategy) -> None:
    """Three groups are accepted."""
    problem = make_problem(strategy, n_groups=3)
    _valid(problem.propose(strategy), problem.pool.rows)


def tiny_pools(strategy: Strategy) -> None:
    """A pool with one, two or three available rows is drawn to its end."""
    for n_left in (1, 2, 3):
        problem = make_problem(strategy, n_left=n_left)
        proposal = problem.propose(strategy)
        _valid(proposal, problem.pool.rows)
        drawn = draw(proposal, n_left, np.random.default_rng(0)).indices
        _require(
            np.array_equal(np.sort(drawn), problem.pool.rows), "the last rows of the pool were not drawn"
        )


def few_labels_of_one_class(strategy: Strategy) -> None:
    """One label, and 40 labels of the same class, are accepted."""
    for n_labels, one_class in ((1, False), (40, True)):
        problem = make_problem(strategy, n_labels=n_labels, one_class=one_class)
        _valid(problem.propose(strategy), problem.pool.rows)


def propensities_are_exact(strategy: Strategy) -> None:
    """Pairs of rows are drawn with the frequency of their propensities; ranked rows have no propensity."""
    problem = make_problem(strategy, n_left=5)
    proposal = problem.propose(strategy)
    rng = np.random.default_rng(1)
    seen: Counter[tuple[int, ...]] = Counter()
    chance: dict[tuple[int, ...], float] = {}
    for _ in range(_DRAWS):
        draws = draw(proposal, 2, rng)
        if proposal.ranking is not None:
            _require(np.isnan(draws.propensities).all(), "ranked rows must have no propensity")
            return
        pair = tuple(draws.indices.tolist())
        seen[pair] += 1
        chance[pair] = float(np.prod(draws.propensities))
    for pair, q in chance.items():
        error = 5.0 * np.sqrt(q * (1.0 - q) / _DRAWS) + 1.0 / _DRAWS
        _require(
            abs(seen[pair] / _DRAWS - q) < error,
            f"rows {pair} were drawn in {seen[pair] / _DRAWS:.4f} of draws, and their propensity is {q:.4f}",
        )


def works_in_a_learner(strategy: Strategy) -> None:
    """A learner asks for every row of the pool once; the same seed gives the same rows."""
    runs = []
    for _ in range(2):
        start = make_problem(strategy, n_labels=30, n_left=15)
        learner = FairActiveLearner(
            start.learner.pool.X,
            start.pool.groups,
            strategy=strategy,
            batch_size=30,
            random_state=5,
        )
        query = learner.ask()
        learner.tell(query.indices, start.truth[query.indices])
        learner.batch_size = 8
        history = simulate(learner, start.truth, 45)
        _require(history["labels"][-1] == 45, "the learner did not spend its budget")
        runs.append(learner.labelled_indices_)
    _require(sorted(runs[0]) == list(range(45)), "rows were asked for twice or never")
    _require(np.array_equal(runs[0], runs[1]), "the same seed gave other rows")


def settings_are_checked(strategy: Strategy) -> None:
    """A wrong setting raises an error that names the setting."""
    settings: Any = strategy
    for field in dataclasses.fields(settings) if dataclasses.is_dataclass(settings) else ():
        value = vars(strategy)[field.name]
        wrong: Any = "no such thing" if isinstance(value, str) else float("nan")
        try:
            made = dataclasses.replace(settings, **{field.name: wrong})
        except (TypeError, ValueError) as error:
            _require(
                field.name in str(error),
                f"the error for {field.name}={wrong!r} does not name the setting: {error}",
            )
        else:
            raise AssertionError(f"{field.name}={wrong!r} was accepted: {made}")


#: The checks by name.
STRATEGY_CHECKS: dict[str, Callable[[Strategy], None]] = {
    check.__name__: check
    for check in (
        has_a_name,
        proposes_a_distribution,
        same_seed_same_proposal,
        leaves_its_arguments_alone,
        is_immutable,
        group_names_do_not_matter,
        three_groups,
        tiny_pools,
        few_labels_of_one_class,
        propensities_are_exact,
        works_in_a_learner,
        settings_are_checked,
    )
}


def check_strategy(strategy: Strategy) -> None:
    """Run every conformance check on a strategy; raise AssertionError naming the first that fails.

    The test pools have 40 labels, up to 60 available rows and 3 features. Choose settings with which the
    strategy needs fewer than 40 labels for its pretraining.

    Examples
    --------
    >>> from fairask.strategies import Passive
    >>> check_strategy(Passive())

    A strategy that always ranks row 0 alone:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Stubborn:
    ...     name = "stubborn"
    ...     def propose(self, labelled, pool, fit, rng):
    ...         return Proposal(pool.everything(), ranking=np.array([0]))
    >>> check_strategy(Stubborn())
    Traceback (most recent call last):
        ...
    AssertionError: proposes_a_distribution: the ranking must name every available row once and no other
    """
    for name, check in STRATEGY_CHECKS.items():
        with warnings.catch_warnings():
            # Warnings on such a small pool are not failures.
            warnings.simplefilter("ignore", FairaskWarning)
            try:
                check(strategy)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error
