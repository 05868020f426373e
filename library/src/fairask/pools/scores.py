"""Scores by which rows of a pool are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit

from fairask.matrix import row_count
from fairask.metrics import Float, Int, Matrix
from fairask.pools.codes import by_row, linear_scores
from fairask.rules import GroupLinearRule, LinearRule, Rule


@dataclass(frozen=True)
class DistanceToHalf:
    """``|p(x) - 1/2|``, p averaged over the members of a mixture.

    For thresholds by group, p is one half at the group's own threshold.

    Examples
    --------
    >>> DistanceToHalf([LinearRule(np.array([1.0, 0.0]))], [1.0])(np.array([[0.0]]))
    array([0.])
    """

    rules: Sequence[Rule]
    weights: Sequence[float] | Float

    @property
    def threads(self) -> bool:
        """Whether it may be called from several threads."""
        return all(rule.thread_safe for rule in self.rules)

    def __call__(self, X: Matrix, groups: Int | None = None) -> Float:
        """Return one number per row; it does not depend on the block that the row is in."""
        p = np.zeros(row_count(X))
        for rule, weight in zip(self.rules, self.weights, strict=True):
            p += weight * _proba(rule, X, groups)
        return np.asarray(np.abs(p - 0.5))


def _proba(rule: Rule, X: Matrix, groups: Int | None) -> Float:
    if isinstance(rule, LinearRule | GroupLinearRule) and (isinstance(X, np.ndarray) or issparse(X)):
        cut = rule.cuts[groups] if isinstance(rule, GroupLinearRule) else 0.0
        return np.asarray(expit(linear_scores(rule.beta, X) - cut))
    return rule.proba(by_row(X), groups)
