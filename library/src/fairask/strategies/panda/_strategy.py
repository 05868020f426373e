"""PANDA's settings, and the learned policy as a distribution over the pool."""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fairask.checks import check_choice, check_count, check_number
from fairask.errors import NotConvergedWarning
from fairask.metrics import Float, Metric, check_metric
from fairask.oracle import FairFit, Labelled
from fairask.pools import Cells, Pool
from fairask.sampling import Proposal
from fairask.strategies._base import InMemoryStrategy
from fairask.strategies._plain import numeric

#: Trained policies by data and settings, which determine the policy: the cache only saves time.
_POLICIES: OrderedDict[bytes, Any] = OrderedDict()
_KEPT = 8


class PandaNotConverged(RuntimeError):
    """PANDA's meta-training did not converge, so there is no policy to choose rows with."""


@dataclass(frozen=True)
class Panda(InMemoryStrategy):
    """Sample rows from a transformer policy trained on the pretraining labels. Needs ``fairask[panda]``.

    The policy gives each row of the pool a score that does not depend on the order of rows. Rows are drawn
    by Gumbel-top-B: without replacement, from the softmax of the scores. So drawn rows have exact
    propensities, and several small batches have the same distribution as one large batch.

    Parameters
    ----------
    pretrain : int
        Labels drawn uniformly first, on which the policy is trained.
    rho : float
        Largest disparity on the validation part of an episode.
    metric : {"tprp", "fprp", "eo", "dp"}
        Which rates the disparity compares.
    iterations : int
        Meta-training episodes.
    learning_rate : float
        Learning rate of Adam, for the policy and for the proximal step.
    layers, width, heads, feedforward : int
        Shape of the transformer encoder.
    temperature, temperature_floor : float
        Start and least value of the learned temperature of the relaxation.
    pick_share : float
        Rows picked in an episode, as a share of its pool.
    inner_steps, inner_rate : int, float
        Gradient steps of the inner logistic regression and their size.
    attended : int
        Largest number of rows that the policy sees together; larger pools are scored in random parts.
    seed : int
        Seed of the meta-training. It is a setting so that every batch of a run uses the same policy.
    unconverged : {"raise", "use"}
        What to do if the training does not converge: raise ``PandaNotConverged``, or use the policy anyway
        with a ``NotConvergedWarning``. The strategy never falls back to another method.

    Examples
    --------
    >>> Panda(pretrain=50).rho
    0.04
    """

    pretrain: int = 25
    rho: float = 0.04
    metric: Metric = "tprp"
    iterations: int = 300
    learning_rate: float = 1e-3
    layers: int = 1
    width: int = 32
    heads: int = 4
    feedforward: int = 64
    temperature: float = 1.0
    temperature_floor: float = 0.1
    pick_share: float = 0.5
    inner_steps: int = 10
    inner_rate: float = 0.5
    attended: int = 1000
    seed: int = 0
    unconverged: str = "raise"
    name: ClassVar[str] = "panda"

    def __post_init__(self) -> None:
        from fairask.strategies.panda._train import check_torch

        check_torch()  # before a label is paid for
        check_count(self.pretrain, "pretrain", least=4)
        check_metric(self.metric)
        check_choice(self.unconverged, "unconverged", ("raise", "use"))
        for name in ("iterations", "layers", "width", "heads", "feedforward", "inner_steps", "attended"):
            check_count(vars(self)[name], name)
        check_count(self.seed, "seed", least=0)
        for name in ("rho", "pick_share"):
            check_number(vars(self)[name], name, 0, 1)
        for name in ("learning_rate", "temperature", "temperature_floor", "inner_rate"):
            if not isinstance(value := vars(self)[name], (int, float)) or not 0 < value < np.inf:
                raise ValueError(f"{name}={value!r} must be a positive number")
        if self.width % self.heads:
            raise ValueError(f"width={self.width} must be a multiple of heads={self.heads}")

    def choose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`Strategy`.

        Raises
        ------
        PandaNotConverged
            If the meta-training did not converge, unless ``unconverged="use"`` and there is a policy.
        ImportError
            If PyTorch is missing.
        """
        policy = self._policy(labelled, pool.n_groups)
        logits = self._logits(policy, numeric(pool.take(pool.rows), self.name), rng)
        chance = np.exp(logits - logits.max())
        # Every row has a score of its own: one cell per row.
        cells = Cells.one_per_row(pool.rows, pool.groups[pool.rows])
        info = {
            "panda_loss": policy.loss,
            "panda_uniform_loss": policy.uniform_loss,
            "panda_untrained_loss": policy.untrained_loss,
            "panda_disparity": policy.disparity,
            "panda_uniform_disparity": policy.uniform_disparity,
            "panda_met": policy.met,
        }
        return Proposal(cells, {"policy": chance / chance.sum()}, {"policy": 1.0}, info=info)

    def _policy(self, labelled: Labelled, n_groups: int) -> Any:
        from fairask.strategies.panda._train import train

        X = numeric(labelled.X, self.name)[: self.pretrain]
        y, groups = labelled.y[: self.pretrain], labelled.groups[: self.pretrain]
        digest = hashlib.blake2b(repr((replace(self, unconverged="use"), n_groups)).encode(), digest_size=16)
        digest.update(X.tobytes() + y.tobytes() + groups.tobytes())
        key = digest.digest()
        if key not in _POLICIES:
            _POLICIES[key] = train(self, X, y, groups, n_groups)
            if len(_POLICIES) > _KEPT:
                _POLICIES.popitem(last=False)
        policy = _POLICIES[key]
        if policy.failure is not None:
            message = f"PANDA did not converge on {self.pretrain} labels: {policy.failure}"
            if self.unconverged == "raise" or not policy.finite:
                raise PandaNotConverged(message)
            warnings.warn(message, NotConvergedWarning, stacklevel=3)
        return policy

    def _logits(self, policy: Any, X: Float, rng: np.random.Generator) -> Float:
        logits = np.empty(len(X))
        order = rng.permutation(len(X))
        for part in np.array_split(order, -(-len(X) // self.attended)):
            logits[part] = policy.score(X[part])
        return logits
