import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from fairask.oracle import CalibratedFairOracle, Labelled, base
from fairask.oracle.base import PoolSample
from fairask.oracle.group_model import fit_group_model


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=600)
    return rng.normal(size=(600, 4)) + 0.8 * groups[:, None], groups


def test_the_scale_of_a_feature_does_not_matter(rows):
    X, groups = rows
    wide = X * [1.0, 1e-6, 1e6, 1e3] + [0.0, 0.0, 1e8, -5.0]
    plain, scaled = (fit_group_model(of, groups, None) for of in (X, wide))
    np.testing.assert_allclose(plain.proba, scaled.proba, atol=1e-5)
    np.testing.assert_allclose(scaled.model.predict_proba(wide), scaled.proba)


def test_sparse_features_are_taken(rows):
    X, groups = rows
    assert fit_group_model(csr_matrix(X), groups, None).proba.shape == (600, 3)


def test_rounds_on_one_sample_fit_the_groups_once(rows, monkeypatch):
    X, groups = rows
    fitted = []

    def count(*given):
        fitted.append(given)
        return fit_group_model(*given)

    monkeypatch.setattr(base, "fit_group_model", count)
    sample, y = PoolSample(X, groups), (X[:, 0] > 0.5).astype(float)
    for n in (100, 150):
        labelled = Labelled.of(X[:n], y[:n], groups[:n], ["a", "b", "c"])
        oracle = CalibratedFairOracle("linear", tolerance=0.9, blind=True, random_state=0)
        oracle.fit_labelled(labelled, sample).perturbed(labelled)
    assert len(fitted) == 1


def test_classifiers_of_other_settings_do_not_share_a_model(rows):
    sample = PoolSample(*rows)
    weak, strong = (sample.group_model(LogisticRegression(C=C)) for C in (1e-4, 1.0))
    assert np.ptp(weak.proba) < np.ptp(strong.proba)
    assert sample.group_model(LogisticRegression(C=1.0)) is strong
