"""Rows with labels, rates that follow from them, and a sample of rows without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairask.matrix import take_rows
from fairask.metrics import METRICS, Bool, Float, Int, Matrix, Metric

if TYPE_CHECKING:
    from fairask.oracle.base import FairOracle, PerturbedModel


@dataclass(frozen=True)
class Labelled:
    """Labelled rows, in draw order.

    Attributes
    ----------
    X : array or data frame of shape (n, d)
    y : ndarray of 0.0 and 1.0
    groups : ndarray of group codes
    risk_weights, fairness_weights : ndarray
        Importance weights in the error and in the rates.
    indices : ndarray
        Their rows in the pool.
    group_values : sequence
        The group with code i, as the user knows it. Some may have no labelled row yet.
    classes : pair
        The labels 0 and 1, as the user knows them. One of them may have no labelled row yet.
    """

    X: Matrix
    y: Float
    groups: Int
    risk_weights: Float
    fairness_weights: Float
    indices: Int
    group_values: Sequence[object]
    classes: tuple[object, object] = (0, 1)

    @classmethod
    def of(
        cls,
        X: Matrix,
        y: Float,
        groups: Int,
        group_values: Sequence[object],
        risk_weights: Float | None = None,
        fairness_weights: Float | None = None,
    ) -> Labelled:
        """Rows that are numbered from 0; weights are 1 by default, those of the rates the risk's.

        Examples
        --------
        >>> len(Labelled.of(np.eye(2), np.array([0.0, 1.0]), np.array([0, 1]), ["a", "b"]))
        2
        """
        risk = np.ones(len(y)) if risk_weights is None else risk_weights
        fairness = risk if fairness_weights is None else fairness_weights
        return cls(X, y, groups, risk, fairness, np.arange(len(y)), group_values)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_groups(self) -> int:
        """Groups of the population."""
        return len(self.group_values)

    def where(self, mask: Bool) -> Labelled:
        """The labelled rows for which ``mask`` is true."""
        return Labelled(
            take_rows(self.X, mask),
            self.y[mask],
            self.groups[mask],
            self.risk_weights[mask],
            self.fairness_weights[mask],
            self.indices[mask],
            self.group_values,
            self.classes,
        )


class PoolSample(NamedTuple):
    """Unlabelled rows that stand for the population: features and group codes."""

    X: Matrix
    groups: Int


def check_weight(weight: ArrayLike | None, n: int, name: str) -> Float:
    """Return weights of n rows, 1 by default, or raise naming them.

    Examples
    --------
    >>> check_weight(None, 2, "sample_weight").tolist()
    [1.0, 1.0]
    """
    if weight is None:
        return np.ones(n)
    array = np.asarray(weight, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}, expected ({n},)")
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError(f"{name} must be finite, not negative and not all zero")
    return array


def rates_by_label(labelled: Labelled, decisions: Float, metric: Metric) -> tuple[Float, Float]:
    """Estimate a rule's rates from the labels alone: rates and variances, both (conditions, groups).

    Rows have their importance weights. The variance is that of a ratio of weighted sums, with one more
    observation, so that rates of 0 and 1 do not look certain. Fewer than three rows say nothing: the rate
    is NaN and its variance infinite.

    Parameters
    ----------
    decisions : ndarray
        Probability that the rule predicts 1 on each labelled row, by a model that did not see the row.

    Examples
    --------
    >>> y, groups = np.array([1.0, 0.0] * 20), np.repeat([0, 1], 20)
    >>> rows = Labelled.of(np.zeros((40, 1)), y, groups, ["a", "b"])
    >>> rates_by_label(rows, y, "eo")[0].tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    y, conditions = labelled.y, METRICS[metric]
    rates = np.full((len(conditions), labelled.n_groups), np.nan)
    variances = np.full(rates.shape, np.inf)
    for z, condition in enumerate(conditions):
        inside = labelled.fairness_weights * {1: y, 0: 1.0 - y, None: np.ones_like(y)}[condition]
        for g in range(labelled.n_groups):
            weight = inside * (labelled.groups == g)
            if (weight > 0).sum() < 3:
                continue
            total = weight.sum()
            rates[z, g] = rate = weight @ decisions / total
            floor = 0.5 / (total**2 / (weight @ weight) + 2.0) ** 2
            variances[z, g] = ((weight * (decisions - rate)) ** 2).sum() / total**2 + floor
    return rates, variances


def worst_gap(rates: Float, unknown: Bool, least: float, most: float) -> float:
    """Largest gap that rates (conditions, groups) can have where those marked lie anywhere in [least, most].

    Examples
    --------
    >>> worst_gap(np.array([[0.5, 0.6]]), np.array([[False, True]]), 0.0, 1.0)
    0.5
    """
    low, high = np.where(unknown, least, rates), np.where(unknown, most, rates)
    if low.shape[1] < 2:
        return 0.0
    gaps = high[:, :, None] - low[:, None, :]
    gaps[:, range(low.shape[1]), range(low.shape[1])] = 0.0  # a group has no gap with itself
    return float(gaps.max())


def name_cells(cells: Bool, metric: Metric, groups: Sequence[object]) -> str:
    """Name the rows that marked cells (conditions, groups) hold.

    Examples
    --------
    >>> name_cells(np.array([[False, True]]), "tprp", ["a", "b"])
    "positive rows of group 'b'"
    """
    kinds = {1: "positive rows", 0: "negative rows", None: "rows"}
    conditions = METRICS[metric]
    return ", ".join(f"{kinds[conditions[z]]} of group {groups[g]!r}" for z, g in np.argwhere(cells).tolist())


@dataclass(frozen=True)
class FairFit:
    """How a strategy fits fair models: as the learner does, with its oracle, tolerance, margin and weights.

    Attributes
    ----------
    labelled : Labelled
    current : callable
        Returns the fair model of these rows, fitting it when it is asked for first.
    """

    labelled: Labelled
    current: Callable[[], FairOracle]

    @property
    def model(self) -> FairOracle:
        """The current fair model."""
        return self.current()

    def __call__(self, labels: Float | None = None, weights: Float | None = None) -> list[PerturbedModel]:
        """Fit on the labelled rows with other labels (k, n) or with weights (k, n) times their own."""
        return self.model.perturbed(self.labelled, labels, weights)
