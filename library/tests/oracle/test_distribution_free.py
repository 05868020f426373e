import numpy as np
import pytest

from fairask import FairActiveLearner, evaluate
from fairask.errors import InfeasibleWarning, UserError
from fairask.oracle import DistributionFreeFairOracle
from fairask.oracle.distribution_free import rates_within


def draw(n, rng):
    """Scores of a heavy tail; the groups' labels follow them with different strength and base rate."""
    groups = rng.choice(["a", "b"], p=[0.6, 0.4], size=n)
    X = rng.standard_t(2, size=(n, 2))
    log_odds = np.where(groups == "a", 2.0 * X[:, 0] + 1.0, X[:, 0] + X[:, 1])
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int), groups


@pytest.mark.parametrize(
    ("ranks", "counts"), [((20, 50), (60, 160)), ((3, 9), (40, 100)), ((0, 4), (10, 30))]
)
def test_the_probability_of_close_rates_is_that_of_order_statistics(ranks, counts):
    rng = np.random.default_rng(0)
    rates = []
    for k, n in zip(ranks, counts, strict=True):
        # Exponential scores, whose share above a threshold is known.
        scores = np.sort(rng.exponential(size=(40_000, n)), axis=1)
        rates.append(np.ones(40_000) if k == 0 else np.exp(-scores[:, k - 1]))
    seen = float((np.abs(rates[0] - rates[1]) <= 0.1).mean())
    bound = float(rates_within([np.array([k]) for k in ranks], np.array(counts), 0.1)[0, 0])
    assert bound <= seen + 0.01
    assert bound >= seen - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["tprp", "dp", "eo"])
@pytest.mark.filterwarnings("ignore::fairask.errors.FairaskWarning")
def test_the_gap_is_rarely_above_its_limit(metric):
    rng = np.random.default_rng(1)
    fresh = draw(20_000, rng)
    above = []
    for trial in range(60):
        X, y, groups = draw(500, rng)
        oracle = DistributionFreeFairOracle(
            "linear", metric=metric, tolerance=0.2, level=0.8, random_state=trial
        )
        oracle.fit(X, y, groups)
        above.append(evaluate(oracle, *fresh, metric)[1] > oracle.gap_interval_[1] + 0.01)
    assert np.mean(above) <= 0.2 + 3 * (0.16 / 60) ** 0.5


def test_few_labels_are_said_to_be_too_few():
    X, y, groups = draw(80, np.random.default_rng(2))
    with pytest.warns(InfeasibleWarning, match="infeasible with these 80 labels"):
        oracle = DistributionFreeFairOracle("linear", random_state=0).fit(X, y, groups)
    assert not oracle.feasible_
    assert oracle.gap_interval_[1] > 0.1
    low, high = oracle.labels_needed_
    assert 80 < low < high


def test_more_labels_are_enough():
    X, y, groups = draw(6000, np.random.default_rng(3))
    oracle = DistributionFreeFairOracle("linear", random_state=0).fit(X, y, groups)
    assert oracle.feasible_
    assert oracle.gap_interval_[1] <= 0.1
    assert oracle.labels_needed_ is None
    assert evaluate(oracle, *draw(20_000, np.random.default_rng(4)))[0] > 0.7


def test_rows_that_train_do_not_choose_thresholds():
    X, y, groups = draw(2000, np.random.default_rng(5))
    oracle = DistributionFreeFairOracle("linear", kept=0.25, random_state=0).fit(X, y, groups)
    assert sum(oracle.kept_.values()) == pytest.approx(0.25 * y.sum(), rel=0.05)


def test_uneven_weights_are_refused():
    X, y, groups = draw(300, np.random.default_rng(6))
    with pytest.raises(UserError, match="uneven weights"):
        DistributionFreeFairOracle("linear").fit(X, y, groups, fairness_weight=np.linspace(1, 2, 300))


@pytest.mark.filterwarnings("ignore::fairask.errors.FairaskWarning")
def test_a_learner_takes_it_with_uniform_labels_only():
    X, y, groups = draw(1000, np.random.default_rng(7))
    oracle = DistributionFreeFairOracle("linear")
    learner = FairActiveLearner(X, groups, oracle=oracle, strategy="passive", batch_size=100, random_state=0)
    for _ in range(2):
        rows = learner.ask().indices
        learner.tell(rows, y[rows])
    assert learner.current_model().kept_.keys() == {"a", "b"}
    chooser = FairActiveLearner(X, groups, oracle=oracle, batch_size=100, random_state=0)
    rows = chooser.ask().indices
    chooser.tell(rows, y[rows])
    with pytest.raises(UserError, match="take strategy='passive'"):
        chooser.ask()
