"""Meta-training with PyTorch: forward-backward splitting through an unrolled inner learner.

An episode splits the pretraining rows into a pool and a validation part. The policy picks rows of the pool.
A logistic regression is trained on them by a few gradient steps. The gradient of its validation loss updates
the policy (forward step). Then the policy moves to nearby parameters whose picks keep the disparity on the
validation part within rho (backward, proximal step).
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.errors import MissingExtra
from fairask.metrics import METRICS, Float, Int, check_metric
from fairask.strategies.panda._convergence import EPISODES, failure_of, pooled_gap

if TYPE_CHECKING:
    from fairask.strategies.panda._strategy import Panda

_PROXIMAL_STEPS = 10


def check_torch() -> None:
    """Raise MissingExtra if PyTorch is not installed; PyTorch is not imported, which takes seconds."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("strategy 'panda' needs PyTorch", "panda")


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
