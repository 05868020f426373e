"""A small, partly labelled pool for testing strategies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairask.learner import FairActiveLearner
from fairask.metrics import Float, Int
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies import Labelled, Strategy


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
    pool = Pool(learner.X, learner.pool.groups_of(np.arange(n)), len(learner.groups_), left)
    return StrategyProblem(learner, learner.labelled(), pool, truth)


def row_probabilities(proposal: Proposal) -> Float:
    """Return the probability of each available row in the first draw.

    Examples
    --------
    >>> from fairask.strategies import Passive
    >>> row_probabilities(make_problem(Passive(), n_left=4).propose(Passive())).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    per_cell = sum(proposal.shares[name] * density for name, density in proposal.components.items())
    return np.asarray(np.asarray(per_cell, dtype=np.float64)[proposal.cells.cell])
