"""Ten simulated populations for the comparison with rivals, written down before any method was run on them.

Every trial draws 12,500 rows of its own: a fifth is the pool, the rest tests, so that test noise is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from fairask.datasets.dataset import Dataset
from fairask.metrics import Float, Int

__all__ = ["POPULATIONS", "draw_population"]

ROWS = 12_500

#: Features, probability of the label 1, group codes.
Drawn = tuple[Float, Float, Int]


def _groups(rng: np.random.Generator, *shares: float) -> Int:
    return rng.choice(len(shares), size=ROWS, p=shares)


def nonlinear(rng: np.random.Generator) -> Drawn:
    """A ring: the label is 1 inside a radius that differs by group."""
    X, g = rng.normal(size=(ROWS, 6)), _groups(rng, 0.7, 0.3)
    return X, expit(4.0 * (np.where(g == 0, 1.3, 0.9) - np.hypot(X[:, 0], X[:, 1]))), g


def interaction(rng: np.random.Generator) -> Drawn:
    """The sign of a product decides; the minority has fewer positives."""
    X, g = rng.normal(size=(ROWS, 8)), _groups(rng, 0.7, 0.3)
    return X, expit(2.5 * X[:, 0] * X[:, 1] + X[:, 2] - np.where(g == 0, 0.0, 0.8)), g


def rare_positives(rng: np.random.Generator) -> Drawn:
    """About one row in fifteen is positive, fewer in the minority."""
    X, g = rng.normal(size=(ROWS, 8)), _groups(rng, 0.65, 0.35)
    return X, expit(1.6 * X[:, 0] + 1.2 * X[:, 1] - 3.6 - np.where(g == 0, 0.0, 0.7)), g


def three_groups(rng: np.random.Generator) -> Drawn:
    """Three groups with their own base rates; the third uses another feature."""
    X, g = rng.normal(size=(ROWS, 8)), _groups(rng, 0.5, 0.3, 0.2)
    used = np.where(g == 2, X[:, 1], X[:, 0])
    return X, expit(2.0 * used + np.array([0.4, -0.6, 0.0])[g]), g


def tiny_group(rng: np.random.Generator) -> Drawn:
    """A minority of 4 %, with a noisier label."""
    X, g = rng.normal(size=(ROWS, 8)), _groups(rng, 0.96, 0.04)
    return X, expit(np.where(g == 0, 2.5, 1.0) * (X[:, 0] + 0.5 * X[:, 1])), g


def label_noise(rng: np.random.Generator) -> Drawn:
    """Labels are wrong in 8 % of the rows, in the minority in 20 %."""
    X, g = rng.normal(size=(ROWS, 8)), _groups(rng, 0.65, 0.35)
    p, wrong = expit(3.0 * X[:, 0] - 1.5 * X[:, 1] + 0.5), np.where(g == 0, 0.08, 0.20)
    return X, p * (1.0 - wrong) + (1.0 - p) * wrong, g


def many_features(rng: np.random.Generator) -> Drawn:
    """200 features of which ten matter; one of them differs by group."""
    X, g = rng.normal(size=(ROWS, 200)), _groups(rng, 0.6, 0.4)
    X[:, 0] -= 0.8 * g
    return X, expit(X[:, :10] @ np.linspace(1.2, 0.3, 10)), g


def text_embeddings(rng: np.random.Generator) -> Drawn:
    """384 features of rank 20 and noise, as sentence embeddings have; groups speak about other topics."""
    g = _groups(rng, 0.6, 0.4)
    topics = rng.normal(size=(ROWS, 20)) + 0.5 * g[:, None] * (np.arange(20) % 4 == 0)
    X = topics @ rng.normal(size=(20, 384)) / np.sqrt(20) + 0.5 * rng.normal(size=(ROWS, 384))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(384), expit(topics[:, :5].sum(axis=1)), g


def mixed_columns(rng: np.random.Generator) -> Drawn:
    """Skewed amounts and one-hot categories, as tables of people have; categories differ by group."""
    g = _groups(rng, 0.7, 0.3)
    amounts = rng.lognormal(sigma=0.8, size=(ROWS, 3)) * np.where(g == 0, 1.0, 0.7)[:, None]
    level = np.clip(rng.poisson(2.0 + g, size=ROWS), 0, 5)
    X = np.hstack([amounts, np.eye(6)[level], rng.normal(size=(ROWS, 3))])
    effect = np.array([1.0, 0.5, 0.0, -0.3, -0.8, -1.2])[level]
    return X, expit(1.4 * np.log(amounts[:, 0]) + effect + 0.6 * X[:, 9] * (amounts[:, 1] > 1.0)), g


def fair_already(rng: np.random.Generator) -> Drawn:
    """Groups are alike: a plain model is fair, and a fair method can only lose."""
    X, g = rng.normal(size=(ROWS, 8)), _groups(rng, 0.6, 0.4)
    return X, expit(1.8 * X[:, 0] - 1.2 * X[:, 1] + 0.6 * X[:, 2]), g


#: The populations by name.
POPULATIONS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        nonlinear,
        interaction,
        rare_positives,
        three_groups,
        tiny_group,
        label_noise,
        many_features,
        text_embeddings,
        mixed_columns,
        fair_already,
    )
}


def draw_population(name: str, seed: int) -> Dataset:
    """Draw the rows of a trial; the group is a feature too, as in the paper's tables.

    Examples
    --------
    >>> data = draw_population("three-groups", 0)
    >>> data.X.shape, sorted(set(data.groups.tolist()))
    ((12500, 11), ['a', 'b', 'c'])
    """
    rng = np.random.default_rng([seed, sorted(POPULATIONS).index(name)])
    X, p, codes = POPULATIONS[name](rng)
    member = np.eye(int(codes.max()) + 1)[codes]
    X = np.hstack([X, member if member.shape[1] > 2 else member[:, 1:]])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (rng.random(len(p)) < p).astype(np.int64)
    return Dataset(
        name=name,
        variant="",
        X=X,
        y=y,
        groups=np.array(["a", "b", "c"])[codes],
        feature_names=[f"x{i}" for i in range(X.shape[1])],
        target="y",
        protected="group",
        description=(POPULATIONS[name].__doc__ or "").strip(),
        citation="",
        licence="",
    )
