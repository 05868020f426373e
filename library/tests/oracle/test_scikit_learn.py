"""Both oracles as scikit-learn classifiers: its own checks, its tools, names of columns, seeds."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairask import CalibratedFairOracle, EmpiricalFairOracle, group_gap
from fairask.errors import ConstantWarning, UserError
from fairask.metrics import accuracy_scorer, gap_scorer
from fairask.oracle import DistributionFreeFairOracle

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning"),
    pytest.mark.filterwarnings("ignore::fairask.errors.DisagreementWarning"),
]

#: Checks that do not apply, and why.
EXCEPTIONS = {
    "check_dataframe_column_names_consistency": "columns in another order are put right by name",
    "check_sample_weight_equivalence_on_sparse_data": "folds are drawn: a repeated row is not a weight of 2",
}


def exceptions(estimator):
    kept = list(EXCEPTIONS)[: 1 if isinstance(estimator, EmpiricalFairOracle) else 2]
    return {name: EXCEPTIONS[name] for name in kept}


@pytest.mark.slow
@parametrize_with_checks(
    [
        EmpiricalFairOracle(without_groups=True),
        CalibratedFairOracle("linear", without_groups=True),
        CalibratedFairOracle(without_groups=True),
        DistributionFreeFairOracle("linear", without_groups=True),
    ],
    expected_failed_checks=exceptions,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def frame(n=240, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], size=n)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X.insert(1, "sex", pd.Series(sex, dtype=object))
    y = np.where(X["a"] + 0.8 * (sex == "m") + rng.normal(size=n) > 0.3, "yes", "no")
    return X, y, sex


ORACLES = [EmpiricalFairOracle(random_state=0), CalibratedFairOracle("linear", random_state=0)]


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_protected_column_by_name_or_position_is_the_one_given_apart(oracle):
    X, y, sex = frame()
    rest = X.drop(columns="sex")
    apart = clone(oracle).fit(rest, y, sensitive_features=sex)
    expected = apart.predict_proba(rest, sensitive_features=sex)
    for key, table in (("sex", X), (1, X)):
        named = clone(oracle).set_params(sensitive_features=key).fit(table, y)
        np.testing.assert_array_equal(named.predict_proba(table), expected)
    codes = np.column_stack([rest.to_numpy(), (sex == "m").astype(float)])
    by_position = clone(oracle).set_params(sensitive_features=3).fit(codes, y)
    np.testing.assert_allclose(by_position.predict_proba(codes), expected)
    with pytest.raises(ValueError, match="sensitive_features='sax' is not a column of X; did you mean"):
        clone(oracle).set_params(sensitive_features="sax").fit(X, y)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("oracle", ORACLES)
def test_scikit_learns_tools_work(oracle, routing):
    X, y, _ = frame()
    oracle = clone(oracle).set_params(sensitive_features="sex")
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(oracle, {"tolerance": [0.05, 0.3]}, cv=2).fit(X, y)
        assert search.best_score_ > 0.6
        assert (cross_validate(oracle, X, y, cv=2)["test_score"] > 0.6).all()
        calibrated = CalibratedClassifierCV(oracle, cv=2).fit(X, y)
        assert calibrated.predict_proba(X).shape == (len(X), 2)
        assert learning_curve(oracle, X, y, cv=2, train_sizes=[0.5, 1.0])[2].min() > 0.6


@pytest.mark.parametrize("oracle", ORACLES)
def test_groups_are_routed_through_pipelines(oracle):
    X, y, sex = frame()
    rest = X.drop(columns="sex")
    with config_context(enable_metadata_routing=True):
        step = (
            clone(oracle)
            .set_fit_request(sensitive_features=True)
            .set_predict_request(sensitive_features=True)
            .set_score_request(sensitive_features=True)
        )
        model = make_pipeline(StandardScaler(), step).fit(rest, y, sensitive_features=sex)
        assert model.score(rest, y, sensitive_features=sex) > 0.6
        params = {"sensitive_features": sex}
        found = cross_validate(make_pipeline(StandardScaler(), step), rest, y, cv=2, params=params)
        assert (found["test_score"] > 0.6).all()
        inner = make_pipeline(StandardScaler(), LogisticRegression())
        again = clone(oracle).set_params(estimator=inner).fit(rest, y, sensitive_features=sex)
        assert again.score(rest, y, sensitive_features=sex) > 0.6


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_are_put_right_by_name(oracle, library):
    X, y, sex = frame()
    table = library({name: X[name].to_numpy() for name in "abc"})
    model = clone(oracle).fit(table, y, sensitive_features=sex)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    other = library({"d": np.zeros(len(X)), **{name: X[name].to_numpy() for name in "cba"}})
    np.testing.assert_array_equal(
        model.predict(other, sensitive_features=sex), model.predict(table, sensitive_features=sex)
    )
    with pytest.raises(ValueError, match="X has no column 'b', which the model was fitted on"):
        model.predict(table[["a", "c"]], sensitive_features=sex)


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_pipeline_takes_a_frame_of_any_library(oracle, library):
    X, y, sex = frame()
    table = library({name: X[name].to_numpy() for name in X.columns})
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = clone(oracle).set_params(estimator=make_pipeline(encode, LogisticRegression()))
    model.fit(table, y, sensitive_features=sex)
    assert model.score(table, y, sensitive_features=sex) > 0.6


@pytest.mark.parametrize("oracle", ORACLES)
def test_scores_of_the_label_rank_rows(oracle):
    X, y, _ = frame()
    model = clone(oracle).set_params(sensitive_features="sex").fit(X, y)
    score = model.label_proba(X)
    np.testing.assert_allclose(score.sum(axis=1), 1)
    assert roc_auc_score(y, score[:, 1]) > 0.7


@pytest.mark.parametrize("oracle", ORACLES)
def test_scorers_choose_fair_models(oracle):
    X, y, sex = frame()
    oracle = clone(oracle).set_params(sensitive_features="sex")
    model = clone(oracle).fit(X, y)
    positive = model.predict_proba(X)[:, 1]
    gap = group_gap(y, positive, sex, pos_label="yes")
    assert gap_scorer()(model, X, y) == pytest.approx(-gap)
    assert accuracy_scorer(1.0)(model, X, y) == pytest.approx(1 - np.abs((y == "yes") - positive).mean())
    loose = clone(oracle).set_params(tolerance=1.0).fit(X, y)
    assert accuracy_scorer(0.01)(loose, X, y) < 0
    search = GridSearchCV(oracle, {"tolerance": [0.02, 1.0]}, cv=2, scoring=gap_scorer()).fit(X, y)
    assert search.best_params_["tolerance"] == 0.02
    with pytest.raises(TypeError, match="no fair model"):
        gap_scorer()(LogisticRegression(), X, y)


@pytest.mark.parametrize("oracle", ORACLES)
def test_scorers_see_through_pipelines_and_take_routed_groups(oracle):
    X, y, sex = frame()
    named = clone(oracle).set_params(sensitive_features="sex", random_state=0)
    scale = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    scale.set_params(verbose_feature_names_out=False).set_output(transform="pandas")
    pipe = make_pipeline(scale, named).fit(X[["a", "sex"]], y)
    gap = group_gap(y, pipe.predict_proba(X[["a", "sex"]])[:, 1], sex, pos_label="yes")
    assert gap_scorer()(pipe, X[["a", "sex"]], y) == pytest.approx(-gap)
    with config_context(enable_metadata_routing=True):
        routed = clone(oracle).set_fit_request(sensitive_features=True)
        scorer = gap_scorer().set_score_request(sensitive_features=True)
        found = cross_validate(
            routed, X[["a"]], y, cv=2, params={"sensitive_features": sex}, scoring=scorer, error_score="raise"
        )
    assert (found["test_score"] <= 0).all()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("oracle", ORACLES)
def test_random_state_may_be_a_generator(oracle, make):
    X, y, _ = frame()
    oracle = clone(oracle).set_params(sensitive_features="sex", tolerance=0.02)
    drawn = [clone(oracle).set_params(random_state=make(7)).fit(X, y).predict(X) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("oracle", ORACLES)
def test_what_cannot_be_used_is_named_with_a_remedy(oracle):
    X, y, sex = frame()
    with pytest.raises(ValueError, match=r"the column 1 of X holds texts.*give X as a data frame.*OneHotEnc"):
        clone(oracle).fit(X.to_numpy(), y, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"X is a list of texts.*TfidfVectorizer"):
        clone(oracle).fit(["one", "two"] * 120, y, sensitive_features=sex)
    rest = X.drop(columns="sex")
    with pytest.raises(ValueError, match=r"one-dimensional"):
        clone(oracle).fit(rest, y, sensitive_features=X[["a", "sex"]])
    with pytest.raises(
        ValueError, match=r"continuous: y holds 240 different numbers.*make one of it, such as y >"
    ):
        clone(oracle).fit(rest, X["a"], sensitive_features=sex)
    with pytest.raises(TypeError, match=r"name or the position of a column"):
        clone(oracle).set_params(sensitive_features=list(sex)).fit(rest, y)


@pytest.mark.parametrize("oracle", [EmpiricalFairOracle(), CalibratedFairOracle("linear")])
def test_a_fit_without_groups_is_refused_in_a_pipeline_too(oracle):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    for model in (oracle, make_pipeline(StandardScaler(), clone(oracle))):
        with pytest.raises(ValueError, match=r"sensitive_features is missing.*without_groups=True"):
            model.fit(X, y)
    free = clone(oracle).set_params(without_groups=True)
    assert free.fit(X, y).predict(X).shape == (40,)
    with pytest.raises(ValueError, match="groups were given, and without_groups=True"):
        free.fit(X, y, sensitive_features=np.arange(40) // 20)


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
@pytest.mark.parametrize("oracle", [EmpiricalFairOracle(), CalibratedFairOracle("linear", random_state=0)])
def test_a_constant_answer_says_so(oracle):
    rng = np.random.default_rng(0)
    groups = np.arange(60) % 2
    noise, y = np.zeros((60, 1)), (rng.random(60) < 0.2).astype(int)
    with pytest.warns(ConstantWarning, match="answers 0 for everybody, .* would help"):
        model = clone(oracle).fit(noise, y, sensitive_features=groups)
    assert model.constant_ == 0
    told = np.column_stack([y + 0.1 * rng.normal(size=60), groups])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert clone(oracle).fit(told, y, sensitive_features=groups).constant_ is None


def test_a_history_of_the_accepted_alone_is_refused_unless_weights_make_up_for_it():
    """Of the positives with low scores hardly any was accepted, so that their labels are unknown."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(900, 2)), rng.integers(0, 2, 900)
    y = (X[:, 0] + 0.5 * rng.normal(size=900) > 0).astype(float)
    chance = np.where(X[:, 1] > 0, 0.9, 0.2)
    seen = rng.random(900) < chance
    told = np.where(seen, y, np.nan)
    model = EmpiricalFairOracle()
    with pytest.raises(UserError, match=r"rows have no label.*all others would count alike"):
        model.fit(X, told, sensitive_features=groups)
    whole = model.fit(X, told, sensitive_features=groups, sample_weight=1 / chance)
    part = clone(model).fit(X[seen], y[seen], sensitive_features=groups[seen], sample_weight=1 / chance[seen])
    assert (whole.predict(X, sensitive_features=groups) == part.predict(X, sensitive_features=groups)).all()
