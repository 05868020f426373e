"""Two hundred further populations, with budgets and pools of several sizes.

    python -m benchmarks.mixed_populations        prints one line per population

``mixed_population(number)`` depends on its number alone. Numbers 0 to 199 are the test (``FROZEN``). They
were fixed before anything was tuned on such populations. Development uses numbers from
``FIRST_FOR_DEVELOPMENT`` on. Do not change this file: a new kind belongs in a new file.

Half are of the kinds of :mod:`benchmarks.populations` and :mod:`benchmarks.hostile_populations`, with other
numbers. The others put these together as nothing before did: negatives that look like positives, a hidden
part in one of three groups, in a small group, or in rows that come in copies, and features in few steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.hostile_populations import Copied, Hidden, hostile_population
from benchmarks.populations import (
    Population,
    _direction,
    _normal,
    _one_hot,
    build,
    linear,
    random_population,
)

FROZEN = range(200)
FIRST_FOR_DEVELOPMENT = 10_000
#: Numbers of the other two generators from here on are used by nothing else.
_OTHERS = 90_000
KINDS = (
    "random", "random", "random", "hostile", "hostile",
    "negatives like positives", "hidden part, three groups", "copies of a hidden part",
    "hidden part, small group", "few steps",
)  # fmt: skip


@dataclass(frozen=True)
class Turned:
    """A population whose labels are turned round: a hidden part of the positives is one of the negatives."""

    base: Any
    metric: str
    kind: str

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups."""
        X, y, groups = self.base.draw(n, rng)
        return X, 1 - y, groups


@dataclass(frozen=True)
class Sized:
    """A population, the labels that a run on it has, and the rows of its pool."""

    base: Any
    kind: str
    labels: int
    pool_rows: int

    @property
    def metric(self) -> str:
        """That of the population."""
        return str(self.base.metric)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups."""
        X, y, groups = self.base.draw(n, rng)
        return X, y, groups


def _tilted(number: int, metric: str, shares: Any) -> Population:
    """A straight boundary in all groups, each a little tilted."""
    rng = np.random.default_rng([20261119, 1, number])
    d, n_groups = int(rng.integers(4, 13)), len(shares)
    common = _direction(rng, d, int(rng.integers(2, 4)))
    rules = [linear(common + rng.uniform(0.0, 0.6) * _direction(rng, d, 2)) for _ in range(n_groups)]
    return build(
        f"mixed {number}", "tilted", metric, shares, _normal(d, rng.normal(scale=0.3, size=(n_groups, 3))),
        rules, np.full(n_groups, rng.uniform(1.5, 4.5)),
        np.clip(rng.uniform(0.25, 0.6) + rng.uniform(-0.15, 0.1, size=n_groups), 0.1, 0.9),
        _one_hot(n_groups),
    )  # fmt: skip


def _in_steps(width: float) -> Any:
    return lambda Z, groups, rng: np.hstack([width * np.round(Z / width), groups[:, None]]).astype(float)


def mixed_population(number: int) -> Sized:
    """Return the population with this number; its kind is ``KINDS[number % 10]``."""
    rng = np.random.default_rng([20261119, 2, number])
    kind = KINDS[number % len(KINDS)]
    labels, pool_rows = int(rng.choice([150, 250, 250, 400])), int(rng.choice([1000, 2000, 2000, 4000]))
    metric = str(rng.choice(("tprp", "eo", "fprp", "dp"), p=(0.55, 0.2, 0.15, 0.1)))
    share, part = rng.uniform(0.2, 0.45), rng.uniform(0.12, 0.35)
    base: Any
    if kind == "random":
        base = random_population(_OTHERS + 20 * number + int(rng.integers(20)))
    elif kind == "hostile":
        base = hostile_population(_OTHERS + 10 * number + int(rng.choice([1, 2, 3, 4, 6, 7, 8, 9])))
    elif kind == "negatives like positives":
        tilted = _tilted(number, "tprp", [1.0 - share, share])
        base = Turned(Hidden(tilted, np.array([0.0, part]), kind), metric, kind)
    elif kind == "hidden part, three groups":
        shares = np.sort(rng.dirichlet(np.full(3, 6.0)))[::-1]
        base = Hidden(
            _tilted(number, metric, np.maximum(shares, 0.1)), part * np.eye(3)[rng.integers(3)], kind
        )
    elif kind == "copies of a hidden part":
        hidden: Any = Hidden(_tilted(number, metric, [1.0 - share, share]), np.array([0.0, part]), kind)
        base = Copied(hidden, int(rng.integers(2, 5)), float(rng.choice([0.0, 0.01])), kind)
    elif kind == "hidden part, small group":
        small = rng.uniform(0.08, 0.15)
        base = Hidden(_tilted(number, metric, [1.0 - small, small]), np.array([0.0, part]), kind)
    else:
        base = replace(
            _tilted(number, metric, [1.0 - share, share]), observe=_in_steps(rng.uniform(0.8, 2.0))
        )
    return Sized(base, kind, labels, pool_rows)


def main() -> None:
    """Print what each frozen population is."""
    for number in FROZEN:
        population = mixed_population(number)
        X, y, groups = population.draw(population.pool_rows, np.random.default_rng(number))
        positives = [round(float(y[groups == g].mean()), 2) for g in np.unique(groups)]
        print(
            number,
            population.kind,
            population.metric,
            population.labels,
            X.shape,
            positives,
            population.base.kind,
        )


if __name__ == "__main__":
    main()
