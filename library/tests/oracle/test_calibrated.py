import warnings

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from fairask import EmpiricalFairOracle, FairActiveLearner, evaluate, group_gap, simulate
from fairask.errors import InfeasibleWarning
from fairask.oracle import CalibratedFairOracle, Labelled, LinearForestClassifier
from fairask.oracle.calibrated import PlugInLearner, rates_by_label
from fairask.oracle.probability import calibrate, folds_by_label
from fairask.oracle.reduction import FairnessMoments, search


def population(n=6000, n_groups=2, seed=0):
    """Base rates and the meaning of the first feature differ by group; the group itself is a feature."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n)
    X = np.column_stack([rng.normal(size=(n, 3)), groups])
    score = np.where(groups == 0, 0.7 + X[:, 0] + 0.3 * X[:, 1], 0.3 * X[:, 0] + X[:, 1] - 0.4)
    y = (score + 0.5 * rng.logistic(size=n) > 0).astype(int)
    return X, y, np.array(["p", "q", "r"])[groups]


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo", "dp"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_population_is_within_the_tolerance(metric, n_groups):
    X, y, groups = population(n_groups=n_groups)
    few = np.arange(1000)
    free = CalibratedFairOracle(metric=metric, tolerance=1.0, random_state=0)
    free.fit(X[few], y[few], groups[few], pool=(X, groups))
    oracle = CalibratedFairOracle(metric=metric, tolerance=0.1, level=0.975, random_state=0)
    oracle.fit(X[few], y[few], groups[few], pool=(X, groups))
    accuracy, gap = evaluate(oracle, X, y, groups, metric)
    base, unfair = evaluate(free, X, y, groups, metric)
    assert unfair > 0.13
    assert gap <= 0.1
    assert accuracy > max(y.mean(), 1 - y.mean()) + 0.03
    assert accuracy <= base + 0.01
    assert oracle.feasible_


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(max_depth=3), HistGradientBoostingClassifier(max_iter=30)]
)
def test_any_classifier_with_probabilities_serves(estimator):
    X, y, groups = population()
    few = np.arange(500)
    oracle = CalibratedFairOracle(estimator.set_params(random_state=0), random_state=0)
    oracle.fit(X[few], y[few], groups[few], pool=(X, groups))
    accuracy, gap = evaluate(oracle, X, y, groups)
    assert gap <= 0.1
    assert accuracy > 0.68


def test_the_blind_rule_never_reads_the_group():
    X, y, groups = population()
    hidden, few = X[:, :3], np.arange(500)
    oracle = CalibratedFairOracle(blind=True, level=0.975, random_state=0)
    oracle.fit(hidden[few], y[few], groups[few], pool=(hidden, groups))

    class Poison:
        """Fails whoever looks at it."""

        def __getattribute__(self, name):
            raise AssertionError(f"the blind rule read the group ({name})")

    expected = oracle.predict(hidden[:50])
    np.testing.assert_array_equal(oracle.predict(hidden[:50], sensitive_features=Poison()), expected)
    np.testing.assert_array_equal(
        oracle.predict_proba(hidden[:50], sensitive_features=Poison()).argmax(1) >= 0, True
    )
    assert group_gap(y, oracle.predict_proba(hidden)[:, 1], groups) <= 0.1


@pytest.mark.parametrize("blind", [True, False])
def test_no_decision_is_made_by_lot_unless_it_is_asked_for(blind):
    X, y, groups = population(3000)
    X, few = X[:, :3] if blind else X, np.arange(70)

    def fitted(**settings):
        oracle = CalibratedFairOracle("linear", blind=blind, metric="eo", random_state=0, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfeasibleWarning)
            oracle.fit(X[few], y[few], groups[few], pool=(X, groups))
        return oracle, oracle.predict_proba(X, sensitive_features=groups)[:, 1]

    certain, p = fitted()
    assert set(p) == {0.0, 1.0}
    assert certain.by_lot_ == 0.0
    mixed, p = fitted(randomized=True)
    # Shares of a mixture add up to 1 but for rounding, which differs between processors.
    assert mixed.by_lot_ == np.mean((p > 1e-9) & (p < 1 - 1e-9)) > 0.0


def test_the_aware_rule_says_that_it_needs_the_group():
    X, y, groups = population(800)
    oracle = CalibratedFairOracle(random_state=0).fit(X, y, groups)
    with pytest.raises(ValueError, match="sensitive_features are needed to predict"):
        oracle.predict(X)
    with pytest.raises(ValueError, match="sensitive_features has 'x'"):
        oracle.predict(X[:1], sensitive_features=["x"])


def test_a_higher_level_keeps_a_wider_margin():
    X, y, groups = population()
    few = np.arange(300)
    estimates = []
    for level in (0.5, 0.8, 0.975):
        oracle = CalibratedFairOracle(level=level, random_state=0)
        oracle.fit(X[few], y[few], groups[few], pool=(X, groups))
        estimates.append((oracle.margin_, oracle.gap_, oracle.error_))
    margins, gaps, errors = np.array(estimates).T
    assert margins[0] == 0.0
    assert (np.diff(margins) > 0).all()
    assert (np.diff(gaps) < 0).all()
    assert (np.diff(errors) >= -1e-3).all()


def test_known_probabilities_need_no_search_to_beat_every_pair_of_thresholds():
    rng = np.random.default_rng(0)
    p, codes = rng.beta(1.2, 1.0, size=400), np.repeat([0, 1], 200)
    p[codes == 1] **= 1.5
    moments = FairnessMoments.soft(p, codes, 2, "tprp")
    learner = PlugInLearner(p, codes, (p, codes), 2, "tprp")
    (solution,) = search(moments, learner, 0.05, max_fits=200, worthwhile=1e-6)
    cuts = np.linspace(0, 1, 201)
    rate = [
        np.array([(p[codes == g] * (p[codes == g] > t)).sum() / p[codes == g].sum() for t in cuts])
        for g in (0, 1)
    ]
    cost = [
        np.array([np.where(p[codes == g] > t, 1 - p[codes == g], p[codes == g]).sum() for t in cuts])
        for g in (0, 1)
    ]
    allowed = np.abs(rate[0][:, None] - rate[1][None, :]) <= 0.05
    best = np.where(allowed, (cost[0][:, None] + cost[1][None, :]) / 400, np.inf).min()
    assert solution.mixture.error <= best + 1e-9
    assert solution.mixture.gap <= 0.05 + 1e-9


def test_probabilities_are_calibrated_out_of_fold():
    X, y, groups = population()
    few = np.arange(300)
    codes = (groups[few] == "q").astype(int)
    fold = folds_by_label(codes, y[few].astype(float), 5, np.random.default_rng(0))
    calibration = calibrate(Labelled.of(X[few], y[few].astype(float), codes, ["p", "q"]), fold)
    later = (groups[300:] == "q").astype(int)
    p = calibration.model.proba(X[300:], later)
    for g in (0, 1):
        assert abs(y[300:][later == g].mean() - p[later == g].mean()) < 0.06
    for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 0.95)):
        inside = (p >= low) & (p < high)
        assert abs(y[300:][inside].mean() - p[inside].mean()) < 0.09


def test_rates_by_label_know_their_own_noise():
    rng = np.random.default_rng(0)
    groups, decisions = np.repeat([0, 1], 2000), (rng.random(4000) < 0.7).astype(float)
    y = (rng.random(4000) < 0.5).astype(float)
    off = []
    for _ in range(200):
        rows = rng.permutation(4000)[:120]
        weights = rng.exponential(size=120)
        labelled = Labelled.of(
            np.zeros((120, 1)), y[rows], groups[rows], ["a", "b"], fairness_weights=weights
        )
        rates, variances = rates_by_label(labelled, decisions[rows], "tprp")
        off.append((rates[0] - 0.7) / np.sqrt(variances[0]))
    assert 0.75 < np.std(off) < 1.25
    none = Labelled.of(np.zeros((4, 1)), y[:4], groups[:4], ["a", "b"])
    assert np.isinf(rates_by_label(none, decisions[:4], "tprp")[1][0, 1])


def test_fare_explores_with_the_calibrated_oracle_and_weighs_its_shares():
    X, y, groups = population(1500)
    settings = {"perturbation": "bootstrap", "diff_share": "adaptive"}
    learner = FairActiveLearner(
        X,
        groups,
        strategy_params=settings,
        oracle=CalibratedFairOracle(),
        margin=None,
        batch_size=40,
        random_state=0,
    )
    simulate(learner, y, 320)
    assert {"diff", "fair"} <= set(learner.components_)
    accuracy, gap = evaluate(learner.model_, X, y, groups)
    assert accuracy > 0.7
    assert gap <= 0.1
    plain = FairActiveLearner(
        X, groups, strategy_params=settings, oracle=EmpiricalFairOracle(), random_state=0
    )
    with pytest.raises(ValueError, match="needs an oracle that estimates its own errors"):
        simulate(plain, y, 60)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 1.0}, r"level=1.0 must be in \[0.5, 1\)"),
        ({"metric": "tpr"}, "metric='tpr' is unknown"),
        ({"tolerance": 7}, "tolerance=7 must be"),
    ],
)
def test_bad_settings_are_named(settings, message):
    X, y, groups = population(60)
    with pytest.raises(ValueError, match=message):
        CalibratedFairOracle(**settings).fit(X, y, groups)


def test_bad_input_is_named():
    X, y, groups = population(60)
    with pytest.raises(ValueError, match=r"y has one class only \(1\)"):
        CalibratedFairOracle().fit(X, np.ones(60, dtype=int), groups)
    with pytest.raises(ValueError, match="one group only"):
        CalibratedFairOracle().fit(X, y, ["a"] * 60)
    with pytest.raises(ValueError, match="sensitive_features has 'p', which is not among the pool's groups"):
        CalibratedFairOracle().fit(X, y, groups, pool=(X, ["u", "v"] * 30))


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
def test_groups_of_numpy_are_named_as_they_were_written():
    X, y, groups = population(60)
    pairs = list(zip(np.array(groups), np.arange(60) % 2, strict=True))  # texts and numbers of numpy
    fitted = CalibratedFairOracle().fit(X, y, pairs)
    assert "np." not in repr(fitted.groups_.tolist())
    with pytest.raises(ValueError, match=r"has \('v', 7\), known groups: \[\('"):
        fitted.predict(X[:1], sensitive_features=[(np.str_("v"), np.int64(7))])


@pytest.mark.parametrize("shaken", [0.0, 0.005])
def test_copies_of_a_row_are_held_out_together_and_count_once(shaken):
    """Labels are mostly noise: whoever sees a copy of a row knows its label, and nobody else does."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(100, 4)), np.arange(100) % 2
    y = (X[:, 0] + rng.logistic(size=100) > 0).astype(int)
    several = np.repeat(np.arange(100), 4)
    copies = X[several] + shaken * rng.normal(size=(400, 4))
    forest = LinearForestClassifier(n_trees=30, random_state=0).fit(copies, y[several])
    assert roc_auc_score(y[several], forest.held_out_) < 0.85
    once, often = (
        CalibratedFairOracle("linear", tolerance=1.0, random_state=0).fit(X_, y_, groups_)
        for X_, y_, groups_ in ((X, y, groups), (copies, y[several], groups[several]))
    )
    assert often._copies == pytest.approx(4.0, rel=0.05)
    wide, narrow = (np.diff(oracle.gap_interval_)[0] for oracle in (once, often))
    assert narrow > 0.75 * wide


def test_rows_that_are_alike_by_chance_count_each():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(200, 3)).astype(float)
    y = (rng.random(200) < 0.3 + 0.4 * X[:, 0]).astype(int)
    oracle = CalibratedFairOracle("linear", random_state=0, tolerance=1.0).fit(X, y, np.arange(200) % 2)
    assert oracle._copies == 1.0
