import warnings
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairask import EmpiricalFairOracle, group_gap
from fairask.errors import EmptyCellWarning, InfeasibleWarning, InterpolationWarning
from fairask.oracle.reduction import _by_highs


@parametrize_with_checks(
    [
        EmpiricalFairOracle(without_groups=True),
        EmpiricalFairOracle(randomized=False, metric="eo", without_groups=True),
    ]
)
def test_scikit_learns_own_suite(estimator, check):
    check(estimator)


def biased_sample(n=300, n_groups=2, seed=0):
    """Labels follow another feature and another base rate in each group, so that the base rule is unfair."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n)
    X = rng.normal(size=(n, 4))
    X[:, 3] = groups
    score = np.where(groups == 0, 0.7 + X[:, 0], 0.4 * X[:, 0] + X[:, 1] - 0.5 * groups)
    y = (score + 0.7 * rng.normal(size=n) > 0).astype(int)
    return X, y, groups, rng.random(n) + 0.2


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo", "dp"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("randomized", [True, False])
def test_the_tolerance_is_the_metric_on_the_weighted_sample(metric, n_groups, randomized):
    X, y, groups, weight = biased_sample(n_groups=n_groups)
    free = EmpiricalFairOracle(metric=metric, tolerance=1.0).fit(X, y, groups, sample_weight=weight)
    oracle = EmpiricalFairOracle(metric=metric, tolerance=0.06, randomized=randomized, max_fits=150)
    oracle.fit(X, y, sensitive_features=groups, sample_weight=weight)
    soft = oracle.predict_proba(X)[:, 1]
    measured = group_gap(y, soft, groups, metric, sample_weight=weight)
    assert measured == pytest.approx(oracle.gap_, abs=1e-9)
    assert free.gap_ > 0.1
    assert measured <= 0.06 + 1e-7
    assert oracle.feasible_
    error = np.average(np.abs(soft - y), weights=weight)
    assert error == pytest.approx(oracle.error_, abs=1e-9)
    assert oracle.error_ >= free.error_ - 0.02
    assert len(oracle.members_) == len(oracle.weights_) >= 1
    if not randomized:
        assert len(oracle.members_) == 1


class ExactLinear(ClassifierMixin, BaseEstimator):
    """Weighted 0-1 minimiser over all linear classifiers of a tiny sample, by enumeration."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        patterns, rules = every_linear_classifier(X)
        cost = ((patterns != y) * sample_weight).sum(axis=1)
        self.rule_ = rules[int(cost.argmin())]
        return self

    def predict(self, X):
        w, b = self.rule_
        return (X @ w + b > 0).astype(int)


def every_linear_classifier(X):
    """All dichotomies of 2-d points by lines, with one line for each."""
    found = {}
    angles = [np.arctan2(*(X[i] - X[j])[::-1]) + np.pi / 2 for i, j in permutations(range(len(X)), 2)]
    angles = np.sort(np.r_[angles, [a + np.pi for a in angles]])
    for angle in np.r_[0.5 * (angles[1:] + angles[:-1]), angles[0] - 0.01]:
        w = np.array([np.cos(angle), np.sin(angle)])
        scores = np.sort(X @ w)
        for cut in np.r_[scores[0] - 1, 0.5 * (scores[1:] + scores[:-1]), scores[-1] + 1]:
            found.setdefault(tuple((X @ w - cut > 0).astype(int)), (w, -cut))
    return np.array(list(found)), list(found.values())


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo", "dp"])
@pytest.mark.parametrize("seed", range(4))
def test_with_an_exact_learner_the_mixture_is_the_best_of_all(metric, seed):
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(10, 2)), np.arange(10) % 2
    y = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 1])
    rng.shuffle(y)
    weight = rng.random(10) + 0.5
    patterns, _ = every_linear_classifier(X)
    errors = ((patterns != y) * weight).sum(axis=1) / weight.sum()
    conditions = {"tprp": [y == 1], "fprp": [y == 0], "eo": [y == 1, y == 0], "dp": [y >= 0]}[metric]
    signed = np.array(
        [
            [np.average(p[c & (groups == 0)], weights=weight[c & (groups == 0)])
             - np.average(p[c & (groups == 1)], weights=weight[c & (groups == 1)]) for c in conditions]
            for p in patterns
        ]
    )  # fmt: skip
    best = _by_highs(errors, np.stack([signed, -signed], axis=2).reshape(len(errors), -1), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterpolationWarning)
        exact = EmpiricalFairOracle(ExactLinear(), metric=metric, tolerance=0.1, max_fits=200).fit(
            X, y, groups, weight
        )
        fast = EmpiricalFairOracle(metric=metric, tolerance=0.1).fit(X, y, groups, weight)
    # A column must promise 0.001 to be worth a fit, so that much may be left.
    assert exact.error_ == pytest.approx(best.error, abs=2e-3)
    assert exact.gap_ <= 0.1 + 1e-7
    # The surrogate cannot beat the enumeration, and on ten points loses at most two of them.
    assert best.error - 1e-7 <= fast.error_ <= best.error + 0.2


@pytest.mark.parametrize("metric", ["tprp", "eo"])
def test_fast_and_generic_paths_agree(metric):
    X, y, groups, weight = biased_sample(seed=3)
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000)
    fast = EmpiricalFairOracle(model, metric=metric, tolerance=0.05, shift_threshold=False)
    slow = EmpiricalFairOracle(make_pipeline(model), metric=metric, tolerance=0.05)
    fast.fit(X, y, groups, sample_weight=weight)
    slow.fit(X, y, groups, sample_weight=weight)
    assert fast.gap_ <= 0.05 + 1e-7
    assert slow.gap_ <= 0.05 + 1e-7
    assert fast.error_ == pytest.approx(slow.error_, abs=0.02)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=3, random_state=0),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)),
        KNeighborsClassifier(15),  # takes no weights: resampled
        LogisticRegression(C=0.1, class_weight="balanced"),
    ],
    ids=["tree", "pipeline", "neighbours", "balanced"],
)
def test_any_classifier_serves(estimator):
    X, y, groups, _ = biased_sample(500, seed=1)
    free = EmpiricalFairOracle(estimator, tolerance=1.0, random_state=0).fit(X, y, groups)
    fair = EmpiricalFairOracle(estimator, tolerance=0.04, random_state=0).fit(X, y, groups)
    assert fair.gap_ <= 0.04 + 1e-7 < free.gap_
    assert set(fair.predict(X)) <= {0, 1}


def test_tables_with_strings_reach_the_pipeline():
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    X, y, groups, _ = biased_sample()
    table = pandas.DataFrame({"a": X[:, 0], "town": np.where(X[:, 1] > 0, "x", "y")})
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    oracle = EmpiricalFairOracle(make_pipeline(encode, LogisticRegression()), random_state=0).fit(
        table, y, groups
    )
    assert oracle.gap_ <= 0.1 + 1e-7
    first = oracle.predict(table)
    np.testing.assert_array_equal(oracle.predict(table.iloc[::-1])[::-1], first)


def test_predictions_are_seeded_and_follow_the_row_not_its_place():
    X, y, groups, _ = biased_sample()
    oracle = EmpiricalFairOracle(tolerance=0.02, random_state=0).fit(X, y, groups)
    assert len(oracle.members_) > 1
    first = oracle.predict(X)
    np.testing.assert_array_equal(first, oracle.predict(X))
    np.testing.assert_array_equal(first[::-1], oracle.predict(X[::-1]))
    np.testing.assert_array_equal(first[:7], oracle.predict(X[:7]))
    assert (first != oracle.predict(X, random_state=1)).any()
    soft = oracle.predict_proba(X)[:, 1]
    drawn = np.mean([oracle.predict(X, random_state=s) for s in range(400)], axis=0)
    assert np.abs(drawn - soft).max() < 5 * 0.5 / 20


@pytest.mark.parametrize("metric", ["tprp", "eo"])
def test_row_order_and_group_names_do_not_matter(metric):
    X, y, groups, weight = biased_sample(n_groups=3)
    oracle = EmpiricalFairOracle(metric=metric, tolerance=0.05)
    base = clone(oracle).fit(X, y, groups, sample_weight=weight)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = clone(oracle).fit(X[order], y[order], groups[order], sample_weight=weight[order])
    renamed = clone(oracle).fit(X, y, np.array(["r", "q", "p"])[groups], sample_weight=weight)
    for other in (shuffled, renamed):
        assert other.error_ == pytest.approx(base.error_, abs=5e-3)
        assert other.gap_ <= 0.05 + 1e-7


def test_warnings_name_what_is_wrong():
    X, y, groups, _ = biased_sample(60)
    with pytest.warns(InterpolationWarning, match="separates its 60 rows"):
        EmpiricalFairOracle().fit(np.hstack([X, np.eye(60)]), y, groups)
    X, y, groups, _ = biased_sample(200)
    lacking = np.where((groups == 1) & (y == 1), 0, y)
    with pytest.warns(EmptyCellWarning, match=r"\(y=1, 1\)"):
        oracle = EmpiricalFairOracle().fit(X, lacking, groups)
    assert np.isnan(oracle.rates_["y=1", 1])


class Stubborn(ClassifierMixin, BaseEstimator):
    """Follows the first feature whatever the weights say."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_no_feasible_model_is_said():
    X, y, groups, _ = biased_sample()
    with pytest.warns(InfeasibleWarning, match="no classifier within tolerance=0.01"):
        oracle = EmpiricalFairOracle(Stubborn(), tolerance=0.01, max_fits=12).fit(X, y, groups)
    assert not oracle.feasible_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k: k.update(tolerance=1.5), "tolerance=1.5 must be a number in"),
        (lambda k: k.update(metric="eodds"), "metric='eodds' is unknown; did you mean"),
        (
            lambda k: k.update(sensitive_features=[0, 1]),
            "lengths disagree: X has 40, sensitive_features has 2",
        ),
        (lambda k: k.update(sensitive_features=["a"] * 40), "one group only"),
        (lambda k: k.update(sample_weight=[1.0]), r"sample_weight has shape \(1,\)"),
        (lambda k: k.update(sample_weight=-np.ones(40)), "sample_weight must be finite"),
        (lambda k: k.update(y=np.ones(40)), "one class"),
        (lambda k: k["X"].__setitem__((0, 0), np.nan), "NaN"),
        (lambda k: k["X"].__setitem__((0, 0), np.inf), "infinity"),
    ],
)
def test_bad_input_is_named(change, message):
    X, y, groups, _ = biased_sample(40)
    given = {
        "X": X,
        "y": y,
        "sensitive_features": groups,
        "tolerance": 0.1,
        "metric": "tprp",
        "sample_weight": None,
    }
    change(given)
    oracle = EmpiricalFairOracle(tolerance=given.pop("tolerance"), metric=given.pop("metric"))
    with pytest.raises(ValueError, match=message):
        oracle.fit(**given)
