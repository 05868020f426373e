"""Populations on which the promise was found to break: 200 random ones of ten kinds.

    python -m benchmarks.hostile_populations        prints one line per population

``hostile_population(number)`` depends on its number alone. Numbers 0 to 199 are the test (``FROZEN``). They
were fixed before anything was tuned on such populations. Development uses numbers from
``FIRST_FOR_DEVELOPMENT`` on. Do not change this file: a new kind belongs in a new file.

A fifth of the populations are of the kinds of :mod:`benchmarks.populations`, with other numbers. The others
are those where a statistician broke the default: a part of a group's positives looks like its negatives, rows
come in copies, a group has an inner group with a rule of its own, curves are steep and positives few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.populations import (
    Population,
    _direction,
    _normal,
    _one_hot,
    build,
    linear,
    random_population,
)
from benchmarks.wide_populations import WidePopulation

FROZEN = range(200)
FIRST_FOR_DEVELOPMENT = 10_000
#: Numbers of :func:`random_population` that nothing else uses.
_PLAIN = 50_000
KINDS = (
    "plain", "hidden part", "copies", "hidden part, few positives", "inner group",
    "plain, again", "hidden part, both groups", "nearly copies", "steep, few positives", "text, hidden part",
)  # fmt: skip


@dataclass(frozen=True)
class Hidden:
    """A population in which some positives of a group have the features of its negatives.

    Attributes
    ----------
    base : Population
    hidden : ndarray
        Share of each group's positives that look like negatives.
    """

    base: Population
    hidden: Any
    kind: str

    @property
    def metric(self) -> str:
        """That of the population."""
        return self.base.metric

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups."""
        X, y, groups = self.base.draw(n, rng)
        shown = X.copy()
        for g, share in enumerate(self.hidden):
            positive, negative = (np.flatnonzero((groups == g) & (y == label)) for label in (1, 0))
            if len(negative):
                moved = positive[rng.random(len(positive)) < share]
                shown[moved] = X[rng.choice(negative, len(moved))]
        # A pool has no two equal rows but for those of the negatives that were taken: shake them apart.
        spread = X.std(axis=0)
        spread[[len(np.unique(column)) <= 2 for column in X.T]] = 0.0
        return shown + 0.1 * spread * rng.normal(size=X.shape), y, groups


@dataclass(frozen=True)
class Copied:
    """A population whose pool has each row ``copies`` times, each copy shaken by ``noise`` deviations."""

    base: Population
    copies: int
    noise: float
    kind: str

    @property
    def metric(self) -> str:
        """That of the population."""
        return self.base.metric

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups. Rows to test on are drawn one by one."""
        if n >= 10_000:
            return self.base.draw(n, rng)
        X, y, groups = self.base.draw(-(-n // self.copies), rng)
        rows = rng.permutation(np.repeat(np.arange(len(y)), self.copies)[:n])
        spread = X.std(axis=0)
        spread[[len(np.unique(column)) <= 2 for column in X.T]] = 0.0
        return X[rows] + self.noise * spread * rng.normal(size=(n, X.shape[1])), y[rows], groups[rows]


@dataclass(frozen=True)
class InnerGroup:
    """A population whose minority has an inner group, of which no column tells, with a rule of its own."""

    base: Population
    other: Population
    share: float
    kind: str

    @property
    def metric(self) -> str:
        """That of the population."""
        return self.base.metric

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups."""
        X, y, groups = self.base.draw(n, rng)
        inner = np.flatnonzero((groups == len(self.base.shares) - 1) & (rng.random(n) < self.share))
        other_X, other_y, other_groups = self.other.draw(20 * n, rng)
        fit = np.flatnonzero(other_groups == len(self.base.shares) - 1)[: len(inner)]
        inner = inner[: len(fit)]
        X[inner], y[inner] = other_X[fit], other_y[fit]
        return X, y, groups


def _plain(number: int) -> Population:
    """A straight boundary in both groups, the minority's tilted a little."""
    rng = np.random.default_rng([20261118, 1, number])
    d, share = int(rng.integers(4, 13)), rng.uniform(0.15, 0.45)
    common, own = (_direction(rng, d, int(rng.integers(2, 4))) for _ in range(2))
    base = rng.uniform(0.3, 0.6)
    return build(
        f"hostile {number}", "plain", str(rng.choice(("tprp", "eo", "fprp"), p=(0.8, 0.1, 0.1))),
        [1.0 - share, share], _normal(d, rng.normal(scale=0.3, size=(2, 3))),
        [linear(common), linear(common + rng.uniform(0.0, 0.7) * own)], np.full(2, rng.uniform(2.0, 4.0)),
        np.clip(base + rng.uniform(-0.15, 0.05, size=2), 0.1, 0.9), _one_hot(2),
    )  # fmt: skip


def hostile_population(number: int) -> Any:
    """Return the population with this number; its kind is ``KINDS[number % 10]``."""
    rng = np.random.default_rng([20261118, 2, number])
    kind = KINDS[number % len(KINDS)]
    base = _plain(number)
    if kind.startswith("plain"):
        return replace(random_population(_PLAIN + number), kind="plain")
    if kind == "hidden part":
        return Hidden(base, np.array([0.0, rng.uniform(0.15, 0.35)]), kind)
    if kind == "hidden part, both groups":
        return Hidden(base, np.array([rng.uniform(0.1, 0.3), rng.uniform(0.0, 0.3)]), kind)
    if kind in ("copies", "nearly copies"):
        return Copied(base, int(rng.integers(3, 6)), 0.0 if kind == "copies" else 0.01, kind)
    if kind == "inner group":
        return InnerGroup(base, _other(number, base), rng.uniform(0.15, 0.4), kind)
    if kind == "text, hidden part":
        return WidePopulation(
            kind, rng.uniform(0.25, 0.45), (rng.uniform(0.3, 0.5), rng.uniform(0.2, 0.4)),
            (rng.uniform(0.0, 0.1), rng.uniform(0.15, 0.35)), (3.0, 3.0), rng.uniform(-0.5, 0.5),
            int(rng.integers(10, 25)), int(rng.integers(60, 180)), 0.2,
        )  # fmt: skip
    # Few positives, and curves that rise from nothing to all within a short way.
    d, share = int(rng.integers(4, 9)), rng.uniform(0.2, 0.45)
    common = _direction(rng, d, 2)
    steep = rng.uniform(5.0, 9.0) if kind.startswith("steep") else rng.uniform(2.5, 4.0)
    shifts = rng.normal(scale=0.3, size=(2, 3))
    few = build(
        f"hostile {number}", kind, "tprp", [1.0 - share, share], _normal(d, shifts),
        [linear(common), linear(common)], np.array([steep, steep * rng.uniform(0.5, 1.0)]),
        rng.uniform(0.08, 0.2, size=2), _one_hot(2),
    )  # fmt: skip
    return few if kind.startswith("steep") else Hidden(few, np.array([0.0, rng.uniform(0.15, 0.35)]), kind)


def _other(number: int, base: Population) -> Population:
    """The rule of an inner group, on the same columns."""
    rng = np.random.default_rng([20261118, 3, number])
    d = int(base.draw(1, np.random.default_rng(0))[0].shape[1]) - 1
    rule = linear(_direction(rng, d, 2))
    return build(
        base.name, base.kind, base.metric, base.shares, _normal(d, np.zeros((2, 1))), [rule, rule],
        np.full(2, 3.0), np.full(2, rng.uniform(0.3, 0.6)), _one_hot(2),
    )  # fmt: skip


def main() -> None:
    """Print what each frozen population is."""
    for number in FROZEN:
        population = hostile_population(number)
        X, y, groups = population.draw(2000, np.random.default_rng(number))
        positives = [round(float(y[groups == g].mean()), 2) for g in np.unique(groups)]
        print(number, population.kind, population.metric, X.shape[1], positives)


if __name__ == "__main__":
    main()
