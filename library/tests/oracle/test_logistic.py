import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairask.errors import InterpolationWarning
from fairask.oracle import EmpiricalFairOracle
from fairask.oracle.empirical import best_shift
from fairask.oracle.logistic import fast_ridge, held_back, solve_logistic, with_intercept


def problems(p=4, n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X @ rng.normal(size=d)
    target = (signal[None, :] + rng.normal(size=(p, n)) * 2 > 0).astype(float)
    return X, target, rng.random((p, n)) + 0.1


@pytest.mark.parametrize("C", [0.3, 10.0, np.inf])
def test_a_batch_equals_scikit_learn_one_by_one(C):
    X, target, weight = problems()
    weight *= weight.shape[1] / weight.sum(axis=1, keepdims=True)
    ridge = fast_ridge(LogisticRegression(C=C), len(X))
    beta = solve_logistic(with_intercept(X), target, weight, ridge=ridge, tol=1e-12).beta
    for b, t, w in zip(beta, target, weight, strict=True):
        model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, t, sample_weight=w)
        np.testing.assert_allclose(b[:-1], model.coef_[0], rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(b[-1], model.intercept_[0], rtol=2e-3, atol=1e-4)


def test_problems_of_a_batch_do_not_touch_each_other():
    X, target, weight = problems()
    together = solve_logistic(with_intercept(X), target, weight, tol=1e-10).beta
    alone = [solve_logistic(with_intercept(X), target[[i]], weight[[i]], tol=1e-10).beta[0] for i in range(4)]
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_separable_and_one_class_samples_stay_finite():
    X = np.linspace(-1, 1, 20)[:, None]
    target = np.stack([(X[:, 0] > 0).astype(float), np.ones(20)])
    beta = solve_logistic(with_intercept(X), target, np.ones((2, 20))).beta
    assert np.isfinite(beta).all()
    predicted = beta @ with_intercept(X).T > 0
    np.testing.assert_array_equal(predicted, target == 1)


def test_a_warm_start_reaches_the_same_optimum():
    X, target, weight = problems()
    X1 = with_intercept(X)
    first = solve_logistic(X1, target, weight, tol=1e-10)
    moved = weight * np.where(target == 1, 1.5, 1.0)
    warm = solve_logistic(X1, target, moved, start=first, tol=1e-12).beta
    cold = solve_logistic(X1, target, moved, tol=1e-12).beta
    np.testing.assert_allclose(warm, cold, atol=1e-4)


def test_the_shift_is_the_cheapest_of_all_thresholds():
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores, costs = rng.normal(size=(3, 12)).round(1), rng.normal(size=(3, 12))
        shift = best_shift(scores, costs)
        for s, c, t in zip(scores, costs, shift, strict=True):
            options = [c[s > edge].sum() for edge in np.r_[s.min() - 1, s]]
            assert c[s > t].sum() == pytest.approx(min(options))


def test_rows_that_are_only_just_separable_are_said_to_be():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 100))
    y = (X @ rng.normal(size=100) * 0.3 + rng.normal(size=400) * 1.2 > 0).astype(int)
    with pytest.warns(InterpolationWarning, match="only just"):
        oracle = EmpiricalFairOracle().fit(X, y, rng.integers(2, size=400))
    assert oracle.interpolates_
    beta = solve_logistic(with_intercept(X), y[None].astype(float), np.ones((1, 400))).beta[0]
    assert np.mean((with_intercept(X) @ beta > 0) != y) > 0.02  # what the ridge leaves wrong
    assert held_back(X, y.astype(float), np.ones(400), beta)
    y[:60] = 1 - y[:60]  # far from separable: nothing to say
    beta = solve_logistic(with_intercept(X), y[None].astype(float), np.ones((1, 400))).beta[0]
    assert not held_back(X, y.astype(float), np.ones(400), beta)
