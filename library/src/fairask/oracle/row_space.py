"""Logistic regressions in the space of the labelled rows, for features that are many or sparse.

With a ridge, the best coefficients are a combination of the rows they are fitted on. So n rows with d > n
features are as good as n rows with at most n features: any coordinates with the same inner products. In the
principal axes of the rows the Hessian is nearly diagonal, and conjugate gradients solve Newton's system in a
few matrix products for all problems at once. Sparse rows are used through their inner products alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit

from fairask.metrics import Float, Matrix
from fairask.oracle.logistic import INTERCEPT_RIDGE, LinePoint, logistic_loss, take_step

Single: TypeAlias = NDArray[np.float32]

#: Dense rows with up to this many features keep them: there is little to gain.
FEW_FEATURES = 200
_MAX_HALVINGS = 20
_MOST_INNER_STEPS = 60


@dataclass(frozen=True)
class RowSpace:
    """Rows in coordinates of their own space.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows.
    Z : ndarray of shape (n, r)
        Their coordinates, ``Z @ Z.T == X @ X.T``, along principal axes: the columns are orthogonal. Or ``X``
        itself.
    """

    X: Matrix
    Z: Float

    @property
    def reduced(self) -> bool:
        """Whether the coordinates are others than the features."""
        return self.Z is not self.X

    def lift(self, coordinates: Float) -> Float:
        """Coefficients on the features (p, d) from those on the coordinates (p, r)."""
        if not self.reduced:
            return coordinates
        rows = self.Z @ (coordinates / (self.Z**2).sum(axis=0)).T
        return np.asarray((self.X.T @ rows).T)

    def lower(self, coefficients: Float) -> Float:
        """Coefficients on the coordinates (p, r) from those on the features, which the rows must span."""
        if not self.reduced:
            return coefficients
        scores = np.asarray(self.X @ coefficients.T)
        return np.asarray((self.Z.T @ scores).T / (self.Z**2).sum(axis=0))


def row_space(X: Matrix) -> RowSpace:
    """Return coordinates of the rows of ``X``; dense rows with few features, or enough rows, keep them.

    Examples
    --------
    >>> space = row_space(np.eye(2, 300) * [[3.0], [4.0]])
    >>> abs(space.Z).tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    >>> bool(np.allclose(space.lift(space.Z), space.X))
    True
    """
    n, d = X.shape
    if not issparse(X):
        X = np.asarray(X, dtype=np.float64)
        if d <= max(n, FEW_FEATURES):
            return RowSpace(X, X)
    gram = X @ X.T
    values, vectors = np.linalg.eigh(gram.toarray() if issparse(gram) else gram)
    # Smaller values are rounding noise: rows that depend on others.
    kept = values > n * np.finfo(np.float64).eps * max(float(values[-1]), 1e-300)
    if not kept.any():  # all rows are zero
        kept[-1], values[-1] = True, 1e-300
    return RowSpace(X, vectors[:, kept] * np.sqrt(values[kept]))


def solve_in_row_space(
    X1: Float,
    target: Float,
    weight: Float,
    penalty: Float,
    *,
    start: Float | None = None,
    max_iter: int = 100,
    tol: float = 1e-10,
) -> Float:
    """Solve ``p`` weighted ridge logistic regressions by Newton's method with conjugate gradients.

    Parameters
    ----------
    X1 : ndarray of shape (n, r)
        Coordinates of a :class:`RowSpace`, and further columns such as the intercept's.
    target, weight : ndarray of shape (p, n)
    penalty : ndarray of shape (p, r)
        ``penalty / 2 * beta^2`` is added to the weighted mean loss, coefficient by coefficient. The last is
        the intercept's, which has :data:`fairask.oracle.logistic.INTERCEPT_RIDGE` whatever is given.
    start : ndarray of shape (p, r), optional
        Coefficients of similar problems.
    tol : float
        A problem is done when its Newton decrement (twice the loss still to gain) is below this.

    Examples
    --------
    >>> X1 = np.array([[-1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> y, penalty = np.array([[0.0, 1.0, 0.0, 1.0]]), np.full((1, 2), 1e-7)
    >>> solve_in_row_space(X1, y, np.ones((1, 4)), penalty).round(2)
    array([[ 0.91, -0.45]])
    """
    weight = weight / weight.sum(axis=1, keepdims=True)
    penalty = np.hstack([penalty[:, :-1], np.full((len(penalty), 1), INTERCEPT_RIDGE)])
    beta = np.zeros((len(target), X1.shape[1])) if start is None else start.copy()
    sign = 2.0 * target - 1.0
    signed = sign * (beta @ X1.T)
    loss = logistic_loss(signed, weight, beta, penalty)
    single, squares = X1.astype(np.float32), X1 * X1
    live = np.arange(len(target))
    for _ in range(max_iter):
        b, s, m, w, r = beta[live], sign[live], signed[live], weight[live], penalty[live]
        wrong = expit(-m)
        curvature = w * wrong * (1.0 - wrong)
        gradient = r * b - (w * wrong * s) @ X1
        parts = (curvature, r, gradient, curvature @ squares + r)
        step = _newton_steps(single, *(part.astype(np.float32) for part in parts))
        decrement = (gradient * step).sum(axis=1)
        moved = take_step(
            LinePoint(b, m, loss[live]), step, s * (step @ X1.T), decrement, w, r, _MAX_HALVINGS
        )
        beta[live], signed[live], loss[live] = moved.point
        live = live[decrement > tol]
        if not len(live):
            break
    return beta


def _newton_steps(
    X1: Single, curvature: Single, penalty: Single, gradient: Single, diagonal: Single
) -> Float:
    """Solve ``(X1.T C X1 + P) step = gradient`` for each problem, by preconditioned conjugate gradients.

    Single precision serves: a step that is off by rounding costs part of a further step at most.
    """
    steps = np.zeros(gradient.shape)
    step, residual = np.zeros_like(gradient), gradient.copy()
    scaled = residual / diagonal
    direction, size = scaled.copy(), np.einsum("pi,pi->p", residual, scaled)
    # The better the point, the more exact the step: that keeps Newton's fast convergence.
    enough = np.maximum(size * np.minimum(1e-2, size), 1e-12 * size)
    live = np.arange(len(gradient))
    for _ in range(_MOST_INNER_STEPS):
        going = size > enough
        if not going.all():
            steps[live[~going]] = step[~going]
            live, size, enough = live[going], size[going], enough[going]
            step, residual, direction = step[going], residual[going], direction[going]
            curvature, penalty, diagonal = curvature[going], penalty[going], diagonal[going]
            if not len(live):
                break
        image = (curvature * (direction @ X1.T)) @ X1 + penalty * direction
        length = size / np.einsum("pi,pi->p", direction, image)
        step += length[:, None] * direction
        residual -= length[:, None] * image
        scaled = residual / diagonal
        new = np.einsum("pi,pi->p", residual, scaled)
        direction *= (new / size)[:, None]
        direction += scaled
        size = new
    steps[live] = step
    return steps
