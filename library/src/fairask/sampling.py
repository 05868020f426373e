"""Drawing rows without replacement, their propensities, and importance weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.checks import check_choice
from fairask.metrics import Float, Int
from fairask.pools.memory import Cells

__all__ = ["Proposal"]

#: Component name of rows chosen by rank, which have no sampling probability.
RANKED = "ranked"
#: Component name of rows drawn when every proposed row is used up.
UNIFORM = "uniform"

WEIGHTS = ("ips", "lure", "none")


@dataclass(frozen=True)
class Proposal:
    """What a strategy wants: a mixture of designs over cells, or a ranking of rows.

    Attributes
    ----------
    cells : Cells
    components : dict of str to ndarray of shape (cells,)
        Probability per row of each cell, by component ("diff", "fair", "uniform", ...).
    shares : dict of str to float
        Mixture weights of the components; they add up to 1.
    ranking : ndarray of row indices, or a function from n to the n best, optional
        For deterministic methods: rows, best first. Components are then empty.
    info : dict
        What is worth recording, e.g. the design's gap.
    """

    cells: Cells
    components: dict[str, Float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    ranking: Int | Callable[[int], Int] | None = None
    info: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ranking is None and (not self.shares or set(self.shares) != set(self.components)):
            raise ValueError(
                f"shares {sorted(self.shares)} and components {sorted(self.components)} must match"
            )

    def ranked(self, n: int) -> Int:
        """The n best rows of a ranking, best first."""
        if self.ranking is None:
            raise ValueError("the proposal has no ranking: it has probabilities")
        return self.ranking(n) if callable(self.ranking) else self.ranking[:n].copy()


@dataclass(frozen=True)
class Draws:
    """Rows in the order in which they were drawn.

    Attributes
    ----------
    indices : ndarray
    propensities : ndarray
        Probability of each row at the moment it was drawn, given all before; NaN for ranked rows.
    components : list of str
        The component that drew each row.
    pool_sizes : ndarray
        Rows available at that moment.
    """

    indices: Int
    propensities: Float
    components: list[str]
    pool_sizes: Int


def draw(proposal: Proposal, n: int, rng: np.random.Generator) -> Draws:
    """Draw ``n`` rows without replacement.

    For each draw a component is chosen by its share, then a cell, then a row in it uniformly. The
    propensity adds up over all components that could have drawn the row, each renormalised over the
    rows that are left. A component whose rows are used up leaves its share to the others; when all are
    used up the rest is uniform.

    Examples
    --------
    >>> from fairask.pools import Pool
    >>> cells = Pool(np.zeros((4, 1)), np.array([0, 0, 0, 1]), 2).everything()
    >>> proposal = Proposal(cells, {"uniform": np.array([0.25])}, {"uniform": 1.0})
    >>> draw(proposal, 2, np.random.default_rng(0)).propensities.round(3).tolist()
    [0.25, 0.333]
    """
    left = proposal.cells.counts.astype(np.int64).copy()
    total = int(left.sum())
    if not 1 <= n <= total:
        raise ValueError(f"n={n} rows were asked for, but the pool has {total} left")
    sizes = np.arange(total, total - n, -1)
    if proposal.ranking is not None:
        best = proposal.ranked(n)
        return Draws(best, np.full(n, np.nan), [RANKED] * n, sizes)
    names = list(proposal.components)
    densities = np.array([proposal.components[name] for name in names])
    shares = np.array([proposal.shares[name] for name in names])
    cells, ranks = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    propensities, components = np.empty(n), []
    taken: dict[int, list[int]] = {}
    for m in range(n):
        mass = densities * left
        totals = mass.sum(axis=1)
        alive = np.where(totals > 1e-300, shares, 0.0)
        if alive.sum() <= 0.0:
            which, mixed = -1, left / left.sum()
            chosen_mass = mixed
        else:
            alive = alive / alive.sum()
            which = int(rng.choice(len(names), p=alive))
            mixed = (alive / np.where(totals > 1e-300, totals, 1.0)) @ mass
            chosen_mass = mass[which]
        cumulative = np.cumsum(chosen_mass)
        cell = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        cells[m] = cell
        ranks[m] = _skip(int(rng.integers(left[cell])), taken.setdefault(cell, []))
        propensities[m] = mixed[cell] / left[cell]
        components.append(UNIFORM if which < 0 else names[which])
        left[cell] -= 1
    return Draws(proposal.cells.locate(cells, ranks), propensities, components, sizes)


def _skip(rank: int, taken: list[int]) -> int:
    """Turn a rank among the rows that are left into one among all rows of the cell, and record it."""
    for used in taken:  # ascending
        if rank < used:
            break
        rank += 1
    taken.append(rank)
    taken.sort()
    return rank


def importance_weights(kind: str, propensities: ArrayLike, pool_sizes: ArrayLike, n_pool: int) -> Float:
    """Weights that undo unequal sampling, for rows in draw order.

    ``"ips"`` is the paper's ``(1/N) / q`` with the pool and the propensity at the moment of the draw.
    ``"lure"`` (Farquhar, Gal and Rainforth 2021) is unbiased over the whole sequence without
    replacement. ``"none"`` is 1. Rows chosen by rank (propensity NaN) have weight 1: no weight
    undoes a deterministic choice.

    Parameters
    ----------
    kind : {"ips", "lure", "none"}
    propensities, pool_sizes : array-like
        As in :class:`Draws`.
    n_pool : int
        Rows in the pool before the first draw.

    Examples
    --------
    >>> importance_weights("ips", [0.25, 0.5], [4, 3], 4).round(3).tolist()
    [1.0, 0.667]
    """
    if kind not in WEIGHTS:
        check_choice(kind, "weights", WEIGHTS)
    q = np.asarray(propensities, dtype=np.float64)
    size = np.asarray(pool_sizes, dtype=np.float64)
    ranked: NDArray[np.bool_] = np.isnan(q)
    if kind == "none" or not len(q):
        return np.ones(len(q))
    q = np.where(ranked, 1.0 / size, q)
    inverse = 1.0 / (size * q)
    if kind == "ips":
        return np.asarray(inverse)
    # With m draws before and M in all, size = N - m + 1.
    later = np.maximum(size - 1.0, 1.0)
    return np.asarray(1.0 + (n_pool - len(q)) / later * (inverse - 1.0))
