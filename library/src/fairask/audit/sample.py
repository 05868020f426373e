"""Checked inputs of a certificate, and what every method reads from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.checks import check_lengths
from fairask.metrics import Float, Int, binary_labels, encode_groups, soft_predictions


class SampleDraws(TypedDict, total=False):
    """What is known of how labelled rows were drawn; see :func:`fairask.audit.certify`."""

    propensities: ArrayLike | None
    pool_size: int | None
    propensity_floor: float | None
    indices: ArrayLike | None
    trained_on: ArrayLike | None


@dataclass(frozen=True)
class Sample:
    """Labelled rows in the order in which they were drawn.

    ``score`` is the prediction as given (soft for a randomised classifier), ``decision`` the 0/1 decision.
    """

    groups: list[Any]
    codes: Int
    y: Float | None
    score: Float
    decision: Float
    weight: Float | None = None
    propensities: Float | None = None
    pool_size: int | None = None
    propensity_floor: float | None = None
    table: tuple[Int, Int] | None = None

    @classmethod
    def of_counts(cls, groups: list[Any], hits: Int, size: Int) -> Self:
        """A sample known by its decisions 1 and rows per group only: enough for methods that count."""
        none = np.zeros(0)
        return cls(groups, none.astype(np.int64), None, none, none, table=(hits, size))

    def rows(self, label: int | None) -> NDArray[np.bool_]:
        """Rows on which a rate given y = ``label`` is computed."""
        if label is None or self.y is None:
            return np.ones(len(self.codes), dtype=bool)
        return np.asarray(self.y == label)

    def counts(self, label: int | None) -> tuple[Int, Int]:
        """Decisions 1 and rows of each group, given y = ``label``."""
        if self.table is not None:
            return self.table
        rows, k = self.rows(label), len(self.groups)
        size = np.bincount(self.codes[rows], minlength=k)
        hits = np.bincount(self.codes[rows], weights=self.decision[rows], minlength=k)
        return np.rint(hits).astype(np.int64), size.astype(np.int64)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Ordered pairs of groups."""
        k = len(self.groups)
        return ((a, b) for a in range(k) for b in range(k) if a != b)


def build_sample(
    y: ArrayLike | None,
    pred: ArrayLike,
    groups: ArrayLike,
    sample_weight: ArrayLike | None,
    draws: SampleDraws,
    *,
    pos_label: object,
    random_state: int,
) -> Sample:
    """Check the arrays against each other and draw the decisions of a randomised classifier."""
    score = soft_predictions(pred, pos_label)
    truth = None if y is None else binary_labels(y, pos_label)
    names, codes = encode_groups(groups)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    propensities, pool_size = draws.get("propensities"), draws.get("pool_size")
    propensity_floor = draws.get("propensity_floor")
    drawn = None if propensities is None else np.asarray(propensities, dtype=np.float64)
    given = {"y": truth, "pred": score, "groups": codes, "sample_weight": weight, "propensities": drawn}
    if not check_lengths(**{name: len(v) for name, v in given.items() if v is not None}):
        raise ValueError("pred is empty: a certificate needs at least one row")
    if len(names) < 2:
        raise ValueError(f"groups must hold at least two groups, got only {names[0]!r}")
    if weight is not None and (not np.isfinite(weight).all() or (weight < 0).any()):
        raise ValueError("sample_weight must be finite and not negative")
    if drawn is not None and not ((drawn > 0) & (drawn <= 1)).all():
        raise ValueError("propensities must lie in (0, 1]: they are the probabilities of the draws made")
    if pool_size is not None and pool_size < len(score):
        raise ValueError(f"pool_size={pool_size} is smaller than the {len(score)} rows labelled")
    if propensity_floor is not None:
        if not 0 < propensity_floor <= 1:
            raise ValueError(f"propensity_floor must lie in (0, 1], got {propensity_floor}")
        if drawn is not None and drawn.min() < propensity_floor * (1 - 1e-9):
            raise ValueError(
                f"propensity_floor={propensity_floor} is not a floor: a row was drawn with {drawn.min():.3g}"
            )
    if ((score == 0) | (score == 1)).all():
        decision = score
    else:
        decision = (np.random.default_rng(random_state).random(len(score)) < score).astype(np.float64)
    return Sample(names, codes, truth, score, decision, weight, drawn, pool_size, propensity_floor)
