"""Decisions of k rules on a block of rows, packed into one small integer per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.sparse import issparse

from fairask.matrix import row_count, take_rows
from fairask.metrics import Bool, Float, Int, Matrix
from fairask.pools.cells import Codes
from fairask.rules import GroupLinearRule, LinearRule, Rule, decide

#: A code has one bit per rule but the first.
MOST_RULES = 64

#: Rows multiplied at a time: their features, predictions and codes fit in the second-level cache.
_SLICE = 1 << 14


def linear_scores(beta: Float, X: Matrix) -> Float:
    """``X @ beta[:-1] + beta[-1]`` in double precision, summed in the order of the features.

    A matrix product may round the same row differently in a block of another shape. A sum feature by
    feature does not, so a row gets the same bits in every pool.

    Examples
    --------
    >>> linear_scores(np.array([2.0, 1.0]), np.array([[0.5], [1.0]], dtype=np.float32))
    array([2., 3.])
    """
    if issparse(X):  # a sparse product sums row by row, in the order of the columns
        return np.asarray(X @ beta[:-1] + beta[-1], dtype=np.float64)
    total = np.full(len(X), beta[-1], dtype=np.float64)
    for start in range(0, len(X), _SLICE):
        out = total[start : start + _SLICE]
        for column, weight in zip(X[start : start + _SLICE].T, beta[:-1], strict=True):
            out += weight * column.astype(np.float64)
    return total


def by_row(X: Matrix) -> Matrix:
    """Return the features with the values of a row next to each other.

    Many classifiers round differently where features are stored one by one, as columns of a table are.

    Examples
    --------
    >>> by_row(np.zeros((2, 3), order="F")).flags.c_contiguous
    True
    """
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


def decisions(rules: Sequence[Rule], X: Matrix, groups: Int | None = None) -> Bool:
    """Whether each rule predicts 1 on each row, (rules, rows); does not depend on the block of the row.

    Rules that are aware of the group need its codes. Linear rules share one matrix product in the precision
    of ``X``. Where its rounding error could change a sign, which is the case for a few rows in a million, the
    score is summed again in double precision, in the order of the features.

    Examples
    --------
    >>> from fairask.rules import ConstantRule
    >>> decisions([LinearRule(np.array([1.0, -0.5])), ConstantRule(True)], np.array([[0.0], [1.0]]))
    array([[False,  True], [ True,  True]])
    """
    linear = LinearRule if groups is None else LinearRule | GroupLinearRule
    if not (isinstance(X, np.ndarray) and all(isinstance(rule, linear) for rule in rules)):
        if len(rules) == 1:
            return decide(rules, by_row(X), groups)
        return np.concatenate([decisions([rule], X, groups) for rule in rules])
    if not len(X):
        return np.zeros((len(rules), 0), dtype=bool)
    if X.dtype.kind != "f":
        X = X.astype(np.float64)
    cuts = linear_cuts(rules, max(float(X.max()), -float(X.min())), X.dtype)
    beta, column = cuts.beta, groups if cuts.by_group else None
    scores = beta[:, :-1].astype(X.dtype) @ X.T
    surely = scores > (cuts.upper if column is None else cuts.upper[:, column])
    maybe = scores > (cuts.lower if column is None else cuts.lower[:, column])
    maybe ^= surely
    if maybe.any():
        which, row = np.nonzero(maybe)
        total = beta[which, -1]
        for j in range(X.shape[1]):
            total = total + beta[which, j] * X[row, j].astype(np.float64)
        surely[which, row] = total > cuts.exact[which, 0 if column is None else column[row]]
    return np.asarray(surely)


class LinearCuts(NamedTuple):
    """Linear rules as cuts on the scores ``x @ beta[:-1]``, with what rounding can do to a score.

    Above ``upper`` a rule surely predicts 1, up to ``lower`` surely 0. Between the two, the score is summed
    again in double precision, feature by feature from ``beta[-1]`` on, and compared with ``exact``. So every
    engine that multiplies in this precision, in whatever order, decides each row alike.
    """

    beta: Float  #: (rules, features + 1)
    exact: Float  #: (rules, 1), or (rules, groups) where cuts differ by group
    lower: NDArray[np.floating]  #: as ``exact``, less ``beta[-1]``, in the precision of the scores
    upper: NDArray[np.floating]

    @property
    def by_group(self) -> bool:
        """Whether the cut of a row depends on its group."""
        return bool(self.exact.shape[1] > 1)


def linear_cuts(rules: Sequence[Rule], largest: float, dtype: npt.DTypeLike) -> LinearCuts:
    """Return the cuts of linear rules for scores computed in ``dtype``.

    ``largest`` bounds the absolute value of the features.

    Examples
    --------
    >>> cuts = linear_cuts([LinearRule(np.array([1.0, -0.5]))], 2.0, np.float32)
    >>> bool(cuts.lower[0, 0] < 0.5 < cuts.upper[0, 0])
    True
    """
    beta = np.array(
        [rule.beta for rule in rules if isinstance(rule, LinearRule | GroupLinearRule)], dtype=np.float64
    )
    # |x.b| is computed to within (d + 1) unit roundoffs of sum |x||b|; eps is two of them.
    slack = (beta.shape[1] + 3) * float(np.finfo(dtype).eps)
    doubt = slack * (np.abs(beta[:, :-1]).sum(axis=1) * largest + np.abs(beta[:, -1]))
    exact = _exact_cuts(rules)
    doubt = doubt + slack * np.abs(np.where(np.isfinite(exact), exact, 0.0)).max(axis=1)
    upper = (exact + (doubt - beta[:, -1])[:, None]).astype(dtype)
    lower = (exact + (-doubt - beta[:, -1])[:, None]).astype(dtype)
    return LinearCuts(beta, exact, lower, upper)


def _exact_cuts(rules: Sequence[Rule]) -> Float:
    """Score above which each rule predicts 1, (rules, 1) or (rules, groups)."""
    by_group = [rule.cuts for rule in rules if isinstance(rule, GroupLinearRule)]
    if not by_group:
        return np.zeros((len(rules), 1))
    zeros = np.zeros_like(by_group[0])
    return np.array([rule.cuts if isinstance(rule, GroupLinearRule) else zeros for rule in rules])


def code_dtype(k: int) -> np.dtype[np.unsignedinteger]:
    """Smallest unsigned type that holds the codes of k rules.

    Examples
    --------
    >>> code_dtype(10)
    dtype('uint16')
    """
    if not 2 <= k <= MOST_RULES:
        raise ValueError(f"2 to {MOST_RULES} classifiers are compared, got {k}")
    bits = next(bits for bits in (8, 16, 32, 64) if k - 1 <= bits)
    return np.dtype(f"u{bits // 8}")


def pattern_codes(rules: Sequence[Rule], X: Matrix, groups: Int | None = None) -> Codes:
    """One code per row: bit i - 1 says whether rule i differs from rule 0, so complements share a code.

    Examples
    --------
    >>> rules = [LinearRule(np.array([1.0, 0.0])), LinearRule(np.array([1.0, -1.0]))]
    >>> pattern_codes(rules, np.array([[-1.0], [0.5], [2.0]])).tolist()
    [0, 1, 0]
    """
    dtype = code_dtype(len(rules))
    n = row_count(X)
    codes = np.zeros(n, dtype=dtype)
    for start in range(0, n, _SLICE):
        part = take_rows(X, slice(start, start + _SLICE))
        predicted = decisions(rules, part, None if groups is None else groups[start : start + _SLICE])
        out = codes[start : start + _SLICE]
        bit = np.empty_like(out)
        for i in range(1, len(rules)):
            np.multiply(predicted[i] ^ predicted[0], dtype.type(1 << (i - 1)), out=bit)
            out |= bit
    return codes
