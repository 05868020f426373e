"""Many weighted logistic regressions on the same rows at once, by Newton's method.

The oracle asks for the same rows again and again with other targets and weights (other multipliers,
other label flips). Solving those problems as one batch turns them into a few matrix products.

Features that are many or sparse are reduced first. With a ridge, the best coefficients are a combination of
the rows they are fitted on. So n rows with d > n features are as good as n rows with at most n features: any
coordinates with the same inner products. In the principal axes of the rows the Hessian is nearly diagonal,
and conjugate gradients solve Newton's system in a few matrix products for all problems at once. Sparse rows
are used through their inner products alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairask.blas import small_problem
from fairask.classifiers import Classifier
from fairask.metrics import Bool, Float, Matrix

#: Ridge on the mean loss that stands in for "no penalty": it only keeps Newton finite when the
#: sample is separable, where the unpenalised optimum is at infinity.
SEPARABLE_RIDGE = 1e-5
#: Ridge on the intercept, for targets of one class.
INTERCEPT_RIDGE = 1e-7
#: Dense rows with up to this many features keep them: there is little to gain.
FEW_FEATURES = 200
#: Share of the ridge in the loss from which it may keep a fit from separating its rows.
_MATERIAL = 0.05
#: A Hessian is kept while each step still shrinks the decrement by this factor.
_STALE = 0.5
#: Halvings of a step, and conjugate gradients of one, in the space of the rows.
_MAX_HALVINGS, _MOST_INNER_STEPS = 20, 60

Single: TypeAlias = NDArray[np.float32]


def with_intercept(X: Float) -> Float:
    """Append the column of ones that carries the intercept.

    Examples
    --------
    >>> with_intercept(np.zeros((2, 1)))
    array([[0., 1.], [0., 1.]])
    """
    return np.hstack([X, np.ones((len(X), 1))])


def logistic_loss(signed: Float, weight: Float, beta: Float, penalty: Float) -> Float:
    """Penalised loss of each problem (p,) at signed scores (p, n) and coefficients (p, d).

    Examples
    --------
    >>> logistic_loss(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1))).round(3)
    array([0.693])
    """
    # log(1 + exp(-m)) without overflow; cheaper than logaddexp, which is not vectorised everywhere.
    loss = np.maximum(-signed, 0.0) + np.log1p(np.exp(-np.abs(signed)))
    return np.asarray((weight * loss).sum(axis=1) + 0.5 * (penalty * beta * beta).sum(axis=1))


def _inverse_hessian(X1: Single, curvature: Float, penalty: Float) -> Single:
    # The Hessian only preconditions, so single precision serves, and A.T @ A of one array is half the work.
    # (Fewer rows do not serve: rare one-hot levels vanish from them.)
    A = np.sqrt(curvature.astype(np.float32))[:, :, None] * X1
    hessian = np.matmul(A.transpose(0, 2, 1), A)
    diagonal = np.arange(X1.shape[1])
    largest = hessian[:, diagonal, diagonal].max(axis=1, keepdims=True)
    hessian[:, diagonal, diagonal] += penalty.astype(np.float32) + np.float32(1e-6) * largest
    return np.stack([_inverse(one) for one in hessian]) if len(hessian) else hessian


def _inverse(matrix: Single) -> Single:
    """Inverse of a positive definite matrix by its Cholesky factor: half the work of a general inverse."""
    factor, failed = lapack.spotrf(matrix, lower=0)
    if not failed:
        upper, failed = lapack.spotri(factor, lower=0)
        if not failed:
            whole = upper + upper.T  # the other triangle holds zeros
            whole.flat[:: len(whole) + 1] *= 0.5
            return np.asarray(whole)
    # Rounding in single precision can cost the last eigenvalue its sign; the general inverse still works.
    return np.linalg.inv(matrix.astype(np.float64)).astype(np.float32)


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients (p, d) and the inverse Hessians (p, d, d) that warm-start a neighbouring problem."""

    beta: Float
    inverse: Single


class LinePoint(NamedTuple):
    """Coefficients, signed scores and losses of several problems."""

    beta: Float
    signed: Float
    loss: Float


def take_step(
    at: LinePoint,
    step: Float,
    change: Float,
    decrement: Float,
    weight: Float,
    penalty: Float,
    halvings: int = 12,
) -> tuple[LinePoint, Bool]:
    """Go ``step`` down from ``at``; halve it where it does not lower the loss by a quarter of its promise.

    Returns where the step ended, and for which problems it was halved.
    ``change`` is what the step does to the signed scores, ``decrement`` the product of step and gradient.
    """
    size = np.ones(len(step))
    for _ in range(halvings):
        beta, signed = at.beta - size[:, None] * step, at.signed - size[:, None] * change
        loss = logistic_loss(signed, weight, beta, penalty)
        bad = loss > at.loss - 0.25 * size * decrement + 1e-14
        if not bad.any():
            break
        size = np.where(bad, 0.5 * size, size)
    else:
        beta, signed = at.beta - size[:, None] * step, at.signed - size[:, None] * change
    return LinePoint(beta, signed, loss), size < 1.0


def solve_logistic(
    X1: Float,
    target: Float,
    weight: Float,
    *,
    ridge: float | Float = SEPARABLE_RIDGE,
    start: LogisticFit | None = None,
    X1_single: Single | None = None,
    max_iter: int = 60,
    tol: float = 1e-4,
) -> LogisticFit:
    """Solve ``p`` weighted ridge logistic regressions that share their rows.

    Newton's method with a line search. A Hessian costs d times a gradient, so it is kept, also across
    calls, until it no longer makes good progress.

    Parameters
    ----------
    X1 : ndarray of shape (n, d)
        Rows; the last column is the intercept's (see :func:`with_intercept`).
    target, weight : ndarray of shape (p, n)
        0/1 targets and non-negative weights of each problem.
    ridge : float or ndarray of shape (p,) or (p, d)
        Penalty ``ridge / 2 * |beta|^2`` on the weighted *mean* loss, intercept excluded; one for each
        problem, or for each of its coefficients.
    start : LogisticFit, optional
        Warm start: the fits of similar problems.
    X1_single : ndarray, optional
        ``X1`` in single precision, when the caller keeps it.
    tol : float
        A problem is done when its Newton decrement (twice the loss still to gain) is below this.

    Examples
    --------
    >>> X1 = with_intercept(np.array([[-1.0], [0.0], [1.0], [2.0]]))
    >>> y = np.array([[0.0, 1.0, 0.0, 1.0]])
    >>> solve_logistic(X1, y, np.ones((1, 4)), tol=1e-12).beta.round(2)
    array([[ 0.91, -0.45]])
    """
    with small_problem(len(target) * X1.size):
        p, d = len(target), X1.shape[1]
        single = X1.astype(np.float32) if X1_single is None else X1_single
        weight = weight / weight.sum(axis=1, keepdims=True)
        if np.ndim(ridge) == 2:
            penalty = np.array(np.broadcast_to(ridge, (p, d)), dtype=np.float64)
        else:
            penalty = np.tile(np.broadcast_to(ridge, p)[:, None], (1, d))
        penalty[:, -1] = INTERCEPT_RIDGE
        beta = np.zeros((p, d)) if start is None else start.beta.copy()
        inverse = np.zeros((p, d, d), dtype=np.float32) if start is None else start.inverse.copy()
        fresh = np.full(p, start is None)
        sign = 2.0 * target - 1.0
        signed = sign * (beta @ X1.T)
        loss = logistic_loss(signed, weight, beta, penalty)
        last = np.full(p, np.inf)
        live = np.arange(p)
        for _ in range(max_iter):
            b, s, m, w, r = beta[live], sign[live], signed[live], weight[live], penalty[live]
            wrong = expit(-m)
            slope = w * wrong  # -d loss / d signed score
            gradient = r * b - (slope * s) @ X1
            if fresh[live].any():
                renew = fresh[live]
                inverse[live[renew]] = _inverse_hessian(single, (slope * (1.0 - wrong))[renew], r[renew])
            step = np.einsum("pij,pj->pi", inverse[live], gradient)
            decrement = (gradient * step).sum(axis=1)
            moved, halved = take_step(LinePoint(b, m, loss[live]), step, s * (step @ X1.T), decrement, w, r)
            beta[live], signed[live], loss[live] = moved
            fresh[live] = (decrement > _STALE * last[live]) | halved
            last[live] = decrement
            # The decrement was measured before this step, so a problem stops one step better than asked.
            live = live[decrement > tol]
            if not len(live):
                break
        return LogisticFit(beta, inverse)


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

    def lift(self, beta: Float) -> Float:
        """Coefficients (p, d) on the features from those (p, r) on the coordinates; any behind them stay."""
        if not self.reduced:
            return beta
        own, others = np.split(beta, [self.Z.shape[1]], axis=1)
        rows = self.Z @ (own / (self.Z**2).sum(axis=0)).T
        return np.hstack([(self.X.T @ rows).T, others])

    def lower(self, beta: Float) -> Float:
        """The reverse of :meth:`lift`, for coefficients that the rows span."""
        if not self.reduced:
            return beta
        own, others = np.split(beta, [self.X.shape[1]], axis=1)
        scores = np.asarray(self.X @ own.T)
        return np.hstack([(self.Z.T @ scores).T / (self.Z**2).sum(axis=0), others])


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
        the intercept's, which has :data:`INTERCEPT_RIDGE` whatever is given.
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
        moved, _ = take_step(
            LinePoint(b, m, loss[live]), step, s * (step @ X1.T), decrement, w, r, _MAX_HALVINGS
        )
        beta[live], signed[live], loss[live] = moved
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


def held_back(X: Float, y: Float, weight: Float, beta: Float) -> bool:
    """Whether rows can be separated, and the ridge that stands for "no penalty" keeps a fit from it.

    Rows that are only just separable need coefficients of hundreds. The ridge stops them at tens, with some
    rows still wrong. A thousandth of it tells, where it is a material part of the loss.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 0.0, 1.0])
    >>> held_back(X, y, np.ones(3), np.array([0.9, -0.5]))
    False
    """
    X1, sign = with_intercept(X), 2.0 * y - 1.0
    total = weight.sum()
    ridge = 0.5 * SEPARABLE_RIDGE * float(beta[:-1] @ beta[:-1])
    if ridge < _MATERIAL * float(weight @ np.logaddexp(0.0, -sign * (X1 @ beta))) / total:
        return False
    fit = solve_logistic(
        X1, y[None], weight[None] + 1e-12, ridge=1e-3 * SEPARABLE_RIDGE, tol=1e-8, max_iter=300
    )
    return bool((sign * (X1 @ fit.beta[0]) > 0)[weight > 0].all())


def fast_ridge(estimator: Classifier | None, n_rows: int) -> float | None:
    """Ridge on the mean loss that makes the fast path equal to ``estimator``; None if it cannot be.

    Examples
    --------
    >>> fast_ridge(LogisticRegression(C=2.0), 10)
    0.05
    >>> fast_ridge(LogisticRegression(l1_ratio=1.0, solver="saga"), 10) is None
    True
    """
    if estimator is None:
        return SEPARABLE_RIDGE
    if type(estimator) is not LogisticRegression:
        return None
    given = estimator.get_params()
    plain = (
        given.get("penalty") in ("deprecated", "l2", None)
        and not given.get("l1_ratio")
        and given["class_weight"] is None
        and given["fit_intercept"]
        and given["solver"] != "liblinear"  # liblinear penalises the intercept too
    )
    if not plain:
        return None
    if given.get("penalty") is None or np.isinf(given["C"]):
        return SEPARABLE_RIDGE
    return float(max(1.0 / (given["C"] * n_rows), SEPARABLE_RIDGE))
