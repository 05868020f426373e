"""Sparse features in the learner, both profiles: never made dense, and the same answers as dense ones."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fairask import CalibratedFairOracle, EmpiricalFairOracle, FairActiveLearner
from fairask.matrix import row_uniforms
from fairask.pools import Pool


@pytest.fixture
def never_dense(monkeypatch):
    """Refuse to make a wide sparse matrix dense."""
    plain = sparse.csr_matrix.toarray

    def toarray(self, *args, **kwargs):
        assert self.shape[0] * self.shape[1] < 1_000_000, "a sparse pool was made dense"
        return plain(self, *args, **kwargs)

    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array):
        monkeypatch.setattr(kind, "toarray", toarray)
        monkeypatch.setattr(kind, "todense", toarray)


def bags(n=1500, d=5000, seed=0):
    """Rows of word counts whose first words say something of the label."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=n)
    y = (rng.random(n) < 0.4 + 0.2 * groups).astype(int)
    topic = np.where(rng.random((n, 6)) < 0.7, y[:, None] * 10, 20) + rng.integers(10, size=(n, 6))
    noise = rng.integers(30, d, size=(n, 20))
    columns = np.hstack([topic, noise])
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), np.arange(n + 1) * 26), shape=(n, d))
    X.sum_duplicates()
    return X, y, groups


@pytest.mark.parametrize("profile", ["calibrated", "paper"])
def test_a_learner_learns_from_sparse_rows(profile, never_dense, tmp_path):
    X, y, groups = bags()
    learner = FairActiveLearner(X, groups, profile=profile, batch_size=100, random_state=0)
    with pytest.warns() if profile == "paper" else nullcontext():
        for _ in range(2):
            query = learner.ask()
            learner.tell(query.indices, y[query.indices])
        model = learner.model_
    predicted = model.predict(X, sensitive_features=groups, random_state=0)
    assert (predicted == y).mean() > 0.7
    learner.save(tmp_path / "learner.fairask")
    again = FairActiveLearner.load(tmp_path / "learner.fairask")
    np.testing.assert_array_equal(again.ask(5).indices, learner.ask(5).indices)


@pytest.mark.filterwarnings("ignore::fairask.errors.InterpolationWarning")
@pytest.mark.parametrize("Oracle", [EmpiricalFairOracle, CalibratedFairOracle])
def test_sparse_and_dense_rows_give_the_same_model(Oracle):
    X, y, groups = bags(n=200, d=600)
    some = np.arange(120)
    oracle = Oracle(LogisticRegression(C=0.01), random_state=0)
    models = [
        clone(oracle).fit(rows[some], y[some], sensitive_features=groups[some]) for rows in (X, X.toarray())
    ]
    probabilities = [
        model.predict_proba(rows, sensitive_features=groups)[:, 1]
        for model, rows in zip(models, (X, X.toarray()), strict=True)
    ]
    np.testing.assert_allclose(*probabilities, atol=1e-6)


def test_uncertainty_works_and_a_strategy_that_needs_dense_rows_says_so():
    X, y, groups = bags(n=300)
    learner = FairActiveLearner(X, groups, strategy="uncertainty", batch_size=40, random_state=0)
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])
    assert len(learner.ask().indices) == 40
    other = FairActiveLearner(X, groups, strategy="fal", batch_size=40, random_state=0)
    query = other.ask()
    other.tell(query.indices, y[query.indices])
    with pytest.raises(TypeError, match="dense features; take 'fare'"):
        other.ask()


def test_draws_and_digests_do_not_depend_on_how_rows_are_stored():
    X, _, groups = bags(n=50)
    stored = sparse.coo_matrix(X)
    order = np.random.default_rng(1).permutation(stored.nnz)
    data, row, col = (np.append(part[order], 0) for part in (stored.data, stored.row, stored.col))
    shuffled = sparse.csr_matrix((data, (row, col)), shape=X.shape)
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_array_equal(row_uniforms(X, 3)[order], row_uniforms(X[order], 3))
    np.testing.assert_array_equal(row_uniforms(X, 3), row_uniforms(shuffled, 3))
    assert len(np.unique(row_uniforms(X, 3))) == 50
    assert (row_uniforms(X, 3) != row_uniforms(X, 4)).all()
    digests = {Pool(m, groups, 2).fingerprint() for m in (X, shuffled)}
    assert len(digests) == 1
    assert Pool(2 * X, groups, 2).fingerprint() not in digests
