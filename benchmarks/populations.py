"""Populations on which the promise is tested: 200 random ones of twenty kinds, and named ones.

    python -m benchmarks.populations        prints one line per population

``random_population(number)`` depends on its number alone. Numbers 0 to 199 are the test (``FROZEN``). They
were fixed before anything was tuned. Development uses numbers from ``FIRST_FOR_DEVELOPMENT`` on. Do not
change this file: a new kind belongs in a new file.

A population draws groups, then latent features, then labels: the log odds of label 1 in group g are
``strength_g * shape_g(Z) + intercept_g``, where ``shape_g`` has standard deviation 1 and the intercept gives
the group its share of positives. Labels may then be flipped. What a learner sees of Z is ``X``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

POOL_ROWS, TEST_ROWS, LABELS, BATCH, TOLERANCE = 2000, 20000, 250, 25, 0.1
FROZEN = range(200)
FIRST_FOR_DEVELOPMENT = 10_000
_METRICS, _METRIC_SHARES = ("tprp", "eo", "fprp", "dp"), (0.7, 0.1, 0.1, 0.1)
_PROBE = 20_000

Shape = Callable[[Any], Any]


@dataclass(frozen=True)
class Population:
    """Where rows come from.

    Attributes
    ----------
    name, kind, metric : str
    shares : ndarray
        Probability of each group.
    features : function of (groups, rng)
        Latent features of rows in these groups.
    shapes : list of functions of the latent features
        Log odds of label 1 in each group, finished: scaled and with the intercept.
    flips : ndarray
        Probability in each group that a label is flipped.
    observe : function of (latent features, groups, rng)
        What a learner sees.
    """

    name: str
    kind: str
    metric: str
    shares: Any
    features: Callable[[Any, Any], Any]
    shapes: list[Shape]
    flips: Any
    observe: Callable[[Any, Any, Any], Any]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups."""
        groups = rng.choice(len(self.shares), size=n, p=self.shares)
        Z = self.features(groups, rng)
        p = np.empty(n)
        for g, shape in enumerate(self.shapes):
            p[groups == g] = expit(shape(Z[groups == g]))
        p = p + self.flips[groups] * (1.0 - 2.0 * p)
        y = (rng.random(n) < p).astype(int)
        return self.observe(Z, groups, rng), y, groups


# -- shapes of log odds --------------------------------------------------------------------------


def linear(direction: Any) -> Shape:
    """A straight boundary."""
    return lambda Z: Z[:, : len(direction)] @ np.asarray(direction)


def ring(i: int, j: int, radius2: float = 1.2) -> Shape:
    """Positive inside a circle."""
    return lambda Z: radius2 - Z[:, i] ** 2 - Z[:, j] ** 2


def product(i: int, j: int) -> Shape:
    """Positive where two features have the same sign."""
    return lambda Z: Z[:, i] * Z[:, j]


def wave(i: int, speed: float) -> Shape:
    """Positive in bands of one feature, with a weak trend."""
    return lambda Z: np.sin(speed * Z[:, i]) + 0.3 * Z[:, i]


def steps(columns: Any, cuts: Any, heights: Any) -> Shape:
    """A sum of steps, as a small tree ensemble would have them."""
    return lambda Z: (heights * (Z[:, columns] > cuts)).sum(axis=1)


def bounded(columns: Any, direction: Any) -> Shape:
    """A straight boundary in features squeezed by tanh, for heavy tails."""
    return lambda Z: np.tanh(Z[:, columns]) @ np.asarray(direction)


# -- building ------------------------------------------------------------------------------------


def _normal(d: int, shifts: Any, tails: float | None = None) -> Callable[[Any, Any], Any]:
    def features(groups: Any, rng: np.random.Generator) -> Any:
        shape = (len(groups), d)
        Z = rng.normal(size=shape) if tails is None else rng.standard_t(tails, size=shape)
        Z[:, : shifts.shape[1]] += shifts[groups]
        return Z

    return features


def _one_hot(n_groups: int) -> Callable[[Any, Any, Any], Any]:
    return lambda Z, groups, rng: np.hstack([Z, groups[:, None] == np.arange(1, n_groups)]).astype(float)


def _without_group(Z: Any, groups: Any, rng: np.random.Generator) -> Any:
    return Z


def _proxy(noise: float) -> Callable[[Any, Any, Any], Any]:
    return lambda Z, groups, rng: np.hstack([Z, (groups + noise * rng.normal(size=len(Z)))[:, None]])


def _embedding(latent: int, d: int, noise: float, seed: int) -> Callable[[Any, Any, Any], Any]:
    W = 3.0 * np.random.default_rng(seed).normal(size=(latent, d)) / np.sqrt(d)
    return lambda Z, groups, rng: np.tanh(Z @ W) + noise * rng.normal(size=(len(Z), d))


def build(
    name: str,
    kind: str,
    metric: str,
    shares: Any,
    features: Callable[[Any, Any], Any],
    shapes: list[Shape],
    strengths: Any,
    positives: Any,
    observe: Callable[[Any, Any, Any], Any],
    flips: Any = None,
) -> Population:
    """Scale each shape to its strength and give each group its share of positives."""
    shares = np.asarray(shares, dtype=float) / np.sum(shares)
    finished = []
    for g, shape in enumerate(shapes):
        probe = shape(features(np.full(_PROBE, g), np.random.default_rng(g)))
        factor = strengths[g] / max(probe.std(), 1e-9)
        at = np.clip(factor * (probe - probe.mean()), -30, 30)
        shift = brentq(lambda b, at=at, g=g: expit(at + b).mean() - positives[g], -40, 40)
        finished.append(_finish(shape, factor, float(shift - factor * probe.mean())))
    flips = np.zeros(len(shares)) if flips is None else np.asarray(flips, dtype=float)
    return Population(name, kind, metric, shares, features, finished, flips, observe)


def _finish(shape: Shape, factor: float, intercept: float) -> Shape:
    return lambda Z: factor * shape(Z) + intercept


# -- random populations --------------------------------------------------------------------------

KINDS = (
    "well specified", "slope", "feature", "curved", "noise in one group", "tiny group",
    "several groups, alike", "several groups, different", "reversed sign", "rare positives",
    "mostly positive", "interaction",
    "embedding", "base rates", "heavy tails", "label noise", "waves and steps", "group unseen",
    "many features", "steps by group",
)  # fmt: skip


def _direction(rng: np.random.Generator, d: int, used: int) -> Any:
    direction = np.zeros(d)
    direction[rng.choice(d, size=used, replace=False)] = rng.normal(size=used) + np.sign(
        rng.normal(size=used)
    )
    return direction


def _steps(rng: np.random.Generator, d: int) -> Shape:
    columns = rng.choice(d, size=3, replace=False)
    return steps(
        columns, rng.normal(scale=0.7, size=3), rng.choice([-1.0, 1.0], size=3) * rng.uniform(0.7, 2, 3)
    )


def random_population(number: int) -> Population:
    """Return the population with this number; its kind is ``KINDS[number % 20]``."""
    rng = np.random.default_rng([20261115, number])
    kind = KINDS[number % len(KINDS)]
    metric = str(rng.choice(_METRICS, p=_METRIC_SHARES))
    n_groups = int(rng.integers(3, 6)) if kind.startswith("several") else 2
    d = int(rng.integers(4, 13))
    if kind == "embedding":
        d = int(rng.integers(8, 25))
    if kind == "many features":
        d = int(rng.integers(50, 201))
    share = rng.uniform(0.03, 0.08) if kind == "tiny group" else rng.uniform(0.15, 0.45)
    shares = (
        np.array([1.0 - share, share])
        if n_groups == 2
        else np.sort(rng.dirichlet(np.full(n_groups, 3.0)))[::-1]
    )
    shares = np.maximum(shares, 0.03)
    common = _direction(rng, d, min(int(rng.integers(2, 5)), d))
    own = [_direction(rng, d, min(int(rng.integers(1, 4)), d)) for _ in range(n_groups)]
    strengths = np.full(n_groups, rng.uniform(1.2, 4.0))
    base = rng.uniform(0.25, 0.65)
    positives = np.clip(base + rng.uniform(-0.1, 0.1, size=n_groups), 0.1, 0.9)
    shapes: list[Shape] = [linear(common) for _ in range(n_groups)]
    shifts = rng.normal(scale=0.3, size=(n_groups, min(d, 3)))
    tails, flips = None, np.zeros(n_groups)
    observe: Callable[[Any, Any, Any], Any] = _one_hot(n_groups)
    if kind == "slope":
        strengths = np.array([rng.uniform(2.5, 6.0), rng.uniform(0.4, 1.2)])
        if rng.random() < 0.3:
            strengths = strengths[::-1].copy()
    elif kind == "feature":
        shapes = [linear(direction) for direction in own]
    elif kind == "curved":
        shapes = [linear(common), ring(0, 1, rng.uniform(0.8, 1.6))]
        strengths = np.array([strengths[0], rng.uniform(2.0, 5.0)])
    elif kind == "noise in one group":
        flips = np.array([0.0, rng.uniform(0.1, 0.25)])
    elif kind == "tiny group":
        if rng.random() < 0.5:
            shapes = [linear(direction) for direction in own]
    elif kind == "several groups, alike":
        positives = np.clip(base + rng.uniform(-0.2, 0.2, size=n_groups), 0.1, 0.9)
    elif kind == "several groups, different":
        mixed = [linear(direction) if rng.random() < 0.6 else linear(common) for direction in own]
        shapes, strengths = mixed, rng.uniform(0.8, 4.0, size=n_groups)
    elif kind == "reversed sign":
        shapes = [linear(common), linear(-common)]
    elif kind == "rare positives":
        positives = np.array([rng.uniform(0.05, 0.4), rng.uniform(0.04, 0.1)])
    elif kind == "mostly positive":
        positives = np.array([rng.uniform(0.75, 0.97), rng.uniform(0.75, 0.97)])
    elif kind == "interaction":
        shapes = [product(0, 1), product(0, 1 if rng.random() < 0.5 else 2)]
        strengths = rng.uniform(2.0, 4.0, size=2)
    elif kind == "embedding":
        shapes = [linear(common + 0.3 * own[0]), linear(common + rng.uniform(0.0, 1.5) * own[1])]
        wide = int(rng.choice([64, 128, 256, 384]))
        observe = _embedding(d, wide, rng.uniform(0.1, 0.4), number)
    elif kind == "base rates":
        positives = np.array([rng.uniform(0.5, 0.8), rng.uniform(0.12, 0.3)])
    elif kind == "heavy tails":
        tails = float(rng.uniform(1.5, 3.0))
        columns = rng.choice(d, size=2, replace=False)
        shapes = [bounded(columns, [1.0, 0.5]), bounded(columns, [1.0, rng.uniform(-1.0, 1.0)])]
    elif kind == "label noise":
        flips = rng.uniform(0.05, 0.2, size=2)
    elif kind == "waves and steps":
        shape = wave(0, rng.uniform(1.0, 3.0)) if rng.random() < 0.5 else _steps(rng, d)
        shapes = [shape, shape]
    elif kind == "group unseen":
        observe = _without_group if rng.random() < 0.5 else _proxy(rng.uniform(0.3, 1.0))
        if rng.random() < 0.5:
            shapes = [linear(common), linear(common + own[1])]
        positives = np.clip(positives + np.array([0.1, -0.1]), 0.1, 0.9)
    elif kind == "many features":
        common = _direction(rng, d, int(rng.integers(5, 20)))
        shapes = [linear(common), linear(common + rng.uniform(0.0, 0.5) * _direction(rng, d, 8))]
    elif kind == "steps by group":
        shapes = [_steps(rng, d), _steps(rng, d)]
        strengths = rng.uniform(1.5, 3.5, size=2)
    features = _normal(d, shifts, tails)
    return build(
        f"random {number}", kind, metric, shares, features, shapes, strengths, positives, observe, flips
    )


# -- named populations ---------------------------------------------------------------------------


def _named(
    name: str,
    shapes: list[Shape],
    *,
    d: int = 6,
    share: float = 0.3,
    shares: Any = None,
    strengths: Any = None,
    positives: Any = None,
    metric: str = "tprp",
    tails: float | None = None,
    shift: float = 0.0,
    flips: Any = None,
    observe: Any = None,
) -> Population:
    n_groups = len(shapes)
    shares = np.array([1.0 - share, share]) if shares is None else np.asarray(shares)
    shifts = np.zeros((n_groups, 1))
    shifts[1:] = shift
    return build(
        name, name, metric, shares, _normal(d, shifts, tails), shapes,
        np.full(n_groups, 3.0) if strengths is None else np.asarray(strengths),
        np.full(n_groups, 0.5) if positives is None else np.asarray(positives),
        _one_hot(n_groups) if observe is None else observe, flips,
    )  # fmt: skip


def _axis(*weights: float) -> Shape:
    return linear(np.array(weights))


def twelve() -> dict[str, Population]:
    """The kinds on which version 0.1.0 was found to break its promise, each with fixed settings."""
    first, second, third = _axis(1.0), _axis(0.0, 1.0), _axis(0.0, 0.0, 1.0)
    both = _axis(2.0, 1.0)
    three, five = (0.6, 0.3, 0.1), (0.5, 0.3, 0.12, 0.05, 0.03)
    wide = _embedding(20, 384, 0.3, 0)
    made = [
        _named("well specified", [both, both], strengths=(2.2, 2.2), positives=(0.5, 0.43), shift=0.5),
        _named("minority noisier", [first, first], strengths=(5.0, 0.7)),
        _named("minority uses another feature", [first, second]),
        _named("minority curved", [first, ring(0, 1)], d=4, strengths=(3.0, 5.0), positives=(0.5, 0.35)),
        _named("tiny group, another feature", [first, second], share=0.03),
        _named("tiny group, well specified", [both, both], share=0.03, strengths=(2.2, 2.2), shift=0.5),
        _named("reversed sign", [first, _axis(-1.0)], share=0.25, positives=(0.57, 0.57)),
        _named("three groups, well specified", [both] * 3, shares=three, strengths=[2.2] * 3,
               positives=(0.5, 0.42, 0.35)),
        _named("three groups, different", [first, second, third], shares=three, positives=(0.5, 0.44, 0.38)),
        _named("five groups", [both if g % 2 else first for g in range(5)], shares=five,
               strengths=[2.1] * 5, positives=(0.5, 0.45, 0.4, 0.34, 0.3)),
        _named("rare positives", [first, first], strengths=(2.5, 2.5), positives=(0.42, 0.06)),
        _named("embedding, 384 columns", [linear(np.linspace(-1, 1, 20)), linear(np.cos(np.arange(20.0)))],
               d=20, share=0.25, strengths=(4.0, 4.0), positives=(0.5, 0.45), observe=wide),
    ]  # fmt: skip
    return {population.name: population for population in made}


def ten() -> dict[str, Population]:
    """The populations on which rivals are compared, written down before any method was run on them."""
    both = _axis(2.0, 1.0, -1.0)
    sparse = linear(np.r_[np.ones(6), -np.ones(6), np.zeros(188)])
    text = _embedding(16, 256, 0.2, 1)
    made = [
        _named("nonlinear", [wave(0, 2.0), wave(0, 2.0)], positives=(0.5, 0.4)),
        _named("interaction", [product(0, 1), product(0, 1)], positives=(0.5, 0.4)),
        _named("rare positives", [both, both], positives=(0.2, 0.08), strengths=(2.5, 2.5)),
        _named("three groups", [both] * 3, shares=(0.5, 0.3, 0.2), positives=(0.6, 0.45, 0.3)),
        _named("tiny group", [both, both], share=0.04, positives=(0.5, 0.35)),
        _named("label noise", [both, both], flips=(0.1, 0.2), positives=(0.55, 0.4)),
        _named("200 features", [sparse, sparse], d=200, strengths=(3.0, 2.0), positives=(0.5, 0.4)),
        _named("text embedding", [linear(np.ones(16)), linear(np.ones(16))], d=16, shift=0.5,
               positives=(0.55, 0.35), observe=text),
        _named("base rates", [both, both], positives=(0.65, 0.25)),
        _named("groups differ in slope", [both, both], strengths=(4.0, 1.0), positives=(0.5, 0.4)),
    ]  # fmt: skip
    return {population.name: population for population in made}


def main() -> None:
    """Print what each frozen population is."""
    for number in FROZEN:
        population = random_population(number)
        X, y, groups = population.draw(4000, np.random.default_rng(number))
        positives = [round(float(y[groups == g].mean()), 2) for g in range(len(population.shares))]
        print(number, population.kind, population.metric, X.shape[1], population.shares.round(2), positives)


if __name__ == "__main__":
    main()
