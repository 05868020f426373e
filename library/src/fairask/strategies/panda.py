"""PANDA: a selection policy learned by simulating active learning (Sharaf, Daume III and Ni 2022).

Meta-training is forward-backward splitting through an unrolled inner learner, with PyTorch. An episode splits
the pretraining rows into a pool and a validation part. The policy picks rows of the pool. A logistic
regression is trained on them by a few gradient steps. The gradient of its validation loss updates the policy
(forward step). Then the policy moves to nearby parameters whose picks keep the disparity on the validation
part within rho (backward, proximal step).

The policy counts as converged if it is better than no training and keeps the constraint. Its picks are
compared with uniform picks and with picks of the policy before training, on new reshuffles of the pretraining
labels, with the same splits and the same noise. It is not enough that the policy does no harm: an untrained
policy may do no harm either.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import importlib.util
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from fairask.checks import check_choice, check_count, check_number, check_seed
from fairask.errors import MissingExtra, NotConvergedWarning
from fairask.metrics import METRICS, Float, Int, Metric, check_metric
from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.pools.memory import Cells
from fairask.sampling import Proposal
from fairask.strategies.baseline import numeric
from fairask.strategies.strategy import InMemoryStrategy

#: Trained policies by data and settings, which determine the policy: the cache only saves time.
_POLICIES: OrderedDict[bytes, Policy] = OrderedDict()
_KEPT = 8
#: New reshuffles on which a trained policy is judged.
EPISODES = 200
#: Standard errors by which the validation loss must be lower.
_CLEAR = 3.0
_PROXIMAL_STEPS = 10


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
        # Before a label is paid for. PyTorch is not imported yet, which takes seconds.
        if importlib.util.find_spec("torch") is None:
            raise MissingExtra("strategy 'panda' needs PyTorch", "panda")
        check_count(self.pretrain, "pretrain", least=4)
        check_metric(self.metric)
        check_choice(self.unconverged, "unconverged", ("raise", "use"))
        for name in ("iterations", "layers", "width", "heads", "feedforward", "inner_steps", "attended"):
            check_count(vars(self)[name], name)
        check_seed(self.seed, "seed")
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

    def _policy(self, labelled: Labelled, n_groups: int) -> Policy:
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

    def _logits(self, policy: Policy, X: Float, rng: np.random.Generator) -> Float:
        logits = np.empty(len(X))
        order = rng.permutation(len(X))
        for part in np.array_split(order, -(-len(X) // self.attended)):
            logits[part] = policy.score(X[part])
        return logits


@dataclass(frozen=True)
class Policy:
    """A trained policy and the results of its training.

    Attributes
    ----------
    score : callable
        Scores of a set of rows.
    loss, uniform_loss, untrained_loss : float
        Mean validation loss on new episodes after the policy's picks, after uniform picks, and after the
        picks of the policy before training.
    disparity, uniform_disparity : float
        Soft disparity on the same episodes, of rates averaged over episodes.
    met : float
        Share of the last fifth of the episodes in which the proximal step reached rho.
    failure : str or None
        Why the training counts as not converged.
    """

    score: Callable[[Float], Float]
    loss: float
    uniform_loss: float
    untrained_loss: float
    disparity: float
    uniform_disparity: float
    met: float
    failure: str | None

    @property
    def finite(self) -> bool:
        """Whether there is a policy at all."""
        return bool(np.isfinite(self.loss))


class _Episodes:
    """Splits of the pretraining rows, and the loss and rates of a classifier trained on picked rows."""

    def __init__(self, torch: Any, panda: Panda, X: Float, y: Float, groups: Int, n_groups: int) -> None:
        self.torch, self.panda, self.n_groups = torch, panda, n_groups
        self.X = torch.tensor(X, dtype=torch.float32)
        self.X1 = torch.cat([self.X, torch.ones(len(X), 1)], dim=1)
        self.y = torch.tensor(y, dtype=torch.float32)
        self.groups = torch.tensor(groups)
        self.conditions = METRICS[check_metric(panda.metric)]
        self.n_pool = min(max(len(y) // 2, 2), panda.attended)
        self.n_picks = min(max(round(panda.pick_share * self.n_pool), 1), self.n_pool - 1)

    def draw(self, generator: Any) -> tuple[Any, Any, Any]:
        """Rows of the pool and of the validation part, and the pool's Gumbel noise."""
        order = self.torch.randperm(len(self.y), generator=generator)
        uniform = self.torch.rand(self.n_pool, generator=generator).clamp(1e-9, 1 - 1e-7)
        half = len(self.y) // 2
        return order[: self.n_pool], order[half:], -(-uniform.log()).log()

    def pick(self, scores: Any, noise: Any, temperature: Any) -> Any:
        """Return a weight of 0 or 1 per row by Gumbel-top-B; gradients are those of a soft choice."""
        noisy = scores + noise
        ranked = noisy.sort(descending=True).values
        cut = (0.5 * (ranked[self.n_picks - 1] + ranked[self.n_picks])).detach()
        with self.torch.no_grad():
            steep = self.torch.sigmoid((noisy - cut) / temperature)
            steep = steep * (1.0 - steep) + 1e-12
        # The cut moves with the scores, so that the number of soft picks is constant. Adding a constant to
        # all scores must have no gradient, or training would only do that.
        moving = (steep * (noisy - noisy.detach())).sum() / steep.sum()
        soft = self.torch.sigmoid((noisy - cut - moving) / temperature)
        return (noisy > cut).float() + soft - soft.detach()

    def outcome(self, pool: Any, validation: Any, weight: Any) -> tuple[Any, Any]:
        """Validation loss and soft rates of the inner learner trained on weighted rows of the pool.

        Rates are by (condition, group), NaN where the validation part has no such row.
        """
        torch = self.torch
        X, y = self.X1[pool], self.y[pool]
        beta = torch.zeros(X.shape[1])
        for _ in range(self.panda.inner_steps):
            gradient = (weight * (torch.sigmoid(X @ beta) - y)) @ X / self.n_picks
            beta = beta - self.panda.inner_rate * gradient
        scores, truth = self.X1[validation] @ beta, self.y[validation]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, truth)
        positive, group = torch.sigmoid(scores), self.groups[validation]
        rates = []
        for condition in self.conditions:
            used = torch.ones_like(truth, dtype=torch.bool) if condition is None else truth == condition
            rates.append(torch.stack([positive[used & (group == g)].mean() for g in range(self.n_groups)]))
        return loss, torch.stack(rates)

    def gap(self, rates: Any) -> Any:
        """Return the largest difference of known rates; 0 if fewer than two are known."""
        gaps = [self.torch.zeros(())]
        for of_condition in rates:
            known = of_condition[~of_condition.isnan()]
            if len(known) > 1:
                gaps.append(known.max() - known.min())
        return self.torch.stack(gaps).max()


def train(panda: Panda, X: Float, y: Float, groups: Int, n_groups: int) -> Policy:
    """Meta-train a policy on labelled rows; the same arguments give the same result."""
    torch = importlib.import_module("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in another order would give another policy
    try:
        with torch.random.fork_rng():
            torch.manual_seed(panda.seed)
            return _train(torch, panda, _Episodes(torch, panda, X, y, groups, n_groups))
    finally:
        torch.set_num_threads(threads)


def _network(torch: Any, panda: Panda, n_features: int) -> Any:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(
        panda.width, panda.heads, panda.feedforward, dropout=0.0, batch_first=True
    )
    # No positional encoding: the order of rows must not matter.
    return nn.Sequential(
        nn.Linear(n_features, panda.width),
        nn.TransformerEncoder(layer, panda.layers, enable_nested_tensor=False),
        nn.Linear(panda.width, 1),
    )


def _train(torch: Any, panda: Panda, episodes: _Episodes) -> Policy:
    network = _network(torch, panda, episodes.X.shape[1])
    untrained = copy.deepcopy(network)
    log_temperature = torch.nn.Parameter(torch.tensor(float(np.log(panda.temperature))))
    parameters = [*network.parameters(), log_temperature]
    adam = torch.optim.Adam(parameters, lr=panda.learning_rate)
    generator = torch.Generator().manual_seed(panda.seed)

    def play(episode: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        pool, validation, noise = episode
        temperature = log_temperature.exp().clamp_min(panda.temperature_floor)
        weight = episodes.pick(network(episodes.X[pool][None])[0, :, 0], noise, temperature)
        return episodes.outcome(pool, validation, weight)

    def disparity(episode: tuple[Any, Any, Any]) -> Any:
        return episodes.gap(play(episode)[1])

    met: list[bool] = []
    finite = True
    for _ in range(panda.iterations):
        episode = episodes.draw(generator)
        loss, _ = play(episode)
        adam.zero_grad()
        loss.backward()
        adam.step()
        met.append(_proximal(torch, panda, parameters, partial(disparity, episode)))
        finite = all(bool(torch.isfinite(p).all()) for p in parameters)
        if not finite:
            break

    def score(rows: Float) -> Float:
        with torch.no_grad():
            scores = network(torch.tensor(rows, dtype=torch.float32)[None])[0, :, 0]
        return np.asarray(scores.numpy(), dtype=np.float64)

    late = float(np.mean(met[-max(len(met) // 5, 1) :]))
    if not finite:
        nan = float("nan")
        return Policy(score, nan, nan, nan, nan, nan, late, "its parameters are no longer finite")
    loss, rates = _trial(torch, episodes, (network, None, untrained), generator)
    return Policy(
        score,
        loss=float(loss[:, 0].mean()),
        uniform_loss=float(loss[:, 1].mean()),
        untrained_loss=float(loss[:, 2].mean()),
        disparity=pooled_gap(rates[:, 0]),
        uniform_disparity=pooled_gap(rates[:, 1]),
        met=late,
        failure=failure_of(loss, rates[:, 0], panda.rho),
    )


def _proximal(torch: Any, panda: Panda, parameters: list[Any], disparity: Callable[[], Any]) -> bool:
    """Move to nearby parameters with a disparity of at most rho; return whether it succeeded."""
    anchor = [p.detach().clone() for p in parameters]
    adam = torch.optim.Adam(parameters, lr=panda.learning_rate)
    price = 1.0
    for _ in range(_PROXIMAL_STEPS):
        excess = disparity() - panda.rho
        if excess <= 0:
            return True
        distance = sum(((p - a) ** 2).sum() for p, a in zip(parameters, anchor, strict=True))
        adam.zero_grad()
        (0.5 * distance + price * excess).backward()
        adam.step()
        price *= 2.0
    with torch.no_grad():
        return bool(disparity() <= panda.rho)


def _trial(torch: Any, episodes: _Episodes, networks: Sequence[Any], generator: Any) -> tuple[Float, Float]:
    """Return loss (episodes, networks) and rates (episodes, networks, conditions, groups).

    A network that is None picks uniformly.
    """
    losses, rates = [], []
    with torch.no_grad():
        for _ in range(EPISODES):
            pool, validation, noise = episodes.draw(generator)
            rows, same = episodes.X[pool][None], torch.zeros(len(pool))
            scores = [same if network is None else network(rows)[0, :, 0] for network in networks]
            found = [episodes.outcome(pool, validation, episodes.pick(s, noise, 1.0)) for s in scores]
            losses.append([float(loss) for loss, _ in found])
            rates.append([of.numpy() for _, of in found])
    return np.array(losses), np.array(rates, dtype=np.float64)


def pooled_gap(rates: Float) -> float:
    """Largest difference between groups of their mean rates over episodes.

    A validation part has few positives per group, so the gap of one episode is mostly noise, and a mean of
    absolute gaps keeps that noise. So rates are averaged first.

    Parameters
    ----------
    rates : ndarray of shape (episodes, conditions, groups)
        NaN where an episode has no row of that kind.

    Examples
    --------
    >>> pooled_gap(np.array([[[0.4, 0.6]], [[0.6, 0.4]], [[np.nan, 0.5]]]))
    0.0
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a kind of row that no episode has
        mean = np.nanmean(rates, axis=0)
        gaps = np.nanmax(mean, axis=-1) - np.nanmin(mean, axis=-1)
    return float(np.nan_to_num(gaps).max())


def failure_of(loss: Float, rates: Float, rho: float) -> str | None:
    """Return why a policy counts as not converged, or None.

    Parameters
    ----------
    loss : ndarray of shape (episodes, 3)
        Validation loss after the policy's picks, uniform picks and the untrained policy's.
    rates : ndarray of shape (episodes, conditions, groups)
        Soft rates after the policy's picks.
    rho : float
        Largest disparity that was allowed.

    Examples
    --------
    >>> loss = np.array([[0.5, 0.6, 0.6], [0.4, 0.5, 0.51]])
    >>> failure_of(loss, np.full((2, 1, 2), 0.7), rho=0.04) is None
    True
    >>> failure_of(loss, np.array([[[0.7, 0.6]]]), rho=0.04)
    'its disparity on new reshuffles is 0.100, above rho = 0.04'
    >>> failure_of(loss[:, [1, 1, 1]], np.full((2, 1, 2), 0.7), rho=0.04)
    'its validation loss is 0.0000 ± 0.0000 below that of uniform picks, which is not clear'
    """
    for column, whom in ((1, "uniform picks"), (2, "the untrained policy's picks")):
        gain = loss[:, column] - loss[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        # A difference below 1e-6 may be rounding.
        if not gain.mean() > max(_CLEAR * error, 1e-6):
            return (
                f"its validation loss is {gain.mean():.4f} ± {error:.4f} below that of {whom}, "
                "which is not clear"
            )
    gap = pooled_gap(rates)
    return None if gap <= rho else f"its disparity on new reshuffles is {gap:.3f}, above rho = {rho:g}"
