"""FAL: its refits, its variants."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairask import EmpiricalFairOracle, FairActiveLearner, group_gap
from fairask.datasets import load
from fairask.oracle.logistic import solve_logistic, with_intercept
from fairask.strategies import Fal
from fairask.strategies.baseline import Disparity, fit_plain
from fairask.testing import make_problem


def test_the_plain_model_is_scikit_learns():
    problem = make_problem(Fal())
    ours = fit_plain(problem.labelled.X, problem.labelled.y).beta
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(problem.labelled.X, problem.labelled.y)
    np.testing.assert_allclose(ours, [*theirs.coef_[0], theirs.intercept_[0]], atol=1e-3)


def test_refits_converge_to_full_refits():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(250, 10)), rng.normal(size=(20, 10))
    y = (X[:, 0] + rng.normal(size=250) > 0).astype(float)
    full = np.array([[fit_plain(np.vstack([X, u]), np.append(y, c)).beta for c in (0.0, 1.0)] for u in U])
    model = fit_plain(X, y)
    errors = [np.abs(model.refit(U, steps) - full).max() for steps in (1, 2, 3, 8)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-5
    assert errors[0] < 0.2 * np.abs(full - model.beta).max()


def test_disparity_is_the_metric():
    rng = np.random.default_rng(1)
    X, y, g = rng.normal(size=(60, 2)), rng.integers(2, size=60).astype(float), rng.integers(3, size=60)
    betas = rng.normal(size=(5, 3))
    for metric in ("tprp", "fprp", "eo", "dp"):
        expected = [group_gap(y, (X @ b[:-1] + b[-1] > 0).astype(float), g, metric) for b in betas]
        np.testing.assert_allclose(Disparity(X, y, g, 3, metric)(betas), expected, atol=1e-12)


def test_disparity_of_an_unknown_rate_is_zero():
    disparity = Disparity(np.ones((3, 1)), np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1]), 2)
    assert disparity(np.array([[1.0, 0.0]])).tolist() == [0.0]


@pytest.mark.slow
def test_choices_agree_with_full_refits():
    data = load("german")
    y, codes = data.y.astype(float), np.unique(data.groups, return_inverse=True)[1]
    agreed = []
    for seed in range(2):
        learner = FairActiveLearner(
            data.X,
            data.groups,
            strategy=Fal(pretrain=30, candidates=20),
            tolerance=1.0,
            margin=None,
            oracle=EmpiricalFairOracle(LogisticRegression(C=1.0), shift_threshold=False),
            risk_weights="none",
            fairness_weights="none",
            batch_size=1,
            random_state=seed,
        )
        query = learner.ask(30)
        learner.tell(query.indices, data.y[query.indices])
        while len(rows := learner.labelled_indices_) < 80:
            query = learner.ask()
            if len(rows) % 2 == 0:
                agreed.append(query.indices[0] == _full_choice(data.X, y, codes, rows, 30, 20))
            learner.tell(query.indices, data.y[query.indices])
    assert len(agreed) == 50
    assert np.mean(agreed) >= 0.95


def _full_choice(X, y, codes, rows, pretrain, n_candidates):
    """The row that FAL would choose if every refit started anew: all refits are one batch of problems."""

    def fitted(at, labels, weight):
        fit = solve_logistic(with_intercept(X[at]), labels, weight, ridge=1.0 / weight[0].sum(), tol=1e-14)
        return fit.beta

    (beta,) = fitted(rows, y[None, rows], np.ones((1, len(rows))))
    left = np.setdiff1d(np.arange(len(y)), rows)
    p = expit(X[left] @ beta[:-1] + beta[-1])
    near = np.argsort(np.abs(p - 0.5), kind="stable")[:n_candidates]
    # Problem 2 i + c: the labelled rows, and candidate i with label c.
    own = np.repeat(np.eye(len(near)), 2, axis=0)
    labels = np.tile(np.append(y[rows], np.zeros(len(near))), (len(own), 1))
    labels[1::2, len(rows) :] = 1.0
    weight = np.hstack([np.ones((len(own), len(rows))), own])
    betas = fitted(np.append(rows, left[near]), labels, weight)
    at = rows[:pretrain]
    after = [group_gap(y[at], (X[at] @ b[:-1] + b[-1] > 0).astype(float), codes[at]) for b in betas]
    no, yes = np.array(after).reshape(-1, 2).T
    return left[near[int(np.argmin(no + p[near] * (yes - no)))]]


def test_the_first_labels_are_uniform():
    problem = make_problem(Fal(), n_labels=10)
    assert list(problem.propose(Fal(pretrain=11)).components) == ["uniform"]
    assert problem.propose(Fal(pretrain=10)).ranking is not None


def test_nested_takes_from_the_most_uncertain():
    problem = make_problem(Fal())
    model = fit_plain(problem.labelled.X, problem.labelled.y)
    p = expit(problem.pool.X @ model.beta[:-1] + model.beta[-1])[problem.pool.rows]
    uncertain = problem.pool.rows[np.argsort(np.abs(p - 0.5))]
    ranking = problem.propose(Fal(candidates=8)).ranking
    assert set(ranking[:8]) == set(uncertain[:8])
    assert ranking[8:].tolist() == uncertain[8:].tolist()


@pytest.mark.parametrize("variant", ["alpha_aggregate", "fair_by_covariance"])
def test_alpha_one_is_uncertainty_alone(variant):
    problem = make_problem(Fal())
    model = fit_plain(problem.labelled.X, problem.labelled.y)
    p = expit(problem.pool.X @ model.beta[:-1] + model.beta[-1])[problem.pool.rows]
    ranking = problem.propose(Fal(variant=variant, alpha=1.0)).ranking
    assert ranking.tolist() == problem.pool.rows[np.argsort(np.abs(p - 0.5))].tolist()
    assert problem.propose(Fal(variant=variant, alpha=0.0)).ranking.tolist() != ranking.tolist()


def test_adaptive_alpha_falls_from_one_to_zero_in_eleven_steps():
    fal = Fal(variant="alpha_aggregate", alpha="adaptive", pretrain=10, budget=120)
    alphas = [fal._alpha(n) for n in range(10, 120)]
    assert alphas[0] == 1.0
    assert alphas[-1] == 0.0
    np.testing.assert_allclose(np.unique(alphas), np.linspace(0.0, 1.0, 11), atol=1e-12)


def test_appended_rows_are_those_that_made_the_gap_fall():
    fal = Fal(variant="nested_append", pretrain=15)
    labelled = make_problem(fal).labelled
    unfairness = Disparity(labelled.X[:15], labelled.y[:15], labelled.groups[:15], 2)
    weight = fal._appended(labelled, unfairness)
    assert set(weight) == {1.0, 2.0}
    assert (weight[:15] == 1.0).all()

    def value(n, last):
        w = np.append(weight[: n - 1], last)
        return unfairness(fit_plain(labelled.X[:n], labelled.y[:n], w).beta[None])[0]

    for i in range(15, 40):
        assert (value(i + 1, 1.0) < value(i, weight[i - 1])) == (weight[i] == 2.0)


def test_covariance_gain_is_the_definition():
    from fairask.strategies.fal import _covariance_gain

    problem = make_problem(Fal())
    labelled, pool = problem.labelled, problem.pool
    model = fit_plain(labelled.X, labelled.y)
    p = np.full(len(pool), 0.3)
    gain = _covariance_gain(labelled, model, pool, pool.X, p)
    s = [np.cov(pool.X[:, i], pool.groups, bias=True)[0, 1] for i in range(3)]
    price = np.abs(model.beta[:-1] * s)

    def r(X, y):
        return np.abs([np.cov(X[:, i], y, bias=True)[0, 1] for i in range(3)])

    x = pool.X[pool.rows[4]]
    after = [r(np.vstack([labelled.X, x]), np.append(labelled.y, c)) for c in (0.0, 1.0)]
    now = r(labelled.X, labelled.y)
    assert gain[4] == pytest.approx(price @ (0.7 * (now - after[0]) + 0.3 * (now - after[1])))


def test_a_pool_of_words_is_refused():
    problem = make_problem(Fal())
    from dataclasses import replace

    words = replace(problem.labelled, X=np.full((40, 3), "x", dtype=object))
    with pytest.raises(TypeError, match="'fal' needs a pool of numbers"):
        Fal().propose(words, problem.pool, problem.learner.fair_fit(), np.random.default_rng(0))
