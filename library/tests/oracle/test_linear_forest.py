"""The average of a ridge logistic regression and a random forest."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.utils.estimator_checks import check_estimator

from fairask.oracle import linear_forest
from fairask.oracle.linear_forest import LinearForestClassifier

#: A bootstrap sample cannot treat a weight of two like a row that is there twice.
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "rows are drawn by bootstrap"}


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (rng.random(n) < expit(2.0 * X[:, 0])).astype(int)


@pytest.mark.filterwarnings("ignore")
def test_it_is_a_scikit_learn_classifier() -> None:
    check_estimator(LinearForestClassifier(n_trees=10, random_state=0), expected_failed_checks=EXPECTED)


def test_a_straight_boundary_is_left_to_the_logistic_part_and_a_ring_to_the_forest() -> None:
    X, y = rows(300)
    assert LinearForestClassifier(n_trees=40, random_state=0).fit(X, y).share_ <= 0.5
    ring = (X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4).astype(int)
    assert LinearForestClassifier(n_trees=40, random_state=0).fit(X, ring).share_ >= 0.75


def test_held_out_predictions_are_as_good_as_those_of_new_rows() -> None:
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = LinearForestClassifier(n_trees=60, random_state=0).fit(X, y)
    new, truth = make_moons(4000, noise=0.3, random_state=1)
    held_out = np.mean((model.held_out_ > 0.5) == y)
    assert abs(held_out - model.score(new, truth)) < 0.06
    assert model.score(X, y) > held_out + 0.02  # of rows it has seen it knows more


def test_members_of_the_committee_differ_and_their_mean_is_close_to_the_model() -> None:
    X, y = rows(200)
    model = LinearForestClassifier(n_trees=60, random_state=0).fit(X, y)
    weights = np.random.default_rng(0).exponential(size=(10, 200))
    members = model.committee(X, np.tile(y.astype(float), (10, 1)), weights)
    p = np.array([member.proba(X) for member in members])
    assert p.std(axis=0).mean() > 0.01
    assert np.abs(p.mean(axis=0) - model.predict_proba(X)[:, 1]).max() < 0.15


def test_labels_of_one_class_give_that_class() -> None:
    X, _ = rows(20)
    model = LinearForestClassifier(n_trees=10).fit(X, np.ones(20))
    assert (model.predict(X) == 1.0).all()
    weighted = LinearForestClassifier(n_trees=10).fit(X, np.arange(20) % 2, sample_weight=np.arange(20) % 2)
    assert (weighted.predict(X) == 1).all()


def test_the_same_seed_gives_the_same_probabilities() -> None:
    X, y = rows(120)
    first, second = (LinearForestClassifier(n_trees=20, random_state=3).fit(X, y) for _ in range(2))
    assert (first.predict_proba(X) == second.predict_proba(X)).all()
    assert (first.held_out_ == second.held_out_).all()


def test_plain_trees_predict_as_the_trees_they_were_made_of() -> None:
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = LinearForestClassifier(n_trees=20, shares=(1.0,), random_state=0).fit(X, y).frozen()
    new = make_moons(5000, noise=0.3, random_state=1)[0]
    np.testing.assert_allclose(model.bare().proba(new), model.proba(new), atol=1e-9)
    assert model.bare().bare() is not None


def test_with_very_many_rows_each_tree_sees_a_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_forest, "_LARGEST_SAMPLE", 60)
    X, y = make_moons(400, noise=0.3, random_state=0)
    model = LinearForestClassifier(n_trees=60, random_state=0).fit(X, y)
    seen = [tree.tree_.n_node_samples[0] for tree in model.model_.trees]
    assert 40 < max(seen) <= 90  # of 60 draws some are two rows that are nearly equal
    new, truth = make_moons(4000, noise=0.3, random_state=1)
    assert abs(np.mean((model.held_out_ > 0.5) == y) - model.score(new, truth)) < 0.06


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trees": 0}, "n_trees=0 must be a whole number, 1 or more"),
        ({"n_folds": 1}, "n_folds=1 must be a whole number, 2 or more"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0 must be"),
        ({"max_features": 0.0}, "max_features=0.0 must be above 0"),
        ({"shares": (2.0,)}, "shares=2.0 must be a number in"),
        ({"shares": ()}, "shares=.. is empty"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(settings: dict[str, object], message: str) -> None:
    X, y = make_moons(40, noise=0.2, random_state=0)
    with pytest.raises(ValueError, match=message):
        LinearForestClassifier(**settings).fit(X, y)  # type: ignore[arg-type]
