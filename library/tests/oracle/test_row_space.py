"""More features than rows, and sparse features: the same answers, in the space of the rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fairask.oracle import Labelled, probability
from fairask.oracle.logistic import INTERCEPT_RIDGE, RowSpace, row_space, solve_in_row_space
from fairask.oracle.probability import calibrate, folds_by_label, perturb


def wide(n=80, d=300, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 2
    factors = rng.normal(size=(n, 5))
    X = factors @ rng.normal(size=(5, d)) + rng.normal(size=(n, d))
    y = (factors[:, 0] + 0.5 * groups + rng.normal(size=n) > 0).astype(float)
    return Labelled.of(X, y, groups, ["a", "b"], rng.random(n) + 0.2)


@pytest.mark.parametrize("ridge", [1e-3, 1e-1])
def test_the_answer_is_scikit_learns(ridge):
    rows = wide()
    space = row_space(rows.X)
    n = len(rows)
    X1 = np.hstack([space.Z, np.ones((n, 1))])
    beta = solve_in_row_space(X1, rows.y[None], rows.risk_weights[None], np.full((1, X1.shape[1]), ridge))
    weight = rows.risk_weights * n / rows.risk_weights.sum()
    # A column of this size has the intercept's own, very small ridge.
    ones = np.full((n, 1), np.sqrt(ridge / INTERCEPT_RIDGE))
    settings = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000, "fit_intercept": False}
    model = LogisticRegression(C=1 / (ridge * n), **settings)
    model.fit(np.hstack([rows.X, ones]), rows.y, sample_weight=weight)
    np.testing.assert_allclose(space.lift(beta[:, :-1])[0], model.coef_[0, :-1], atol=1e-6)


def test_a_reduced_calibration_is_the_one_on_all_features(monkeypatch):
    rows = wide()
    fold = folds_by_label(rows.groups, rows.y, 5, np.random.default_rng(0))
    solve = probability.solve_logistic
    monkeypatch.setattr(
        probability, "solve_logistic", lambda *a, **k: solve(*a, **{**k, "tol": 1e-16, "max_iter": 500})
    )
    reduced = calibrate(rows, fold, ridges=(1e-2, 1e-1))
    monkeypatch.setattr(probability, "row_space", lambda X: RowSpace(X, X))
    plain = calibrate(rows, fold, ridges=(1e-2, 1e-1))
    assert not plain.space.reduced
    assert reduced.space.reduced
    np.testing.assert_allclose(
        reduced.model.proba(rows.X, rows.groups), plain.model.proba(rows.X, rows.groups), atol=1e-6
    )
    labels, weights = np.tile(rows.y, (3, 1)), np.random.default_rng(1).exponential(size=(3, len(rows)))
    pairs = zip(*(perturb(c, rows, labels, weights, None) for c in (reduced, plain)), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one.beta, other.beta, atol=1e-6)


def test_rows_that_repeat_have_fewer_coordinates():
    X = np.random.default_rng(0).normal(size=(5, 300))
    space = row_space(np.vstack([X, X]))
    assert space.Z.shape == (10, 5)
    np.testing.assert_allclose(space.Z @ space.Z.T, np.vstack([X, X]) @ np.vstack([X, X]).T, atol=1e-9)
    beta = X[:2]
    np.testing.assert_allclose(space.lift(space.lower(beta)), beta, atol=1e-9)


def test_rows_of_zeros_are_no_error():
    space = row_space(sparse.csr_matrix((4, 10)))
    np.testing.assert_array_equal(space.lift(np.ones((1, space.Z.shape[1]))), np.zeros((1, 10)))


def test_narrow_rows_keep_their_features():
    X = np.ones((4, 2))
    assert not row_space(X).reduced
