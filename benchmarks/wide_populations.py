"""Populations like text: many dense columns, and a minority whose positives are harder to tell.

``WIDE`` was written down before anything was tuned on it, and belongs to development: it shows whether a
change heals what made-up comments (``benchmarks/text.py``) suffer from, in general. In those a third of the
minority's positives look like negatives. The group is in no column by itself, but many columns go with it.

Rows come from ``draw(n, rng)`` as those of :class:`benchmarks.populations.Population` do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["WIDE", "WidePopulation"]


@dataclass(frozen=True)
class WidePopulation:
    """Two groups whose labels come first, then a latent row, then what is seen of it.

    Attributes
    ----------
    name, kind, metric : str
    share : float
        Share of the minority.
    positives : pair of floats
        Shares of positives in majority and minority.
    hidden : pair of floats
        Share of a group's positives whose latent rows are those of negatives.
    distance : pair of floats
        How far a group's positives are from its negatives, in standard deviations of one direction.
    overlap : float
        Cosine of the directions in which labels and groups differ.
    latent, columns : int
    noise : float
        Standard deviation of noise in each column.
    """

    name: str
    share: float
    positives: tuple[float, float]
    hidden: tuple[float, float]
    distance: tuple[float, float]
    overlap: float
    latent: int
    columns: int
    noise: float
    metric: str = "tprp"

    @property
    def kind(self) -> str:
        """Each is a kind of its own."""
        return self.name

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return ``n`` rows: features, labels, groups."""
        groups = (rng.random(n) < self.share).astype(int)
        y = (rng.random(n) < np.array(self.positives)[groups]).astype(int)
        shown = y * (rng.random(n) >= np.array(self.hidden)[groups])
        Z = rng.normal(size=(n, self.latent))
        Z[:, 0] += shown * np.array(self.distance)[groups]
        Z[:, 0] += 2.0 * self.overlap * groups
        Z[:, 1] += 2.0 * np.sqrt(1.0 - self.overlap**2) * groups
        W = np.random.default_rng(self.columns).normal(size=(self.latent, self.columns)) / np.sqrt(
            self.latent
        )
        return np.tanh(Z @ W) + self.noise * rng.normal(size=(n, self.columns)), y, groups


WIDE = {
    population.name: population
    for population in (
        WidePopulation("hidden positives", 0.35, (0.42, 0.22), (0.1, 0.35), (3.0, 3.0), 0.0, 12, 100, 0.2),
        WidePopulation("group direction", 0.3, (0.5, 0.3), (0.0, 0.0), (2.0, 2.0), -0.7, 16, 200, 0.3),
        WidePopulation(
            "more columns than labels", 0.4, (0.5, 0.35), (0.0, 0.2), (3.0, 2.0), 0.3, 30, 600, 0.3
        ),
        WidePopulation("rare positives", 0.4, (0.12, 0.07), (0.0, 0.2), (3.0, 3.0), 0.3, 10, 150, 0.2),
        WidePopulation("majority hidden", 0.25, (0.4, 0.4), (0.3, 0.0), (2.5, 3.5), 0.5, 20, 120, 0.3),
    )
}
