"""The simulated populations of the certificate benchmark, and samples of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paper.bounds import Sample


@dataclass(frozen=True)
class Scenario:
    """A population: its groups' sizes, base rates and error rates at a fair model, and labels to spend."""

    name: str
    pool: tuple[int, ...]
    base: tuple[float, ...]
    tpr: float
    fpr: tuple[float, ...]
    labels: int

    def rates(self, gap: float, flip: bool = False) -> np.ndarray:
        """True positive rates whose largest difference is ``gap``, around the scenario's own."""
        high = min(max(self.tpr + gap / 2, gap), max(self.tpr, 0.98) if self.tpr > 0.9 else 1.0)
        tpr = np.full(len(self.pool), high - gap / 2)
        tpr[0], tpr[1] = (high - gap, high) if flip else (high, high - gap)
        return tpr

    def strata(self, gap: float, flip: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """A pool whose own gap is ``gap`` (rounded up): rows and labels 1 by (group, prediction)."""
        size, ones = np.zeros((len(self.pool), 2)), np.zeros((len(self.pool), 2))
        tpr = self.rates(gap, flip)
        for g, n in enumerate(self.pool):
            positive = round(n * self.base[g])
            # Whole rows must not bring the gap below what is claimed.
            hit = (
                np.ceil(positive * tpr[g] - 1e-9)
                if tpr[g] == tpr.max()
                else np.floor(positive * tpr[g] + 1e-9)
            )
            ones[g] = positive - hit, hit
            size[g, 1] = hit + round((n - positive) * self.fpr[g])
            size[g, 0] = n - size[g, 1]
        return size, ones


SCENARIOS = [
    Scenario("balanced", (5000, 5000), (0.5, 0.5), 0.8, (0.2, 0.2), 800),
    Scenario("German-like", (6900, 3100), (0.72, 0.65), 0.85, (0.4, 0.4), 400),
    Scenario("COMPAS-like", (6000, 4000), (0.39, 0.52), 0.6, (0.25, 0.25), 800),
    Scenario("Adult-like", (32600, 16200), (0.3, 0.11), 0.6, (0.08, 0.03), 1600),
    Scenario("rare positives (5 %)", (10000, 10000), (0.05, 0.05), 0.6, (0.1, 0.1), 8000),
    Scenario("group of 2 %", (98000, 2000), (0.5, 0.5), 0.8, (0.2, 0.2), 800),
    Scenario("three groups", (4000, 4000, 2000), (0.4, 0.4, 0.3), 0.7, (0.2, 0.2, 0.2), 1500),
    Scenario("TPR near 1", (5000, 5000), (0.4, 0.4), 0.99, (0.2, 0.2), 400),
    Scenario("TPR near 0", (5000, 5000), (0.4, 0.4), 0.02, (0.01, 0.01), 400),
    Scenario("few labels", (5000, 5000), (0.4, 0.4), 0.97, (0.2, 0.2), 150),
]
#: The five rows tabled in the design notes: scenario and labels.
POWER = [
    ("balanced", 400),
    ("balanced", 800),
    ("German-like", 400),
    ("COMPAS-like", 800),
    ("Adult-like", 1600),
]


def balanced_counts(s: Scenario, tpr: np.ndarray, n: int, audits: int, rng: np.random.Generator):
    """Positives and hits by group in samples that take n / groups labels of each group."""
    positives = rng.binomial(n // len(s.pool), s.base, size=(audits, len(s.pool)))
    return rng.binomial(positives, tpr), positives


def sampled_pools(
    s: Scenario, size: np.ndarray, ones: np.ndarray, pools: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pools from the population that the given strata describe: rows and labels 1 of each."""
    joint = np.stack([size - ones, ones], axis=-1).reshape(len(size), 4)
    drawn = [rng.multinomial(n, p / p.sum(), pools) for n, p in zip(s.pool, joint, strict=True)]
    cells = np.stack(drawn, axis=1).reshape(pools, len(size), 2, 2).astype(float)
    return cells.sum(axis=-1), cells[..., 1]


def labelled(s: Scenario, tpr: np.ndarray, n: int, rng: np.random.Generator, balanced: bool = True):
    """Draw one sample row by row: y, prediction, group."""
    share = np.full(len(s.pool), 1 / len(s.pool)) if balanced else np.array(s.pool) / sum(s.pool)
    group = rng.choice(len(s.pool), size=n, p=share)
    y = (rng.random(n) < np.array(s.base)[group]).astype(float)
    pred = (rng.random(n) < np.where(y == 1, tpr[group], np.array(s.fpr)[group])).astype(float)
    return y, pred, group


def sample_of(y, pred, group, k: int, **more) -> Sample:
    return Sample(k, group, y, pred, **more)


def random_pool(rng: np.random.Generator, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Strata of a pool with a gap of 0.05, 0.1 or 0.2 between two of its groups: rows and labels 1."""
    k = 2 if rng.random() < 0.8 else 3
    rows = np.exp(rng.uniform(np.log(150), np.log(30000), k)).astype(int)
    gap = float(rng.choice([0.05, 0.1, 0.2]))
    low = rng.beta(0.7, 0.7) * (1 - gap)
    rate = np.full(k, low + gap / 2)
    rate[:2] = (low + gap, low) if rng.random() < 0.5 else (low, low + gap)
    other = rng.beta(0.8, 2, k)
    label = np.maximum(np.rint(rows * rng.uniform(0.03, 0.9, k)), 2)
    hit = np.rint(label * rate)
    with_label = np.stack([label - hit, hit], axis=-1)
    without = np.stack([np.rint((rows - label) * (1 - other)), np.rint((rows - label) * other)], axis=-1)
    # A pool needs both labels in every group for the other rate to exist.
    without[:, 0] += 1
    size = with_label + without
    return size, without if metric == "fprp" else with_label
