"""What a learner is made of when nothing is said, and that saying something wins."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from fairask import FairActiveLearner, simulate
from fairask.errors import UserError
from fairask.oracle import CalibratedFairOracle, DistributionFreeFairOracle, EmpiricalFairOracle
from fairask.strategies import Fare
from paper import get_method

pytestmark = pytest.mark.usefixtures("few_trees")


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.array(["a", "b"])[rng.integers(2, size=n)]
    X = rng.normal(size=(n, 3)) + 0.7 * (groups == "b")[:, None]
    return X, groups, (X[:, 0] + 0.7 * rng.normal(size=n) > 0.3).astype(int)


def made(**settings):
    X, groups, _ = rows()
    return FairActiveLearner(X, groups, random_state=0, **settings)


def test_the_default_is_what_the_benchmark_calls_default():
    learner, method = made(), get_method("default")
    assert learner.template.get_params() == method.oracle().set_params(metric="tprp").get_params()
    assert learner.strategy == Fare(**method.strategy_params)
    assert (learner.margin, learner.risk_weights) == ("evidence", method.risk_weights)
    assert learner.effective_tolerance_ == learner.tolerance


def test_the_paper_s_profile_is_what_the_benchmark_calls_fare():
    learner, method = made(profile="paper"), get_method("fare")
    assert learner.template.get_params() == method.oracle().set_params(metric="tprp").get_params()
    assert learner.strategy == Fare(**method.strategy_params)
    assert (learner.margin, learner.risk_weights, learner.fairness_weights) == ("sqrt_n", "ips", "ips")


def test_logistic_regression_is_had_by_name_and_kept_by_a_file(tmp_path):
    X, groups, y = rows()
    learner = made(estimator="linear")
    simulate(learner, y, 100)
    rule = learner.current_model().members_[0]
    assert rule.linear() is not None
    learner.save(tmp_path / "kept")
    again = FairActiveLearner.load(tmp_path / "kept")
    assert again.template.estimator == "linear"
    p, q = (m.current_model().predict_proba(X, sensitive_features=groups) for m in (learner, again))
    np.testing.assert_array_equal(p, q)
    with pytest.raises(ValueError, match="estimator='forest' must be a classifier, 'linear' or None"):
        made(estimator="forest")


def test_a_promise_for_any_distribution_is_had_by_name_and_kept_by_a_file(tmp_path):
    X, groups, y = rows(2000)
    learner = FairActiveLearner(
        X, groups, promise="distribution-free", strategy="passive", batch_size=800, random_state=0
    )
    simulate(learner, y, 1600)
    model = learner.current_model()
    assert isinstance(model, DistributionFreeFairOracle)
    assert model.feasible_
    assert model.gap_interval_[1] <= 0.1
    learner.save(tmp_path / "kept")
    again = FairActiveLearner.load(tmp_path / "kept")
    assert again.config.promise == "distribution-free"
    assert again.current_model().ranks_ == model.ranks_


@pytest.mark.parametrize("settings", [{}, {"blind": True}, {"randomized": True}, {"strategy": "uncertainty"}])
def test_a_promise_for_any_distribution_says_at_once_what_it_needs(settings):
    with pytest.raises(UserError, match=r"needs uniform labels.*give strategy='passive'") as refused:
        made(**{"promise": "distribution-free", "strategy": "passive" if settings else "fare"} | settings)
    assert "--strategy passive --use-protected" in refused.value.remedy
    with pytest.raises(ValueError, match="promise is a setting of profile='calibrated'"):
        made(promise="distribution-free", strategy="passive", profile="paper")


def test_what_is_given_wins_over_the_profile():
    learner = made(strategy_params={"diff_share": 0.25}, margin=0.02, risk_weights="lure", level=0.9)
    assert learner.strategy.diff_share == 0.25
    assert learner.strategy.perturbation == "bootstrap"
    assert learner.template.level == 0.5  # another margin replaces the oracle's own
    assert learner.effective_tolerance_ == 0.1
    own = made(oracle=CalibratedFairOracle(level=0.7), margin=None)
    assert own.template.level == 0.7
    paper = made(oracle=EmpiricalFairOracle())
    assert (paper.margin, paper.risk_weights, paper.strategy.diff_share) == ("sqrt_n", "ips", 0.5)


def test_lots_are_a_choice_that_the_history_and_the_card_name():
    _, _, y = rows()
    for settings, lots in (({"randomized": True}, True), ({}, False), ({"profile": "paper"}, True)):
        learner = made(tolerance=0.03, blind="profile" not in settings, estimator="linear", **settings)
        simulate(learner, y, 80)
        share = learner.history_["by_lot"][-1]
        assert bool(share > 0) is lots
        assert share == learner.current_model().by_lot_
        assert ("rows are decided by lot" in learner._repr_html_()) is lots


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"profile": "papper"}, "did you mean 'paper'"),
        ({"profile": "paper", "blind": True}, "blind is a setting of profile='calibrated'"),
        ({"profile": "paper", "level": 0.9}, "level is a setting of profile='calibrated'"),
        (
            {"profile": "paper", "randomized": True},
            "of profile='calibrated', not of 'paper', which always mix",
        ),
        ({"oracle": CalibratedFairOracle(), "randomized": True}, "randomized and oracle were both given"),
        ({"profile": "paper", "margin": "evidence"}, "margin='evidence' needs an oracle"),
        ({"oracle": CalibratedFairOracle(), "level": 0.9}, "level and oracle were both given"),
        ({"margin": "sqrtn"}, "did you mean 'sqrt_n'"),
    ],
)
def test_what_does_not_go_together_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_a_classifier_without_probabilities_is_refused_before_any_label():
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        made(estimator=LinearSVC())
    assert made(estimator=LinearSVC(), profile="paper").ask(5).indices.size == 5


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
def test_both_profiles_models_are_asked_alike():
    X, groups, y = rows()
    for profile in ("calibrated", "paper"):
        learner = made(profile=profile, stopping="plateau:2")
        simulate(learner, y, 50)
        assert learner.model_.predict(X, sensitive_features=groups).shape == y.shape
        assert learner.model_.predict_proba(X, sensitive_features=groups).shape == (len(y), 2)


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
def test_a_blind_model_needs_no_groups_and_is_kept_by_a_file(tmp_path):
    X, _, y = rows()
    learner = made(blind=True)
    simulate(learner, y, 75)
    learner.save(tmp_path / "kept")
    again = FairActiveLearner.load(tmp_path / "kept")
    np.testing.assert_array_equal(again.model_.predict_proba(X), learner.model_.predict_proba(X))
    assert (again.config.profile, again.config.blind, again.margin) == ("calibrated", True, "evidence")
