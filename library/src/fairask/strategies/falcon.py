"""Falcon: a bandit chooses how uncertain the asked rows of the worst group are (Tae et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fairask.checks import check_count, check_number
from fairask.metrics import Float
from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies.baseline import Disparity, fit_plain, numeric, replay, scores
from fairask.strategies.strategy import PretrainedStrategy


@dataclass(frozen=True)
class _Bandit:
    """State of the bandit after a label."""

    log_weights: Float  #: EXP3's, one per policy
    trained: NDArray[np.bool_]  #: whether each label trains the model; False for postponed ones
    beta: Float
    gap: float
    behind: NDArray[np.bool_]  #: groups whose TPR is lowest


@dataclass(frozen=True)
class Falcon(PretrainedStrategy):
    """Ask for likely positives of the group with the lowest TPR; EXP3 learns how likely they should be.

    Policy r ranks the rows of that group by ``|p(x) - (1 - r)|``, where p comes from a plain logistic
    regression. A small r asks for rows that are almost surely positive. A large r asks for rows that tell
    the model more and are often negative. A label that is not positive, or of another group, is postponed:
    it costs a label, and Falcon's own model is not trained on it. The reward of a policy is the decrease of
    the TPR difference on the pretraining labels.

    A strategy keeps no state, so the bandit is computed again from the labelled rows in their order. Each
    label after the pretraining is one round. Its policy is the one whose ``1 - r`` was nearest to p.

    Parameters
    ----------
    policies : tuple of float
        The values of r.
    pretrain : int
        Labels drawn uniformly first. The reward is measured on them.
    gamma : float
        EXP3's share of exploration.

    Examples
    --------
    >>> Falcon().policies
    (0.3, 0.4, 0.5, 0.6, 0.7)
    """

    policies: tuple[float, ...] = (0.3, 0.4, 0.5, 0.6, 0.7)
    pretrain: int = 25
    gamma: float = 0.1
    name: ClassVar[str] = "falcon"

    def __post_init__(self) -> None:
        if not isinstance(self.policies, (tuple, list)) or not self.policies:
            raise ValueError(f"policies={self.policies!r} must be a tuple of numbers in [0, 1], at least one")
        object.__setattr__(self, "policies", tuple(self.policies))  # JSON gives lists back
        for r in self.policies:
            check_number(r, "policies", 0, 1)
        check_count(self.pretrain, "pretrain")
        check_number(self.gamma, "gamma", 0, 1)

    def choose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`PretrainedStrategy`."""
        labelled = replace(labelled, X=numeric(labelled.X, self.name))
        bandit = self._bandit(labelled, pool.n_groups)
        r = self.policies[rng.choice(len(self.policies), p=self._chances(bandit.log_weights))]
        away = np.abs(expit(scores(pool, bandit.beta)) - (1.0 - r))
        other = ~bandit.behind[pool.groups[pool.rows]]
        # Rows of other groups come last: they are asked for only when no row of the group is left.
        order = np.lexsort((rng.random(len(pool)), away, other))
        return Proposal(pool.everything(), ranking=pool.rows[order], info={"policy": r})

    def _chances(self, log_weights: Float) -> Float:
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray((1.0 - self.gamma) * weights / weights.sum() + self.gamma / len(weights))

    def _bandit(self, labelled: Labelled, n_groups: int) -> _Bandit:
        X, y, groups = labelled.X, labelled.y, labelled.groups
        first = self.pretrain
        unfairness = Disparity(X[:first], y[:first], groups[:first], n_groups)
        aim = 1.0 - np.array(self.policies)

        def fitted(log_weights: Float, trained: NDArray[np.bool_]) -> _Bandit:
            rows = np.flatnonzero(trained)
            beta = fit_plain(X[rows], y[rows]).beta
            rates = unfairness.rates(beta[None])[0, 0]
            rates = np.where(
                np.isnan(rates), -1.0, rates
            )  # a group without a known positive counts as the lowest
            behind = rates <= rates.min() + 1e-12
            return _Bandit(log_weights, trained, beta, float(unfairness(beta[None])[0]), behind)

        def start() -> _Bandit:
            return fitted(np.zeros(len(self.policies)), np.ones(first, dtype=bool))

        def step(now: _Bandit, i: int) -> _Bandit:
            if not (y[i] == 1.0 and now.behind[groups[i]]):
                return replace(now, trained=np.append(now.trained, False))
            after = fitted(now.log_weights, np.append(now.trained, True))
            played = int(np.abs(expit(X[i] @ now.beta[:-1] + now.beta[-1]) - aim).argmin())
            reward = max(now.gap - after.gap, 0.0)
            log_weights = now.log_weights.copy()
            log_weights[played] += (
                self.gamma * reward / self._chances(now.log_weights)[played] / len(self.policies)
            )
            return replace(after, log_weights=log_weights)

        return replay(labelled, first, f"{self!r} {n_groups}", start, step)
